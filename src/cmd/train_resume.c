/*
 * train_resume.c - where a run goes on from, and how; see training.h
 *
 * The files of a checkpoint know whole tensors by name: whatever the grid, a rank takes its
 * rows and columns of those that it has.
 */
#include "base/file.h"
#include "base/log.h"
#include "base/util.h"
#include "cmd/training.h"

#include <stdio.h>
#include <string.h>

/* ---- does it fit? ---- */

static void shape_text(int dims, const int64_t *shape, char *buf, size_t size)
{
	if (dims == 1)
		snprintf(buf, size, "[%lld]", (long long)shape[0]);
	else if (dims == 2)
		snprintf(buf, size, "[%lld, %lld]", (long long)shape[0], (long long)shape[1]);
	else
		snprintf(buf, size, "of %d dimensions", dims);
}

/* "layers.0.weight: [64, 10] there, [32, 10] here": the first few that differ, and how many. */
struct differences {
	int count;
	char text[256];
};

static void differ(struct differences *d, const char *name, const char *there, const char *here)
{
	size_t n = strlen(d->text);

	if (d->count++ < 2)
		snprintf(d->text + n, sizeof(d->text) - n, "%s%.60s: %s there, %s here",
			 n ? "; " : "", name, there, here);
}

static void compare(const struct safetensors *file, const struct tensor *tensor,
		    const char *name, struct differences *d)
{
	const struct safetensors_entry *e = safetensors_find(file, name);
	int64_t shape[2] = {tensor->rows, tensor->columns};
	char here[64], there[64] = "none";

	shape_text(tensor_dims(tensor), shape, here, sizeof(here));
	if (e && e->dtype == DTYPE_F32)
		shape_text(e->dims, e->shape, there, sizeof(there));
	else if (e)
		snprintf(there, sizeof(there), "%s", dtype_name(e->dtype));
	if (strcmp(here, there))
		differ(d, name, there, here);
}

/* Tensors of the file that this model does not have. */
static void compare_rest(const struct training *t, const struct safetensors *file,
			 struct differences *d)
{
	char there[64];

	for (size_t i = 0; i < file->count; i++) {
		bool known = false;

		for (int k = 0; k < t->model.n_tensors && !known; k++)
			known = !strcmp(file->entries[i].name, t->model.tensors[k].name);
		shape_text(file->entries[i].dims, file->entries[i].shape, there, sizeof(there));
		if (!known)
			differ(d, file->entries[i].name, there, "none");
	}
}

static enum status check_tensors(const struct training *t, struct error *err)
{
	struct differences d = {0};
	char name[SAVING_NAME];

	for (int a = 0; a < ARRAY_COUNT; a++) {
		struct region r = {.array = (enum engine_array)a};
		const struct safetensors *file = &t->source[saving_part(r.array)];

		if (!engine_array_name((enum optimizer)t->config.optimizer, r.array) ||
		    (t->from.weights_only && r.array != ARRAY_WEIGHTS))
			continue;
		for (r.tensor = 0; r.tensor < t->model.n_tensors; r.tensor++)
			compare(file, &t->model.tensors[r.tensor], saving_name(t, &r, name),
				&d);
	}
	compare_rest(t, &t->source[PART_MODEL], &d);
	if (!d.count)
		return OK;
	FAIL(err, ERR_USAGE, "%.200s is of another model: %d tensor%s: %s%s", t->from.folder,
	     d.count, d.count == 1 ? " differs" : "s differ", d.text,
	     d.count > 2 ? "; ..." : "");
	return HINT(err, "use the options that it was trained with");
}

static enum status check_state(const struct training *t, struct error *err)
{
	const json_t *optimizer = json_object_get(t->from.state, "optimizer");
	const char *kind = json_string_value(json_object_get(optimizer, "kind"));
	const json_t *seed = json_object_get(t->from.state, "seed");
	const char *sum = checkpoint_tokenizer_sha256(&t->from);

