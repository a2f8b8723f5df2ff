/*
 * verify.c - kolm verify: the same run on one rank and on a grid, and how far apart their
 * losses and final weights are.
 */
#include "cmd/cmd.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/safetensors.h"
#include "base/signals.h"
#include "base/util.h"
#include "cmd/training.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct verify {
	double loss_tolerance, weight_tolerance;
	bool as_json;
	/* result */
	double loss_rel, weight_rel;
	char where[192]; /* the largest difference of what is furthest beyond its tolerance */
};

/* clang-format off */
static const struct option options[] = {
	{"loss-tolerance", .group = "Options", .type = OPTION_FLOAT, .meta = "X",
	 .offset = offsetof(struct verify, loss_tolerance), .initial = "1e-05", .min = 0, .max = 1,
	 .help = "largest relative difference of a step's loss"},
	{"weight-tolerance", .group = "Options", .type = OPTION_FLOAT, .meta = "X",
	 .offset = offsetof(struct verify, weight_tolerance), .initial = "0.0001", .min = 0, .max = 1,
	 .help = "largest difference of a final weight, relative to the largest of its tensor"},
	{"json", .group = "Options", .type = OPTION_FLAG, .offset = offsetof(struct verify, as_json),
	 .initial = "false", .help = "print one JSON document instead of text"},
};

static const char *const examples[] = {
	"kolm verify --dp 2 --pp 2 --mp 2 --micro-batches 4",
	"kolm verify --pp 4 --schedule zb-h1 --depth 8 --micro-batches 8 --optimizer adamw",
	NULL,
};
/* clang-format on */

const struct option_table verify_table = {
	.command = "verify",
	.usage = "kolm verify [options of kolm train] [options]",
	.summary =
		"Train on one rank and on the given grid, and compare losses and final weights.\n"
		"20 steps unless --steps says otherwise. Exit code 1 beyond a tolerance.",
	.options = options,
	.count = ARRAY_SIZE(options),
	.examples = examples,
};

/* ---- what a run has left in its folder ---- */

struct outcome {
	double *losses;
	int count;
	struct safetensors weights;
};

static enum status read_losses(struct outcome *o, const char *folder, struct error *err)
{
	enum status st;
	char path[PATH_MAX], *text = NULL, *rest, *line;
	size_t size;

	TRY(file_path(path, folder, "metrics.jsonl", err));
	TRY(file_read(path, 1 << 30, &text, &size, err));
	o->losses = calloc(size / 8 + 1, sizeof(*o->losses)); /* a line is longer than that */
	if (!o->losses) {
		st = FAIL(err, ERR_MEMORY, "no memory for the losses");
		goto out;
	}
	rest = text;
	while ((line = strsep(&rest, "\n")) && *line) {
		json_t *j = json_loads(line, 0, NULL), *loss = json_object_get(j, "loss");

		/* JSON has no NaN: it is null there. */
		o->losses[o->count++] = json_is_number(loss) ? json_number_value(loss) : NAN;
		json_decref(j);
	}
out:
	free(text);
	return st;
}

static enum status read_outcome(struct outcome *o, const char *folder, struct error *err)
{
	enum status st;
	char path[PATH_MAX];

	TRY(read_losses(o, folder, err));
	TRY(file_path(path, folder, "final.safetensors", err));
	TRY(safetensors_read(&o->weights, path, err));
out:
	return st;
}

static void release_outcome(struct outcome *o)
{
	free(o->losses);
	safetensors_release(&o->weights);
}

/* ---- running and comparing ---- */

/* What the run of one rank takes over from that of the grid. */
struct resolved {
	int batch, micro_batches;
	struct grid grid;
};

/* Read the options anew for each of the two runs; the second is on one rank, with the
   same global batch. */
static enum status train(int argc, char *const *argv, bool alone, const char *folder,
			 struct resolved *r, struct error *err)
{
	enum status st;
	struct training *t = training_new(argc, argv, err);
	struct config *c;

	if (!t)
		return ERR_MEMORY;
	c = &t->config;
	t->weights_folder = folder;
	t->discarded = true;
	TRY(config_read(c, argc, argv, err));
	if (options_source(&c->values, "steps") == SOURCE_DEFAULT) {
		c->steps = 20;
		c->warmup = imin(c->warmup, 19);
	}
	if (alone) {
		c->dp = c->pp = c->mp = 1;
		c->zero = 0;
		c->grad_sync = SYNC_DDP;
		c->inject[0] = c->layers_per_stage[0] = '\0';
		c->nproc_per_node = 0;
		c->engine = ENGINE_HYBRID;
		c->chunks = 0;
		c->device_memory = 0; /* it holds all that the grid's ranks share */
		c->batch = r->batch;
		c->micro_batches = r->micro_batches;
		c->micro_batch_size = 0;
	}
	c->quiet = true;
	c->trace = 0;
	c->dump_check[0] = '\0';
	snprintf(c->run_dir, sizeof(c->run_dir), "%.*s", PATH_MAX - 1, folder);
	log_set_level(LOG_QUIET);
	TRY(training_run(t, err));
	if (!alone)
		*r = (struct resolved){c->batch, c->micro_batches, t->grid};
out:
	training_free(t);
	return st;
}

static void note(struct verify *v, double excess, double *worst, const char *fmt, int i,
		 const char *name)
{
	if (excess <= *worst)
		return;
	*worst = excess;
	snprintf(v->where, sizeof(v->where), fmt, name, i);
}

