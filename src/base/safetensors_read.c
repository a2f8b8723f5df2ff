/* safetensors_read.c - see safetensors.h */
#include "base/safetensors.h"
#include "base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_LIMIT = 100 * 1000 * 1000 }; /* the format's own limit */

static uint64_t read_u64(const unsigned char *p)
{
	uint64_t value = 0;

	for (int i = 7; i >= 0; i--)
		value = value << 8 | p[i];
	return value;
}

static enum status bad(struct error *err, const char *what, const char *name)
{
	return FAIL(err, ERR_USAGE, "not a valid safetensors file: %s%s%.100s", what,
		    *name ? ": " : "", name);
}

/* What others have and nobody here computes with: such a tensor can be passed over. */
static const struct {
	const char *name;
	size_t size;
} foreign_types[] = {{"BOOL", 1}, {"I8", 1},  {"I16", 2}, {"U16", 2},	  {"U32", 4},
		     {"I64", 8},  {"U64", 8}, {"F64", 8}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};

/* The type, and the bytes of an element. */
static bool read_dtype(const json_t *value, struct safetensors_entry *e, uint64_t *bytes)
{
	const char *name = json_string_value(value);

	for (int i = 0; name && i < DTYPE_COUNT; i++)
		if (!strcmp(name, dtype_name((enum dtype)i))) {
			e->dtype = (enum dtype)i;
			*bytes = dtype_size(e->dtype);
			return true;
		}
	for (size_t i = 0; name && i < ARRAY_SIZE(foreign_types); i++)
		if (!strcmp(name, foreign_types[i].name)) {
			e->dtype = DTYPE_BYTE;
			e->foreign = foreign_types[i].name;
			*bytes = foreign_types[i].size;
			return true;
		}
	return false;
}

/* Shape and the number of bytes that it stands for, from those of an element. */
static bool read_shape(const json_t *value, struct safetensors_entry *e, uint64_t *bytes)
{
	size_t dims = json_array_size(value);

	if (!json_is_array(value) || dims > SAFETENSORS_MAX_DIMS)
		return false;
	e->dims = (int)dims;
	for (size_t i = 0; i < dims; i++) {
		json_t *n = json_array_get(value, i);

		if (!json_is_integer(n) || json_integer_value(n) < 0)
			return false;
		e->shape[i] = json_integer_value(n);
		if (__builtin_mul_overflow(*bytes, (uint64_t)e->shape[i], bytes))
			return false;
	}
	return true;
}

static enum status read_entry(const char *name, const json_t *value, uint64_t data_size,
			      struct safetensors_entry *e, struct error *err)
{
	json_t *offsets = json_object_get(value, "data_offsets");
	json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
	uint64_t bytes;

	if (!json_is_object(value) || json_object_size(value) != 3)
		return bad(err, "an entry needs dtype, shape and data_offsets", name);
	if (!*name || strlen(name) >= sizeof(e->name))
		return bad(err, "a name that is empty or too long", name);
	snprintf(e->name, sizeof(e->name), "%s", name);
	if (!read_dtype(json_object_get(value, "dtype"), e, &bytes))
		return bad(err, "an unknown dtype", name);
	if (!read_shape(json_object_get(value, "shape"), e, &bytes))
		return bad(err, "a bad shape", name);
	if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end) ||
	    json_integer_value(begin) < 0 || json_integer_value(end) < 0)
		return bad(err, "bad data_offsets", name);
	e->begin = (uint64_t)json_integer_value(begin);
	e->end = (uint64_t)json_integer_value(end);
	if (e->begin > e->end || e->end > data_size)
		return bad(err, "data_offsets outside the file", name);
	if (e->end - e->begin != bytes)
		return bad(err, "data_offsets do not match dtype and shape", name);
	return OK;
}

static int by_offset(const void *a, const void *b)
{
	const struct safetensors_entry *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end);
}

/* The tensors must fill the data exactly: no hole, no overlap, nothing behind. */
static enum status check_cover(const struct safetensors *s, uint64_t data_size,
			       struct error *err)
{
	uint64_t at = 0;

