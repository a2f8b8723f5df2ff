/* trained.c - see trained.h */
#include "cmd/trained.h"
#include "base/file.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/signals.h"
#include "base/util.h"
#include "cmd/watch.h"
#include "comm/self.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { ROWS_MAX = 256, TOKENS_MAX = 512 }; /* at a time */

/* ---- the checkpoint ---- */

/* The best one of a run, if that was marked and is whole. */
static bool find_best(struct checkpoint *c, const char *place)
{
	char checkpoints[PATH_MAX], best[PATH_MAX];
	struct error why = {0};
	struct stat info;
	bool found = false;

	if (file_path(checkpoints, place, CHECKPOINTS, &why) != OK ||
	    file_path(best, checkpoints, "best", &why) != OK || stat(best, &info))
		return false;
	if (checkpoint_find(c, best, true, &found, &why) != OK)
		log_warn("passed over: %s", why.msg);
	return found;
}

enum status trained_find(struct checkpoint *c, const char *place, struct error *err)
{
	enum status st = OK;
	bool best = find_best(c, place);

	if (!best)
		TRY(checkpoint_need(c, place, err));
	log_info("checkpoint: %s, after step %lld%s", c->folder, (long long)c->step,
		 best ? ", the best of the run" : "");
out:
	return st;
}

static enum status read_form(struct trained *m, struct error *err)
{
	const struct checkpoint *c = &m->training->from;
	const json_t *data = json_object_get(c->state, "data");

	if (!data) {
		FAIL(err, ERR_USAGE, "%.300s does not say how its data was read", c->folder);
		return HINT(err,
			    "it is of an older kolm: kolm train --resume writes a new one");
	}
	return data_form_read(&m->form, data, err);
}

enum status trained_read_options(struct training *t, char *const *more, int n,
				 struct error *err)
{
	char *argv[16] = {(char[]){"--resume"}, t->from.folder};
	struct config *c = &t->config;
	enum status st;

	assert(n + 2 < (int)ARRAY_SIZE(argv));
	for (int i = 0; i < n; i++)
		argv[2 + i] = more[i];
	TRY(config_read(c, 2 + n, argv, err));
	t->grid = (struct grid){.dp = 1, .pp = 1, .mp = 1};
	c->dp = c->pp = c->mp = c->chunks = c->micro_batches = 1;
	c->as_if_dp = c->as_if_mp = 0;
	c->as_if[0] = c->layers_per_stage[0] = '\0';
	c->engine = ENGINE_HYBRID;
	c->schedule = SCHEDULE_1F1B;
	c->grad_sync = SYNC_FLAT;
	c->zero = 0;
	c->optimizer = OPT_SGD;
out:
	return st;
}

/* ---- the model ---- */

static enum status open_engine(struct trained *m, struct error *err)
{
	struct training *t = m->training;
	struct config *c = &t->config;
	struct device_options device = {.kernels = getenv("KOLM_CPU"),
					.threads = c->threads ? c->threads : machine_cores(),
					.ranks = 1};
	struct engine_options o;
	enum status st;

	c->batch = (int)min64(ROWS_MAX, t->data.table.samples);
	if (t->data.language)
		c->batch = (int)min64(imax(1, TOKENS_MAX / t->data.sequence), t->data.held_out);
	c->micro_batch_size = c->batch;
	TRY(training_build_model(t, err));
	TRY(partition_init(&t->partition, &t->model, 1, 1, "", err));
	TRY(schedule_init(&t->schedule, SCHEDULE_1F1B, 1, 1, 1, err));
	TRY(device_open(&t->dev, "cpu", &device, err));
	TRY(comm_open_self(&m->world, err));
	o = training_engine_options(t);
	o.world = m->world;
	o.inject = NULL;
	o.records = NULL;
	o.observer = (struct engine_observer){0};
	TRY(engine_create(&t->engine, t->dev, &o, err));
	TRY(training_load_weights(t, err));
out:
	return st;
}

static void say_missing(const struct table *t)
{
	if (t->dropped)
		log_warn("%lld samples with missing values are left out",
			 (long long)t->dropped);
	else if (t->missing)
		log_info("%lld missing values are the mean of their column in training",
			 (long long)t->missing);
}

static enum status open_data(struct trained *m, const char *spec, bool targets,
			     struct error *err)
{
	struct data *d = &m->training->data;
	struct data_form form = m->form; /* borrows its columns */
	enum status st;

