/* verify_run.c - the runs of kolm verify and what they leave; see verify.h */
#include "cmd/verify.h"
#include "base/file.h"
#include "base/log.h"
#include "base/util.h"
#include "cmd/training.h"
#include "device/gpus.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a run has left in its folder ---- */

static enum status read_metrics(struct outcome *o, const char *folder, struct error *err)
{
	enum status st;
	char path[PATH_MAX], *text = NULL, *rest, *line;
	size_t size;

	TRY(file_path(path, folder, "metrics.jsonl", err));
	TRY(file_read(path, 1 << 30, &text, &size, err));
	o->losses = calloc(size / 8 + 1, sizeof(*o->losses)); /* a line is longer than that */
	o->skipped = calloc(size / 8 + 1, sizeof(*o->skipped));
	if (!o->losses || !o->skipped) {
		st = FAIL(err, ERR_MEMORY, "no memory for the losses");
		goto out;
	}
	rest = text;
	while ((line = strsep(&rest, "\n")) && *line) {
		json_t *j = json_loads(line, 0, NULL), *loss = json_object_get(j, "loss");

		/* JSON has no NaN: it is null there. */
		o->losses[o->count] = json_is_number(loss) ? json_number_value(loss) : NAN;
		o->skipped[o->count++] = json_is_true(json_object_get(j, "skipped"));
		o->last_scale = json_number_value(json_object_get(j, "loss_scale"));
		o->first_scale = o->count == 1 ? o->last_scale : o->first_scale;
		json_decref(j);
	}
out:
	free(text);
	return st;
}

static enum status read_tensors(struct safetensors *s, const char *folder, const char *name,
				struct error *err)
{
	enum status st;
	char path[PATH_MAX];

	TRY(file_path(path, folder, name, err));
	TRY(safetensors_read(s, path, err));
out:
	return st;
}

static enum status read_text(char **out, const char *folder, const char *name,
			     struct error *err)
{
	char path[PATH_MAX];
	size_t size;
	enum status st;

	TRY(file_path(path, folder, name, err));
	TRY(file_read(path, 1 << 30, out, &size, err));
out:
	return st;
}

/* What the checkpoint at the end says of itself. */
static enum status read_sums(struct outcome *o, const char *folder, struct error *err)
{
	struct checkpoint c = {0};
	const char *sum;
	enum status st;

	TRY(checkpoint_need(&c, folder, err));
	sum = json_string_value(json_object_get(c.state, "weights_sha256"));
	snprintf(o->weights_sha256, SHA256_TEXT, "%s", sum ? sum : "");
	snprintf(o->optimizer_sha256, SHA256_TEXT, "%s",
		 c.files[PART_OPTIMIZER].there ? c.files[PART_OPTIMIZER].sha256 : "");
out:
	checkpoint_close(&c);
	return st;
}

static enum status read_outcome(struct outcome *o, const char *folder, const struct variant *v,
				struct error *err)
{
	enum status st;

	TRY(read_metrics(o, folder, err));
	TRY(read_tensors(&o->weights, folder, "final.safetensors", err));
	if (v->bits) {
		TRY(read_text(&o->fingerprint, folder, FINGERPRINT_FILE, err));
		TRY(read_sums(o, folder, err));
		if (v->until)
			TRY(read_text(&o->transcript, folder, "transcript.txt", err));
	} else {
		TRY(read_tensors(&o->sketch, folder, "sketch.safetensors", err));
	}
	if (v->gradients)
		TRY(read_tensors(&o->gradients, folder, "gradients.safetensors", err));
out:
	return st;
}

void outcome_release(struct outcome *o)
{
	free(o->losses);
	free(o->skipped);
	safetensors_release(&o->weights);
	safetensors_release(&o->sketch);
	safetensors_release(&o->gradients);
	free(o->fingerprint);
	free(o->transcript);
	*o = (struct outcome){0};
}

/* ---- running ---- */

/* Half of the distance from 1 to the next number. */
static double unit_roundoff(enum dtype type)
{
	return type == DTYPE_F32 ? 0x1p-24 : type == DTYPE_F16 ? 0x1p-11 : 0x1p-8;
}

/* A batch in other pieces is summed in another order: each cut in as few as can be, or all of
   them in one. */
static int other_micro_batches(int batch, int micro_batches)
{
	int rows = batch / micro_batches;

	for (int n = 2; n <= rows; n++)
		if (rows % n == 0)
			return micro_batches * n;
	return 1;
}

