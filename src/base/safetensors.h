/*
 * safetensors.h - the safetensors file format: 8 bytes with the header's length,
 * a JSON header (name -> dtype, shape, data_offsets), then the data.
 *
 * Reading is strict: duplicate names, holes or overlaps between tensors, sizes that
 * do not follow from shape and type, trailing bytes and overflows are all errors.
 */
#ifndef KOLM_BASE_SAFETENSORS_H
#define KOLM_BASE_SAFETENSORS_H

#include "base/dtype.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

#include <stdint.h>

enum { SAFETENSORS_MAX_DIMS = 8 };

struct safetensors_entry {
	char name[128];
	enum dtype dtype;
	const char
		*foreign; /* the type in a file of others, if it is none of ours: then bytes */
	int dims;
	int64_t shape[SAFETENSORS_MAX_DIMS];
	uint64_t begin, end; /* bytes, from the start of the data */
};

struct safetensors {
	char *file;    /* the whole file, owned if safetensors_read filled it in */
	size_t mapped; /* or so many bytes that are mapped */
	const char *data;
	size_t count;
	struct safetensors_entry *entries; /* in the order of their data */
};

enum status safetensors_read(struct safetensors *s, const char *path, struct error *err);
/* The same, but what is never looked at is never read. */
enum status safetensors_map(struct safetensors *s, const char *path, struct error *err);
/* Parse size bytes that stay the caller's and must outlive s. */
enum status safetensors_parse(struct safetensors *s, const void *bytes, size_t size,
			      struct error *err);
void safetensors_release(struct safetensors *s);

/* The entry of that name or NULL, and where its data begins. */
const struct safetensors_entry *safetensors_find(const struct safetensors *s, const char *name);
const void *safetensors_data(const struct safetensors *s, const struct safetensors_entry *e);

/*
 * Writing: describe the tensors (name, dtype, dims, shape; the offsets are filled in
 * here), then append all data in that order, then commit with file_commit.
 */
enum status safetensors_begin(struct file *f, const char *path,
			      struct safetensors_entry *entries, size_t count,
			      struct error *err);
/* The same with "format" among the metadata: transformers loads files that say "pt". */
enum status safetensors_begin_as(struct file *f, const char *path, const char *format,
				 struct safetensors_entry *entries, size_t count,
				 struct error *err);

/* What stands before the data, for who writes it in another way; released by text_release. */
enum status safetensors_describe(struct text *head, struct safetensors_entry *entries,
				 size_t count, struct error *err);

#endif