	for (size_t i = 0; i < s->count; i++) {
		if (s->entries[i].begin != at)
			return bad(err, "a hole or an overlap before", s->entries[i].name);
		at = s->entries[i].end;
	}
	if (at != data_size)
		return bad(err, "bytes that belong to no tensor at the end", "");
	return OK;
}

static enum status read_entries(struct safetensors *s, json_t *header, uint64_t data_size,
				struct error *err)
{
	enum status st = OK;
	const char *name;
	json_t *value;

	s->entries = calloc(json_object_size(header) + 1, sizeof(*s->entries));
	if (!s->entries)
		return FAIL(err, ERR_MEMORY, "no memory for %zu tensor entries",
			    json_object_size(header));
	json_object_foreach(header, name, value)
	{
		if (!strcmp(name, "__metadata__")) {
			if (!json_is_object(value))
				return bad(err, "__metadata__ is not an object", "");
			continue;
		}
		st = read_entry(name, value, data_size, &s->entries[s->count], err);
		if (st != OK)
			return st;
		s->count++;
	}
	qsort(s->entries, s->count, sizeof(*s->entries), by_offset);
	return check_cover(s, data_size, err);
}

enum status safetensors_parse(struct safetensors *s, const void *bytes, size_t size,
			      struct error *err)
{
	enum status st;
	json_error_t problem;
	json_t *header = NULL;
	uint64_t length;

	*s = (struct safetensors){0};
	if (size < 8)
		return bad(err, "shorter than its 8-byte length field", "");
	length = read_u64(bytes);
	if (length > HEADER_LIMIT || length > size - 8)
		return bad(err, "the header's length exceeds the file", "");
	header = json_loadb((const char *)bytes + 8, (size_t)length, JSON_REJECT_DUPLICATES,
			    &problem);
	if (!json_is_object(header)) {
		st = bad(err, "the header is not a JSON object", header ? "" : problem.text);
		goto out;
	}
	s->data = (const char *)bytes + 8 + length;
	TRY(read_entries(s, header, size - 8 - length, err));
out:
	json_decref(header);
	if (st != OK)
		safetensors_release(s);
	return st;
}

enum status safetensors_read(struct safetensors *s, const char *path, struct error *err)
{
	enum status st;
	char *bytes;
	size_t size;

	*s = (struct safetensors){0};
	st = file_read(path, SIZE_MAX / 2, &bytes, &size, err);
	if (st != OK)
		return st;
	st = safetensors_parse(s, bytes, size, err);
	if (st == OK)
		s->file = bytes;
	else
		free(bytes);
	return st;
}

enum status safetensors_map(struct safetensors *s, const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat info;
	char *bytes;
	enum status st;

	*s = (struct safetensors){0};
	if (fd < 0 || fstat(fd, &info) || !S_ISREG(info.st_mode)) {
		st = FAIL(err, ERR_USAGE, "can't read %s: %s", path,
			  fd < 0 ? strerror(errno) : "not a regular file");
		goto out;
	}
	if (info.st_size < 8) {
		st = bad(err, "shorter than its 8-byte length field", "");
		goto out;
	}
	bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED) {
		st = FAIL(err, ERR_FAILED, "can't map %s: %s", path, strerror(errno));
		goto out;
	}
	st = safetensors_parse(s, bytes, (size_t)info.st_size, err);
	if (st == OK) {
		s->file = bytes;
		s->mapped = (size_t)info.st_size;
	} else {
		munmap(bytes, (size_t)info.st_size);
	}
out:
	if (fd >= 0)
		close(fd);
	return st;
}

void safetensors_release(struct safetensors *s)
{
	free(s->entries);
	if (s->mapped)
		munmap(s->file, s->mapped);
	else
		free(s->file);
	*s = (struct safetensors){0};
}

const struct safetensors_entry *safetensors_find(const struct safetensors *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (!strcmp(s->entries[i].name, name))
			return &s->entries[i];
	return NULL;
}

const void *safetensors_data(const struct safetensors *s, const struct safetensors_entry *e)
{
	return s->data + e->begin;
}