	if (t->data.kind == DATA_TOKENS && *sum && strcmp(sum, t->data.form.tokenizer_sha256)) {
		FAIL(err, ERR_USAGE, "%.200s was trained with another tokenizer",
		     t->from.folder);
		return HINT(err, "leave --tokenizer out: it has its own");
	}
	if (t->from.weights_only) /* they are where a training begins, whatever it is */
		return OK;
	if (!kind || strcmp(kind, optimizer_names[t->config.optimizer])) {
		FAIL(err, ERR_USAGE, "%.200s has the state of the optimizer %.20s, not of %s",
		     t->from.folder, kind ? kind : "none",
		     optimizer_names[t->config.optimizer]);
		return HINT(err, "add --optimizer %.20s", kind ? kind : "sgd");
	}
	if (json_integer_value(seed) != t->config.seed) {
		FAIL(err, ERR_USAGE, "%.200s was made with --seed %lld, not %lld",
		     t->from.folder, (long long)json_integer_value(seed),
		     (long long)t->config.seed);
		return HINT(err, "samples and dropout follow from it: add --seed %lld",
			    (long long)json_integer_value(seed));
	}
	return OK;
}

static enum status map_files(struct training *t, struct error *err)
{
	char path[PATH_MAX];
	enum status st = OK;

	for (int i = 0; i < PART_COUNT; i++) {
		if (!t->from.files[i].there)
			continue;
		TRY(file_path(path, t->from.folder, checkpoint_file_names[i], err));
		TRY(safetensors_map(&t->source[i], path, err));
	}
out:
	return st;
}

static void unmap_files(struct training *t)
{
	for (int i = 0; i < PART_COUNT; i++)
		safetensors_release(&t->source[i]);
}

/* ---- finding it ---- */

static enum status check_start(struct training *t, struct error *err)
{
	enum status st;

	TRY(check_state(t, err));
	TRY(map_files(t, err));
	TRY(check_tensors(t, err));
out:
	unmap_files(t);
	return st;
}

static enum status check_left(struct training *t, bool automatic, struct error *err)
{
	if (t->from.step < t->config.steps)
		return OK;
	if (automatic) {
		log_info("all %d steps are done: %s", t->config.steps, t->from.folder);
		t->nothing_left = true;
		return OK;
	}
	FAIL(err, ERR_USAGE, "%.200s has all of the %d steps behind it", t->from.folder,
	     t->config.steps);
	return HINT(err, "add --steps with more than %lld", (long long)t->from.step);
}

enum status training_find_start(struct training *t, struct error *err)
{
	const char *place = t->config.resume;
	bool automatic = !strcmp(place, "auto"), found;
	char checkpoints[PATH_MAX];
	enum status st = OK;

	if (!*place)
		return OK;
	TRY(checkpoint_find(&t->from, automatic ? t->run.folder : place, true, &found, err));
	if (!found && automatic) {
		log_info("no checkpoint in %s yet: from the start", t->run.folder);
		return OK;
	}
	if (!found) {
		FAIL(err, ERR_USAGE, "--resume %.200s: none of its checkpoints can be used",
		     place);
		return HINT(err, "see 'kolm info' on each of them");
	}
	TRY(check_start(t, err));
	if (t->config.in_place) { /* it may be newer than latest says, or older */
		TRY(file_path(checkpoints, t->run.folder, CHECKPOINTS, err));
		TRY(store_point_to(checkpoints, t->from.step, err));
	}
	TRY(check_left(t, automatic, err));
out:
	return st;
}

/* What rank 0 of a job has found. */
struct start {
	bool nothing_left;
	char folder[PATH_MAX], from[PATH_MAX];
};

enum status training_share_start(struct training *t, struct error *err)
{
	struct rank *r = t->rank;
	struct start *s = NULL;
	enum status st;

