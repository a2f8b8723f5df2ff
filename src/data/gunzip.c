/* gunzip.c - see load.h and gunzip.h */
#include "base/units.h"
#include "data/gunzip.h"
#include "data/load.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

/* Tables shrink to a tenth, zeros to a thousandth: who claims to be more than 300 times as
   large as the file, and not small, is a bomb. */
enum { RATIO_MAX = 300, SMALL = 64 << 20, GZIP_ONLY = 16 };

const char *gunzip_library(void)
{
	return "zlib " ZLIB_VERSION;
}

static enum status is_damaged(const char *path, const char *why, struct error *err)
{
	FAIL(err, ERR_USAGE, "%.300s can't be uncompressed: %s", path, why);
	return HINT(err, "see what 'gunzip -t' says of it");
}

static enum status grow(char **out, size_t *room, size_t used, size_t limit, const char *path,
			struct error *err)
{
	size_t wanted = *room * 2 < limit ? *room * 2 : limit;
	char size[32], *larger;

	if (used == limit) {
		units_format_size(limit, size, sizeof(size));
		FAIL(err, ERR_USAGE, "%.300s holds more than %s: %d times its size", path, size,
		     RATIO_MAX);
		return HINT(err, "if that is meant, run gunzip on it first");
	}
	larger = realloc(*out, wanted + 1);
	if (!larger)
		return FAIL(err, ERR_MEMORY, "no memory for what %.300s holds", path);
	*out = larger;
	*room = wanted;
	return OK;
}

static unsigned chunk(size_t n)
{
	return n < UINT_MAX ? (unsigned)n : UINT_MAX;
}

/* All members of the file, one behind the other. */
static enum status unpack(z_stream *z, const char *path, const char *bytes, size_t size,
			  size_t limit, char **out, size_t *used, struct error *err)
{
	size_t room = 1 << 16, read = 0;
	enum status st = OK;
	int code;

	*out = malloc(room + 1);
	if (!*out)
		return FAIL(err, ERR_MEMORY, "no memory for what %.300s holds", path);
	for (*used = 0;;) {
		unsigned in = chunk(size - read), space;

		if (*used == room)
			TRY(grow(out, &room, *used, limit, path, err));
		space = chunk(room - *used);
		z->next_in = (Bytef *)(uintptr_t)(bytes + read);
		z->avail_in = in;
		z->next_out = (Bytef *)*out + *used;
		z->avail_out = space;
		code = inflate(z, Z_NO_FLUSH);
		read += in - z->avail_in;
		*used += space - z->avail_out;
		if (code == Z_STREAM_END && read == size)
			return OK;
		if (code == Z_STREAM_END)
			code = inflateReset(z);
		if (code == Z_BUF_ERROR && read == size)
			return is_damaged(path, "it is cut", err);
		if (code == Z_MEM_ERROR)
			return FAIL(err, ERR_MEMORY, "no memory to uncompress %.300s", path);
		if (code != Z_OK && code != Z_BUF_ERROR)
			return is_damaged(path, z->msg ? z->msg : "it is damaged", err);
	}
out:
	return st;
}

enum status data_gunzip(const char *path, const char *bytes, size_t size, char **out,
			size_t *out_size, struct error *err)
{
	size_t limit = size > SIZE_MAX / 8 / RATIO_MAX ? SIZE_MAX / 8 : size * RATIO_MAX;
	z_stream z = {0};
	enum status st;

	*out = NULL;
	if (inflateInit2(&z, MAX_WBITS + GZIP_ONLY) != Z_OK)
		return FAIL(err, ERR_MEMORY, "no memory to uncompress %.300s", path);
	st = unpack(&z, path, bytes, size, limit > SMALL ? limit : SMALL, out, out_size, err);
	inflateEnd(&z);
	if (st == OK) {
		(*out)[*out_size] = '\0';
	} else {
		free(*out);
		*out = NULL;
	}
	return st;
}
