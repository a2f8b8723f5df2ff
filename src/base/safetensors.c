/* safetensors.c - writing; see safetensors.h */
#include "base/safetensors.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

static void lay_out(struct safetensors_entry *entries, size_t count)
{
	uint64_t at = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t bytes = dtype_size(entries[i].dtype);

		for (int d = 0; d < entries[i].dims; d++)
			bytes *= (uint64_t)entries[i].shape[d];
		entries[i].begin = at;
		entries[i].end = at += bytes;
	}
}

static void describe(struct json *j, const struct safetensors_entry *e)
{
	json_begin_object(j, e->name);
	json_put_string(j, "dtype", dtype_name(e->dtype));
	json_begin_array(j, "shape");
	for (int d = 0; d < e->dims; d++)
		json_put_int(j, NULL, e->shape[d]);
	json_end_array(j);
	json_begin_array(j, "data_offsets");
	json_put_int(j, NULL, (int64_t)e->begin);
	json_put_int(j, NULL, (int64_t)e->end);
	json_end_array(j);
	json_end_object(j);
}

/* Spaces up to a multiple of 8 keep the data aligned for readers that map it. */
static enum status describe_all(struct text *head, const char *format,
				struct safetensors_entry *entries, size_t count,
				struct error *err)
{
	struct json j;
	char length[8];

	lay_out(entries, count);
	json_init(&j, false);
	json_begin_object(&j, NULL);
	if (format) {
		json_begin_object(&j, "__metadata__");
		json_put_string(&j, "format", format);
		json_end_object(&j);
	}
	for (size_t i = 0; i < count; i++)
		describe(&j, &entries[i]);
	json_end_object(&j);
	while (!j.text.failed && j.text.len % 8)
		text_add(&j.text, " ");
	for (int i = 0; i < 8; i++)
		length[i] = (char)(j.text.len >> (8 * i));
	text_init(head);
	text_add_n(head, length, sizeof(length));
	text_add_n(head, j.text.data, j.text.len);
	head->failed = head->failed || j.text.failed;
	json_release(&j);
	if (!head->failed)
		return OK;
	text_release(head);
	return FAIL(err, ERR_MEMORY, "no memory to describe %zu tensors", count);
}

enum status safetensors_describe(struct text *head, struct safetensors_entry *entries,
				 size_t count, struct error *err)
{
	return describe_all(head, NULL, entries, count, err);
}

enum status safetensors_begin_as(struct file *f, const char *path, const char *format,
				 struct safetensors_entry *entries, size_t count,
				 struct error *err)
{
	enum status st;
	struct text head = {0};

	f->fd = -1;
	TRY(describe_all(&head, format, entries, count, err));
	TRY(file_create(f, path, err));
	TRY(file_write(f, head.data, head.len, err));
out:
	text_release(&head);
	if (st != OK)
		file_abort(f);
	return st;
}

enum status safetensors_begin(struct file *f, const char *path,
			      struct safetensors_entry *entries, size_t count,
			      struct error *err)
{
	return safetensors_begin_as(f, path, NULL, entries, count, err);
}
