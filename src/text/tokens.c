/* tokens.c - reading token files; see tokens.h */
#include "text/tokens.h"
#include "base/crc32c.h"
#include "base/util.h"
#include "text/tokens_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHA256_BYTES = 32 };

static uint64_t blocks_of(uint64_t count)
{
	return count / TOKENS_BLOCK + (count % TOKENS_BLOCK != 0);
}

static void get_sha256(const unsigned char *p, char text[SHA256_TEXT])
{
	for (int i = 0; i < SHA256_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", p[i]);
}

static enum status bad(const struct tokens *t, const char *what, struct error *err)
{
	FAIL(err, ERR_USAGE, "%.300s: %s", t->name, what);
	return HINT(err, "remove it, or make it again with kolm tokenizer encode");
}

static enum status read_heading(struct tokens *t, const unsigned char *p, size_t size,
				struct error *err)
{
	uint64_t vocabulary;

	if (size < TOKENS_HEADING || memcmp(p, tokens_magic, sizeof(tokens_magic)) != 0)
		return bad(t, "not a token file", err);
	if (get_bytes(p + AT_SUM, 4) != crc32c(p, AT_SUM))
		return bad(t, "the heading of the token file is damaged", err);
	if (get_bytes(p + AT_VERSION, 4) != TOKENS_VERSION)
		return bad(t, "a token file of another version of kolm", err);
	vocabulary = get_bytes(p + AT_VOCABULARY, 4);
	t->width = (int)get_bytes(p + AT_WIDTH, 4);
	t->count = get_bytes(p + AT_COUNT, 8);
	if (!vocabulary || vocabulary > VOCABULARY_MAX ||
	    t->width != tokens_width(vocabulary) ||
	    get_bytes(p + AT_BLOCK, 4) != TOKENS_BLOCK || t->count > SIZE_MAX / 16)
		return bad(t, "the heading of the token file makes no sense", err);
	t->of.vocabulary = (int)vocabulary;
	t->of.text_size = get_bytes(p + AT_TEXT_SIZE, 8);
	t->of.text_changed = (int64_t)get_bytes(p + AT_TEXT_CHANGED, 8);
	get_sha256(p + AT_TOKENIZER, t->of.tokenizer_sha256);
	get_sha256(p + AT_TEXT, t->of.text_sha256);
	return OK;
}

enum status tokens_view(struct tokens *t, const void *data, size_t size, const char *name,
			struct error *err)
{
	const unsigned char *p = data;
	uint64_t ids, wanted;
	enum status st;

	*t = (struct tokens){0};
	snprintf(t->name, sizeof(t->name), "%s", name);
	TRY(read_heading(t, p, size, err));
	ids = (uint64_t)round_up((int64_t)t->count * t->width, 4);
	wanted = TOKENS_HEADING + ids + 4 * blocks_of(t->count);
	if (size != wanted) {
		FAIL(err, ERR_USAGE, "%.300s: %zu bytes, a token file of %llu ids has %llu",
		     t->name, size, (unsigned long long)t->count, (unsigned long long)wanted);
		return HINT(err, "remove it, or make it again with kolm tokenizer encode");
	}
	t->ids = p + TOKENS_HEADING;
	for (uint64_t i = t->count * (uint64_t)t->width; i < ids; i++)
		if (t->ids[i])
			return bad(t, "there is something between ids and sums", err);
	t->sums = t->ids + ids;
	t->checked = calloc(blocks_of(t->count) + 1, sizeof(*t->checked));
	if (!t->checked)
		st = FAIL(err, ERR_MEMORY, "no memory for a token file of %llu ids",
			  (unsigned long long)t->count);
out:
	return st;
}

enum status tokens_open(struct tokens *t, const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	void *map = MAP_FAILED;
	struct stat info = {0};
	enum status st;

	*t = (struct tokens){0};
	if (fd >= 0 && !fstat(fd, &info) && S_ISREG(info.st_mode) && info.st_size)
		map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0 && map == MAP_FAILED) {
		st = FAIL(err, ERR_USAGE, "%.300s: not a token file", path);
		HINT(err, "kolm tokenizer encode makes one of a text");
		goto out;
	}
	if (fd < 0) {
		st = FAIL(err, ERR_USAGE, "can't read %s: %s", path, strerror(errno));
		HINT(err, "check the name and that you may read it");
		goto out;
	}
	st = tokens_view(t, map, (size_t)info.st_size, path, err);
	t->map = map;
	t->map_size = (size_t)info.st_size;
out:
	if (fd >= 0)
		close(fd);
	if (st != OK)
		tokens_close(t);
	return st;
}

void tokens_close(struct tokens *t)
{
	if (t->map)
		munmap(t->map, t->map_size);
	free(t->checked);
	*t = (struct tokens){0};
}

static enum status check_block(struct tokens *t, uint64_t block, struct error *err)
{
	uint64_t first = block * TOKENS_BLOCK;
	size_t n = (size_t)min64(TOKENS_BLOCK, (int64_t)(t->count - first));
	const unsigned char *p = t->ids + first * (size_t)t->width;

	if (crc32c(p, n * (size_t)t->width) != get_bytes(t->sums + 4 * block, 4)) {
		FAIL(err, ERR_USAGE, "%.300s: ids %llu to %llu of the token file are damaged",
		     t->name, (unsigned long long)first, (unsigned long long)first + n - 1);
		return HINT(err, "remove it, or make it again with kolm tokenizer encode");
	}
	for (size_t i = 0; i < n; i++)
		if (get_bytes(p + i * (size_t)t->width, t->width) >= (uint64_t)t->of.vocabulary)
			return bad(t, "an id of the token file is beyond its vocabulary", err);
	t->checked[block] = true;
	return OK;
}

enum status tokens_read(struct tokens *t, uint64_t first, size_t n, int32_t *out,
			struct error *err)
{
	const unsigned char *p = t->ids + first * (size_t)t->width;
	enum status st = OK;

	assert(first <= t->count && n <= t->count - first);
	if (!n)
		return OK;
	for (uint64_t b = first / TOKENS_BLOCK; b <= (first + n - 1) / TOKENS_BLOCK; b++)
		if (!t->checked[b])
			TRY(check_block(t, b, err));
	if (t->width == 2)
		for (size_t i = 0; i < n; i++)
			out[i] = (int32_t)get_bytes(p + 2 * i, 2);
	else
		for (size_t i = 0; i < n; i++)
			out[i] = (int32_t)get_bytes(p + 4 * i, 4);
out:
	return st;
}