static void run_alone(struct config *c, const struct setup *s)
{
	c->dp = c->pp = c->mp = 1;
	if (gpus_named(c->device) || !strcmp(c->device, "auto"))
		snprintf(c->device, sizeof(c->device), "cpu"); /* what a GPU is held against */
	c->zero = 0;
	c->grad_sync = SYNC_DDP;
	c->inject[0] = c->layers_per_stage[0] = '\0';
	c->nproc_per_node = 0;
	c->precision = s->type; /* other kernels could make another one of auto */
	c->engine = ENGINE_HYBRID;
	c->chunks = 0;
	c->device_memory = 0; /* it holds all that the grid's ranks share */
	c->batch = s->batch;
	c->micro_batches = s->micro_batches;
	c->micro_batch_size = 0;
	if (*s->as_if) { /* as if on the same grid, whatever was left open before */
		snprintf(c->as_if, sizeof(c->as_if), "dp=%d,mp=%d", s->as_if_dp, s->as_if_mp);
		c->as_if_dp = s->as_if_dp;
		c->as_if_mp = s->as_if_mp;
		c->micro_batch_size = s->micro_batch_size;
		c->micro_batches = s->batch / s->micro_batch_size;
	}
}

/* The run of the grid is over: its options are resolved. */
static void fill_setup(struct setup *s, const struct training *t)
{
	const struct config *c = &t->config;
	const char *kernels = device_other_kernels(getenv("KOLM_CPU"));
	int other = other_micro_batches(c->batch, c->micro_batches);

	s->grid = t->grid;
	s->batch = c->batch;
	s->micro_batches = c->micro_batches;
	s->micro_batch_size = c->micro_batch_size;
	snprintf(s->as_if, sizeof(s->as_if), "%s", c->as_if);
	s->as_if_dp = c->as_if_dp;
	s->as_if_mp = c->as_if_mp;
	s->steps = c->steps;
	s->type = (enum dtype)c->precision;
	s->unit = unit_roundoff(s->type);
	s->terms = (int)min64(
		INT_MAX, max64(model_widest(&t->model), (int64_t)c->batch * t->model.sequence));
	s->noise = fmax(s->unit, sqrt(s->terms) * unit_roundoff(DTYPE_F32));
	s->reorder[0] = '\0';
	if (kernels || other != c->micro_batches)
		snprintf(s->reorder, sizeof(s->reorder), "%s%s%d micro-batch%s",
			 kernels ? kernels : "", kernels ? " kernels, " : "", other,
			 other == 1 ? "" : "es");
}

/* Read the options anew for each run, and change what the variant wants. */
static enum status prepare(struct training *t, const struct setup *s, const struct variant *v,
			   const char *folder, struct error *err)
{
	struct config *c = &t->config;
	enum status st;

	t->record_folder = folder;
	t->until = v->until;
	t->wants_gradients = v->gradients;
	t->discarded = true;
	TRY(config_read(c, s->argc, s->argv, err));
	if (options_source(&c->values, "steps") == SOURCE_DEFAULT && !c->epochs) {
		c->steps = 20;
		c->warmup = imin(c->warmup, 19);
		config_shorten_course(c);
	}
	if (v->alone)
		run_alone(c, s);
	if (v->reordered)
		c->micro_batches = other_micro_batches(s->batch, s->micro_batches);
	if (v->draw)
		snprintf(c->inject, sizeof(c->inject), "noise=%.9g,draw=%d", s->noise, v->draw);
	if (s->init_scale > 0)
		c->init_scale = s->init_scale;
	t->wants_bits = v->bits;
	if (v->bits && !*c->as_if)
		strcpy(c->as_if, "the grid"); /* neither of its numbers is known yet */
	c->quiet = true;
	c->trace = 0;
	c->log_every = 1; /* all are compared, whatever becomes of them */
	c->eval_every = c->patience = c->max_bad_steps = 0;
	c->dump_check[0] = c->save_every[0] = '\0';
	c->save = v->bits;
	c->restarts = 0;
	snprintf(c->run_dir, sizeof(c->run_dir), "%.*s", PATH_MAX - 1, folder);
	log_set_level(LOG_QUIET);
out:
	return st;
}

/* The ranks of a run ask the environment for their kernels. */
static enum status train_reordered(struct training *t, struct error *err)
{
	const char *kernels = device_other_kernels(getenv("KOLM_CPU")),
		   *before = getenv("KOLM_CPU");
	char *kept = before ? strdup(before) : NULL;
	enum status st;

	if (kernels)
		setenv("KOLM_CPU", kernels, 1);
	st = training_run(t, err);
	if (kept)
		setenv("KOLM_CPU", kept, 1);
	else
		unsetenv("KOLM_CPU");
	free(kept);
	return st;
}

enum status run_variant(struct setup *s, const struct variant *v, struct outcome *o,
			struct error *err)
{
	enum status st;
	struct training *t = training_new(s->argc, s->argv, err);
	struct folder folder = {0};

	if (!t)
		return ERR_MEMORY;
	TRY(folder_make_temporary(&folder, "verify", err));
	TRY(prepare(t, s, v, folder.path, err));
	TRY(v->reordered ? train_reordered(t, err) : training_run(t, err));
	if (!v->alone)
		fill_setup(s, t);
	TRY(read_outcome(o, folder.path, v, err));
out:
	training_free(t);
	folder_remove_temporary(&folder);
	return st;
}