	if (!targets)
		form.n_targets = 0; /* whatever is in their place */
	TRY(data_open_like(d, spec, &form, err));
	d->out = m->form.labelled ? m->form.n_classes : m->form.n_targets;
	say_missing(&d->table);
out:
	return st;
}

/* The tokenizer is beside the weights, unless it was never known. */
static enum status open_text(struct trained *m, const char *spec, struct error *err)
{
	struct training *t = m->training;
	char path[PATH_MAX], cache[PATH_MAX];
	struct data_options o = {.spec = spec,
				 .sequence = t->config.context,
				 .vocabulary = t->config.vocab,
				 .cache = training_cache(cache),
				 .watch = watch_text("reading the text")};
	struct tokenizer *tokenizer = NULL;
	sigset_t before;
	enum status st;

	if (t->from.files[FILE_TOKENIZER].there) {
		TRY(file_path(path, t->from.folder, checkpoint_file_names[FILE_TOKENIZER],
			      err));
		TRY(tokenizer_open(&tokenizer, path, err));
	}
	signals_hold(&before); /* no half-written file is left behind */
	st = data_open_text_like(&t->data, &o, tokenizer, &m->form, err);
	watch_text_end();
	signals_let_go(&before);
out:
	return st;
}

enum status trained_open(struct trained *m, const char *place, const char *data, bool targets,
			 int threads, struct error *err)
{
	struct training *t;
	enum status st;

	*m = (struct trained){.training = training_new(0, NULL, err)};
	t = m->training;
	if (!t)
		return ERR_MEMORY;
	TRY(trained_find(&t->from, place, err));
	TRY(read_form(m, err));
	if (m->form.source == SOURCE_IS_TEXT && !targets) {
		st = FAIL(err, ERR_USAGE, "%.300s is a language model", place);
		HINT(err, "kolm generate lets it write; kolm eval says how well it does");
		goto out;
	}
	TRY(trained_read_options(t, NULL, 0, err));
	t->config.threads = threads;
	TRY(training_choose_precision(t, err)); /* whatever a file says */
	if (m->form.source == SOURCE_IS_TEXT)
		TRY(open_text(m, data, err));
	else
		TRY(open_data(m, data, targets, err));
	TRY(open_engine(m, err));
out:
	if (st != OK)
		trained_close(m);
	return st;
}

void trained_close(struct trained *m)
{
	struct training *t = m->training;

	if (!t)
		return;
	engine_free(t->engine);
	comm_free(m->world);
	if (t->dev)
		device_close(t->dev);
	training_free(t);
	data_form_release(&m->form);
	*m = (struct trained){0};
}

/* ---- using it ---- */

static void fill(void *arg, int64_t first, int rows, const struct batch *b)
{
	const struct data *d = arg;

	/* The loss of what has no targets means nothing, but is computed. */
	for (int r = 0; r < rows && !d->has_targets; r++) {
		if (b->labels)
			b->labels[r] = 0;
		else
			memset(view_from(b->target, (size_t)r).data, 0,
			       (size_t)d->out * sizeof(float));
	}
	data_rows(d, first, rows, b);
}

static void fill_text(void *arg, int64_t first, int rows, const struct batch *b)
{
	data_held_out(arg, first, rows, b);
}

enum status trained_evaluate(struct trained *m, struct evaluation *out, struct error *err)
{
	struct data *d = &m->training->data;
	enum status st;

	TRY(engine_evaluate(m->training->engine, d->held_out * d->sequence, fill_text, d, out,
			    err));
	TRY(data_check(d, err));
	TRY(training_judge(d, out, err));
out:
	return st;
}

enum status trained_run(struct trained *m, engine_take *take, void *arg, struct evaluation *out,
			struct error *err)
{
	struct training *t = m->training;

	return engine_outputs(t->engine, t->data.table.samples, fill, &t->data, take, arg, out,
			      err);
}

int trained_class(const float *outputs, int n)
{
	int best = 0;

	for (int k = 1; k < n; k++)
		if (outputs[k] > outputs[best])
			best = k;
	return best;
}

double trained_target(const struct trained *m, int target, double value)
{
	const struct form_column *c = &m->form.targets[target];

	return value * c->deviation + c->mean;
}