/* What is not finite on one side only is as different as can be. */
static double difference(double a, double b, double scale)
{
	if (a == b)
		return 0;
	if (!isfinite(a) || !isfinite(b))
		return 1e9;
	return fabs(a - b) / fmax(scale, 1e-30);
}

static enum status check_finite(const struct outcome *o, struct error *err)
{
	for (int i = 0; i < o->count; i++)
		if (!isfinite(o->losses[i])) {
			FAIL(err, ERR_FAILED,
			     "nothing to compare: on one rank the loss is not finite from step "
			     "%d on",
			     i);
			return HINT(err, "use a smaller --lr");
		}
	return OK;
}

static void compare_losses(struct verify *v, const struct outcome *a, const struct outcome *b,
			   double *worst)
{
	for (int i = 0; i < a->count; i++) {
		double d = i < b->count
				   ? difference(a->losses[i], b->losses[i], fabs(a->losses[i]))
				   : 1e9;

		v->loss_rel = fmax(v->loss_rel, d);
		note(v, d / fmax(v->loss_tolerance, 1e-30), worst, "%s of step %d", i, "loss");
	}
}

static void compare_weights(struct verify *v, const struct outcome *a, const struct outcome *b,
			    double *worst)
{
	for (size_t k = 0; k < a->weights.count; k++) {
		const struct safetensors_entry *e = &a->weights.entries[k];
		const struct safetensors_entry *f = safetensors_find(&b->weights, e->name);
		const float *x = safetensors_data(&a->weights, e), *y;
		size_t n = (size_t)(e->end - e->begin) / sizeof(float);
		double scale = 0;

		if (!f || f->end - f->begin != e->end - e->begin) {
			v->weight_rel = 1e9;
			note(v, 1e300, worst, "%s is missing%.0d", 0, e->name);
			continue;
		}
		y = safetensors_data(&b->weights, f);
		for (size_t i = 0; i < n; i++)
			scale = isfinite(x[i]) ? fmax(scale, fabs((double)x[i])) : scale;
		for (size_t i = 0; i < n; i++) {
			double d = difference(x[i], y[i], scale);

			v->weight_rel = fmax(v->weight_rel, d);
			note(v, d / fmax(v->weight_tolerance, 1e-30), worst, "%s[%d]", (int)i,
			     e->name);
		}
	}
}

static enum status report(struct verify *v, const char *grid, int steps, struct error *err)
{
	bool ok = v->loss_rel <= v->loss_tolerance && v->weight_rel <= v->weight_tolerance;
	struct json j;

	if (v->as_json) {
		json_init(&j, true);
		json_begin_object(&j, NULL);
		json_put_double(&j, "loss_rel", v->loss_rel);
		json_put_double(&j, "weight_rel", v->weight_rel);
		json_put_string(&j, "where", v->where);
		json_put_bool(&j, "ok", ok);
		json_put_string(&j, "grid", grid);
		json_put_int(&j, "steps", steps);
		json_end_object(&j);
		fputs(j.text.data, stdout);
		json_release(&j);
	} else {
		printf("%s against one rank, %d steps: losses differ by %.2g (allowed %.2g), "
		       "weights by %.2g (allowed %.2g)%s%s: %s\n",
		       grid, steps, v->loss_rel, v->loss_tolerance, v->weight_rel,
		       v->weight_tolerance, *v->where ? "; most at " : "", v->where,
		       ok ? "the same run" : "NOT the same run");
	}
	if (ok)
		return OK;
	FAIL(err, ERR_FAILED, "%s is not the run of one rank: %s", grid, v->where);
	return HINT(err, "or its tolerance is too small for these options");
}

static enum status compare(struct verify *v, const char *grid, const struct folder *folders,
			   struct error *err)
{
	enum status st;
	struct outcome one = {0}, many = {0};
	double worst = 0;

	TRY(read_outcome(&many, folders[0].path, err));
	TRY(read_outcome(&one, folders[1].path, err));
	TRY(check_finite(&one, err));
	compare_losses(v, &one, &many, &worst);
	compare_weights(v, &one, &many, &worst);
	TRY(report(v, grid, one.count, err));
out:
	release_outcome(&one);
	release_outcome(&many);
	return st;
}

enum status cmd_verify(int argc, char *const *argv, struct error *err)
{
	enum status st;
	struct verify v = {0};
	struct option_values own;
	struct launcher by;
	struct folder folders[2] = {0};
	sigset_t signals;
	char grid[64];
	struct resolved resolved = {0};
	char **rest = calloc((size_t)argc + 1, sizeof(*rest));
	int n = 0;

	if (!rest)
		return FAIL(err, ERR_MEMORY, "no memory to start");
	signals_hold(&signals);
	options_init(&own, &verify_table, &v);
	TRY(options_split(&own, argc, argv, rest, &n, err));
	if (own.help) {
		options_print_help(&verify_table, stdout);
		goto out;
	}
	if (launcher_detect(&by)) {
		FAIL(err, ERR_USAGE, "kolm verify starts its ranks itself, not under %s",
		     by.name);
		st = HINT(err, "leave mpirun or srun out");
		goto out;
	}
	for (int i = 0; i < 2; i++) {
		TRY(folder_make_temporary(&folders[i], "verify", err));
		TRY(train(n, rest, i == 1, folders[i].path, &resolved, err));
	}
	snprintf(grid, sizeof(grid), "dp %d x pp %d x mp %d", resolved.grid.dp,
		 resolved.grid.pp, resolved.grid.mp);
	TRY(compare(&v, grid, folders, err));
out:
	for (int i = 0; i < 2; i++)
		folder_remove_temporary(&folders[i]);
	signals_let_go(&signals);
	free(rest);
	return st;
}
