/* index.c - model.safetensors.index.json: which tensor is in which file; see hf.h */
#include "hf/hf.h"

#include <stdlib.h>
#include <string.h>

enum { FILES_MAX = 10000, SHOWN = 100 };

/* A name in the folder itself, nothing that leads elsewhere. */
static bool is_plain(const char *name, size_t length)
{
	return *name && *name != '.' && strlen(name) == length && length < NAME_MAX &&
	       !strchr(name, '/');
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Each once. */
static void unite(struct hf_index *x)
{
	size_t n = 0;

	qsort(x->files, x->count, sizeof(*x->files), by_text);
	for (size_t i = 0; i < x->count; i++)
		if (!n || strcmp(x->files[n - 1], x->files[i]) != 0)
			x->files[n++] = x->files[i];
	x->count = n;
}

static enum status read_map(struct hf_index *x, const char *where, struct error *err)
{
	const char *name;
	json_t *file;

	x->files = calloc(json_object_size(x->map) + 1, sizeof(*x->files));
	if (!x->files)
		return FAIL(err, ERR_MEMORY, "no memory for the names of files");
	json_object_foreach(x->map, name, file)
	{
		const char *text = json_string_value(file);

		if (!text || !is_plain(text, json_string_length(file)))
			return FAIL(err, ERR_USAGE,
				    "%.200s: the file of %.*s is not a name in that folder",
				    where, SHOWN, name);
		x->files[x->count++] = text;
	}
	unite(x);
	if (!x->count || x->count > FILES_MAX)
		return FAIL(err, ERR_USAGE, "%.200s names %zu files", where, x->count);
	return OK;
}

enum status hf_index_read(struct hf_index *x, const char *bytes, size_t size, const char *where,
			  struct error *err)
{
	json_error_t problem;
	enum status st;

	*x = (struct hf_index){
		.root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &problem)};
	x->map = json_object_get(x->root, "weight_map");
	if (!x->root)
		st = FAIL(err, ERR_USAGE, "%.200s is not valid JSON: line %d, column %d: %s",
			  where, problem.line, problem.column, problem.text);
	else if (!json_is_object(x->map))
		st = FAIL(err, ERR_USAGE, "%.200s has no weight_map", where);
	else
		st = read_map(x, where, err);
	if (st != OK)
		hf_index_release(x);
	return st;
}

void hf_index_release(struct hf_index *x)
{
	free(x->files);
	json_decref(x->root);
	*x = (struct hf_index){0};
}