	TRY(comm_alloc(r->world, sizeof(*s), (void **)&s, err));
	if (r->number == 0) {
		s->nothing_left = t->nothing_left;
		snprintf(s->folder, sizeof(s->folder), "%s", t->run.folder);
		snprintf(s->from, sizeof(s->from), "%s", t->from.folder);
	}
	TRY(comm_run(r->world, COMM_BROADCAST, s, sizeof(*s), DTYPE_BYTE, 0, err));
	if (r->number > 0) {
		t->nothing_left = s->nothing_left;
		snprintf(t->run.folder, sizeof(t->run.folder), "%s", s->folder);
		if (*s->from)
			TRY(checkpoint_open(&t->from, s->from, err));
	}
out:
	comm_give_back(r->world, s);
	return st;
}

/* ---- going on ---- */

/* Rows and columns of a tensor from its file. */
static enum status read_region(void *arg, const struct region *r, float *values,
			       struct error *err)
{
	const struct training *t = arg;
	const struct safetensors *file = &t->source[saving_part(r->array)];
	size_t stride = (size_t)t->model.tensors[r->tensor].columns;
	const struct safetensors_entry *e;
	const char *data;
	char name[SAVING_NAME];

	e = safetensors_find(file, saving_name(t, r, name));
	if (!e) /* other ranks have looked before us */
		return FAIL(err, ERR_FAILED, "%.200s has no %s", t->from.folder, name);
	data = (const char *)safetensors_data(file, e) +
	       ((size_t)r->row * stride + (size_t)r->column) * sizeof(float);
	for (size_t row = 0; row < (size_t)r->rows; row++)
		memcpy(values + row * (size_t)r->columns, data + row * stride * sizeof(float),
		       (size_t)r->columns * sizeof(float));
	return OK;
}

enum status training_restore(struct training *t, struct error *err)
{
	const json_t *state = t->from.state;
	const json_t *optimizer = json_object_get(state, "optimizer");
	const json_t *scale = json_object_get(state, "loss_scale");
	struct engine_state e = {
		.updates = json_integer_value(json_object_get(optimizer, "updates")),
		.scale = json_number_value(json_object_get(scale, "scale")),
		.finite = (int)json_integer_value(json_object_get(scale, "finite_steps"))};
	enum status st;

	if (!state)
		return OK;
	rank_at(t->rank, "reading %s", t->from.folder);
	TRY(map_files(t, err));
	if (t->from.weights_only) {
		TRY(engine_take_weights(t->engine, read_region, t, err));
		goto out;
	}
	TRY(engine_restore(t->engine, &e, read_region, t, err));
	TRY(course_read(&t->course, json_object_get(state, "course"), err));
	t->samples = json_integer_value(json_object_get(state, "samples"));
	t->done = (int)t->from.step;
out:
	unmap_files(t);
	return st;
}

enum status training_load_weights(struct training *t, struct error *err)
{
	enum status st;

	TRY(map_files(t, err));
	TRY(check_tensors(t, err));
	TRY(engine_take_weights(t->engine, read_region, t, err));
out:
	unmap_files(t);
	return st;
}

/* ---- with fewer ranks ---- */

/* Can the batch be cut for so many replicas, in micro-batches as large as they are? */
static bool fits(const struct config *c, int dp)
{
	return c->batch % ((int64_t)dp * c->micro_batch_size) == 0 &&
	       (!c->as_if_dp || c->as_if_dp % dp == 0);
}

enum status training_shrink(struct training *t, int lost, struct error *err)
{
	struct config *c = &t->config;
	int stages = c->pp * c->mp, left = c->dp * stages - lost;
	int dp = imin(c->dp - 1, left / stages);

	if (c->elastic == ELASTIC_NONE || c->dp == 1)
		return OK; /* other processes take their places */
	while (dp > 0 && !fits(c, dp))
		dp--;
	if (dp < 1)
		return FAIL(err, ERR_FAILED, "%d ranks are left: too few for %d stages of %d",
			    left, c->pp, c->mp);
	c->dp = dp;
	c->micro_batches = c->batch / (dp * c->micro_batch_size);
	return OK;
}
