/* write.c - a checkpoint's tensors as transformers' model.safetensors, with its config.json;
   see hf.h */
#include "hf/hf.h"
#include "base/file.h"
#include "base/half.h"

#include <stdlib.h>
#include <string.h>

/* ---- does the checkpoint hold that model? ---- */

static enum status check_tensor(const struct hf_tensor *t, const struct safetensors *tensors,
				struct error *err)
{
	const struct safetensors_entry *e = safetensors_find(tensors, t->entry.name);

	if (!e)
		return FAIL(err, ERR_USAGE, "the checkpoint has no tensor %s", t->entry.name);
	if (e->dtype != DTYPE_F32 || e->dims != t->entry.dims ||
	    memcmp(e->shape, t->entry.shape, (size_t)e->dims * sizeof(*e->shape)) != 0)
		return FAIL(err, ERR_USAGE, "%s has another shape than its model gives it",
			    e->name);
	return OK;
}

static enum status check_tensors(const struct hf_plan *p, const struct safetensors *tensors,
				 struct error *err)
{
	struct hf_tensor *ours = NULL;
	size_t count;
	enum status st;

	TRY(hf_plan_ours(p, &ours, &count, err));
	for (size_t i = 0; i < count; i++)
		TRY(check_tensor(&ours[i], tensors, err));
	if (count != tensors->count)
		st = FAIL(err, ERR_USAGE, "the checkpoint has %zu tensors, its model has %zu",
			  tensors->count, count);
out:
	free(ours);
	return st;
}

/* ---- tensors ---- */

struct out {
	struct file file;
	enum dtype type;
	uint16_t *halves; /* (room) */
	size_t room;
};

static enum status put(void *arg, const float *values, size_t count, struct error *err)
{
	struct out *o = arg;

	if (o->type == DTYPE_F32)
		return file_write(&o->file, values, count * sizeof(*values), err);
	if (count > o->room) {
		free(o->halves);
		o->halves = malloc(count * sizeof(*o->halves));
		o->room = o->halves ? count : 0;
	}
	if (!o->halves)
		return FAIL(err, ERR_MEMORY, "no memory for %zu numbers", count);
	for (size_t i = 0; i < count; i++)
		float_to(o->halves, i, o->type, values[i]);
	return file_write(&o->file, o->halves, count * sizeof(*o->halves), err);
}

static enum status put_zeros(struct out *o, size_t count, struct error *err)
{
	float *zeros = calloc(count, sizeof(*zeros));
	enum status st;

	if (!zeros)
		return FAIL(err, ERR_MEMORY, "no memory for %zu numbers", count);
	st = put(o, zeros, count, err);
	free(zeros);
	return st;
}

static enum status put_part(struct out *o, const struct hf_part *p,
			    const struct safetensors *tensors, struct error *err)
{
	size_t rows = (size_t)p->rows, columns = (size_t)p->columns;
	const struct safetensors_entry *e;
	struct hf_values v = {.type = DTYPE_F32};

	if (p->role == HF_ZEROS)
		return put_zeros(o, rows * columns, err);
	e = safetensors_find(tensors, p->ours);
	v.data = (const char *)safetensors_data(tensors, e) +
		 (size_t)p->row * columns * sizeof(float);
	v.row_step = p->transposed ? 1 : columns;
	v.column_step = p->transposed ? columns : 1;
	return p->transposed ? hf_values_send(&v, columns, rows, put, o, err)
			     : hf_values_send(&v, rows, columns, put, o, err);
}

static struct safetensors_entry *describe(const struct hf_plan *p, enum dtype type)
{
	struct safetensors_entry *entries = calloc(p->count, sizeof(*entries));

	for (size_t i = 0; entries && i < p->count; i++) {
		const struct hf_part *q = &p->parts[i];

		entries[i] = (struct safetensors_entry){
			.dtype = type,
			.dims = q->matrix ? 2 : 1,
			.shape = {q->transposed ? q->columns : q->rows,
				  q->transposed ? q->rows : q->columns}};
		memcpy(entries[i].name, q->theirs, sizeof(q->theirs));
	}
	return entries;
}

static enum status write_tensors(const struct hf_model *m, const struct hf_plan *p,
				 const struct safetensors *tensors, const char *folder,
				 struct error *err)
{
	struct safetensors_entry *entries = describe(p, m->type);
	struct out o = {.file.fd = -1, .type = m->type};
	char path[PATH_MAX];
	enum status st;

	if (!entries)
		return FAIL(err, ERR_MEMORY, "no memory to describe %zu tensors", p->count);
	TRY(file_path(path, folder, "model.safetensors", err));
	TRY(safetensors_begin_as(&o.file, path, "pt", entries, p->count, err));
	for (size_t i = 0; i < p->count; i++)
		TRY(put_part(&o, &p->parts[i], tensors, err));
	TRY(file_commit(&o.file, err));
out:
	file_abort(&o.file);
	free(o.halves);
	free(entries);
	return st;
}

/* ---- the folder ---- */

static enum status write_json(const char *folder, const char *name,
			      void (*write)(const struct hf_model *m, struct json *j),
			      const struct hf_model *m, struct error *err)
{
	char path[PATH_MAX];
	struct json j;
	enum status st;

	json_init(&j, true);
	write(m, &j);
	TRY(file_path(path, folder, name, err));
	TRY(json_write_file(&j, path, err));
out:
	json_release(&j);
	return st;
}

enum status hf_write_model(const struct hf_model *m, const struct safetensors *tensors,
			   const char *folder, struct error *err)
{
	struct hf_plan plan = {0};
	enum status st;

	TRY(hf_plan_make(&plan, m, err));
	TRY(check_tensors(&plan, tensors, err));
	TRY(write_tensors(m, &plan, tensors, folder, err));
	TRY(write_json(folder, "generation_config.json", hf_generation_write, m, err));
	TRY(write_json(folder, "config.json", hf_config_write, m, err));
out:
	hf_plan_release(&plan);
	return st;
}
