/* source.c - the files of a folder of transformers'; see hf.h */
#include "hf/impl.h"
#include "base/file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { JSON_LIMIT = 64 << 20, SHOWN = 90 };

/* ---- files ---- */

static bool is_there(const char *folder, const char *name)
{
	char path[PATH_MAX];

	return file_path(path, folder, name, NULL) == OK && !access(path, F_OK);
}

static enum status read_json(const char *folder, const char *name, char path[PATH_MAX],
			     char **bytes, size_t *size, struct error *err)
{
	enum status st;

	TRY(file_path(path, folder, name, err));
	TRY(file_read(path, JSON_LIMIT, bytes, size, err));
out:
	return st;
}

static enum status read_config(struct hf_source *s, const char *folder, struct error *err)
{
	char path[PATH_MAX], *bytes = NULL;
	size_t size;
	enum status st;

	if (!is_there(folder, "config.json")) {
		FAIL(err, ERR_USAGE, "%.300s has no config.json", folder);
		return HINT(err, "give a folder that save_pretrained of transformers, or kolm "
				 "export, has written");
	}
	TRY(read_json(folder, "config.json", path, &bytes, &size, err));
	TRY(hf_config_read(&s->model, bytes, size, path, err));
out:
	free(bytes);
	return st;
}

static enum status map_file(struct hf_source *s, const char *folder, const char *name,
			    struct error *err)
{
	struct error why = {0};
	char path[PATH_MAX];
	enum status st;

	TRY(file_path(path, folder, name, err));
	st = safetensors_map(&s->files[s->n_files], path, &why);
	if (st != OK)
		return FAIL(err, st, "%.150s: %.300s", path, why.msg);
	s->n_files++;
out:
	return st;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct hf_found *)a)->entry->name,
		      ((const struct hf_found *)b)->entry->name);
}

struct hf_found *hf_find(const struct hf_source *s, const char *name)
{
	struct safetensors_entry entry;
	struct hf_found key = {.entry = &entry};

	if (strlen(name) >= sizeof(entry.name))
		return NULL;
	snprintf(entry.name, sizeof(entry.name), "%s", name);
	return bsearch(&key, s->found, s->count, sizeof(*s->found), by_name);
}

/* All tensors of all files by name; none may be there twice. */
static enum status list_tensors(struct hf_source *s, struct error *err)
{
	size_t n = 0;

	for (size_t f = 0; f < s->n_files; f++)
		n += s->files[f].count;
	s->found = calloc(n + 1, sizeof(*s->found));
	if (!s->found)
		return FAIL(err, ERR_MEMORY, "no memory for the names of %zu tensors", n);
	for (size_t f = 0; f < s->n_files; f++)
		for (size_t i = 0; i < s->files[f].count; i++)
			s->found[s->count++] = (struct hf_found){
				.entry = &s->files[f].entries[i], .file = &s->files[f]};
	qsort(s->found, s->count, sizeof(*s->found), by_name);
	for (size_t i = 1; i < s->count; i++)
		if (!strcmp(s->found[i - 1].entry->name, s->found[i].entry->name))
			return FAIL(err, ERR_USAGE, "two files have a tensor %.*s", SHOWN,
				    s->found[i].entry->name);
	return OK;
}

/* Does every tensor stand where the index says? */
static enum status check_index(const struct hf_source *s, const struct hf_index *x,
			       struct error *err)
{
	const char *name;
	json_t *file;

	json_object_foreach(x->map, name, file)
	{
		const struct hf_found *found = hf_find(s, name);
		size_t f = found ? (size_t)(found->file - s->files) : 0;

		if (!found || strcmp(x->files[f], json_string_value(file)) != 0)
			return FAIL(err, ERR_USAGE,
				    "%.*s has no tensor %.*s, as its index says", SHOWN,
				    json_string_value(file), SHOWN, name);
	}
	return OK;
}

static enum status map_shards(struct hf_source *s, const char *folder, struct error *err)
{
	char path[PATH_MAX], *bytes = NULL;
	struct hf_index x = {0};
	size_t size;
	enum status st;

	TRY(read_json(folder, "model.safetensors.index.json", path, &bytes, &size, err));
	TRY(hf_index_read(&x, bytes, size, path, err));
	s->files = calloc(x.count, sizeof(*s->files));
	if (!s->files) {
		st = FAIL(err, ERR_MEMORY, "no memory for %zu files", x.count);
		goto out;
	}
	for (size_t i = 0; i < x.count; i++)
		TRY(map_file(s, folder, x.files[i], err));
	TRY(list_tensors(s, err));
	TRY(check_index(s, &x, err));
out:
	hf_index_release(&x);
	free(bytes);
	return st;
}

static enum status map_one(struct hf_source *s, const char *folder, struct error *err)
{
	enum status st;

	s->files = calloc(1, sizeof(*s->files));
	if (!s->files)
		return FAIL(err, ERR_MEMORY, "no memory for a file");
	TRY(map_file(s, folder, "model.safetensors", err));
	TRY(list_tensors(s, err));
out:
	return st;
}

static enum status map_files(struct hf_source *s, const char *folder, struct error *err)
{
	if (is_there(folder, "model.safetensors"))
		return map_one(s, folder, err);
	if (is_there(folder, "model.safetensors.index.json"))
		return map_shards(s, folder, err);
	FAIL(err, ERR_USAGE, "%.300s has no model.safetensors", folder);
	if (is_there(folder, "pytorch_model.bin") ||
	    is_there(folder, "pytorch_model.bin.index.json"))
		return HINT(err, "pytorch_model.bin is a program, not a table of numbers: load "
				 "it with transformers and save_pretrained it");
	return HINT(err, "give a folder that save_pretrained of transformers has written");
}

enum status hf_source_open(struct hf_source *s, const char *folder, struct error *err)
{
	enum status st;

	*s = (struct hf_source){0};
	TRY(read_config(s, folder, err));
	TRY(map_files(s, folder, err));
	TRY(hf_match(s, err));
out:
	if (st != OK)
		hf_source_close(s);
	return st;
}

void hf_source_close(struct hf_source *s)
{
	for (size_t i = 0; i < s->n_files; i++)
		safetensors_release(&s->files[i]);
	free(s->files);
	free(s->found);
	hf_plan_release(&s->plan);
	*s = (struct hf_source){0};
}

enum status hf_source_send(const struct hf_source *s, const struct hf_tensor *t, hf_sink *sink,
			   void *arg, struct error *err)
{
	enum status st = OK;

	for (int i = 0; i < t->count; i++) {
		const struct hf_part *p = &t->parts[i];
		const struct hf_found *f = hf_find_part(s, p->theirs);
		struct hf_values v = {.data = safetensors_data(f->file, f->entry),
				      .type = f->entry->dtype,
				      .row_step = p->transposed ? 1 : (size_t)p->columns,
				      .column_step = p->transposed ? (size_t)p->rows : 1};

		TRY(hf_values_send(&v, (size_t)p->rows, (size_t)p->columns, sink, arg, err));
	}
out:
	return st;
}
