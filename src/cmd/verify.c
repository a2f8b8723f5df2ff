/*
 * verify.c - kolm verify: the same run on one rank and on a grid, how far apart they are, and
 * whether that is rounding.
 */
#include "cmd/verify.h"
#include "base/signals.h"
#include "base/util.h"
#include "cmd/cmd.h"
#include "config/config.h"
#include "launch/launch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* clang-format off */
static const struct option options[] = {
	{"loss-tolerance", .group = "Options", .type = OPTION_FLOAT, .meta = "X",
	 .offset = offsetof(struct verify, loss_tolerance), .initial = "1e-05", .min = 0, .max = 1,
	 .help = "largest relative difference of a step's loss; if it is not given, beyond it as far as "
	 "rounding takes one rank"},
	{"weight-tolerance", .group = "Options", .type = OPTION_FLOAT, .meta = "X",
	 .offset = offsetof(struct verify, weight_tolerance), .initial = "0.0001", .min = 0, .max = 1,
	 .help = "largest difference of a final weight, relative to the largest of its tensor; likewise"},
	{"bitwise", .group = "Options", .type = OPTION_FLAG, .offset = offsetof(struct verify, bitwise),
	 .initial = "false", .help = "no tolerance: all bits of losses, gradients, norms, weights and the optimizer's state, as --as-if "
	 "promises them (without it: as if on the grid itself); where one differs, which sum that comes from"},
	{"json", .group = "Options", .type = OPTION_FLAG, .offset = offsetof(struct verify, as_json),
	 .initial = "false", .help = "print one JSON document instead of text"},
};

static const char *const examples[] = {
	"kolm verify --dp 2 --pp 2 --mp 2 --micro-batches 4",
	"kolm verify --pp 4 --schedule zb-h1 --micro-batches 8 --optimizer adamw",
	"kolm verify --bitwise --dp 4 --mp 2 --pp 2 --micro-batches 2",
	"kolm verify --dp 4 --precision bf16 --inject rank=2,scale=1.1   # can it fail?",
	NULL,
};
/* clang-format on */

const struct option_table verify_table = {
	.command = "verify",
	.usage = "kolm verify [options of kolm train] [options]",
	.summary =
		"Train on one rank and on the given grid, and compare losses, gradients and weights. "
		"Where they differ, tell rounding from error: one rank in another order of sums, and "
		"with noise of the size of rounding, shows how far rounding goes. Or, --bitwise, have "
		"every bit the same. 20 steps unless --steps says otherwise. Exit code 1 if it is "
		"not the same run.",
	.options = options,
	.count = ARRAY_SIZE(options),
	.examples = examples,
	.passes_on = &config_table,
};

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

/* ---- telling rounding from error ---- */

/* What is the same run without more ado: DESIGN's contract for fp32. The way of the weights
   follows from the rest. */
static struct limits contract_of(const struct verify *v)
{
	return (struct limits){.contract = {[MEASURE_LOSS] = v->loss_tolerance,
					    [MEASURE_WEIGHT] = v->weight_tolerance,
					    [MEASURE_GRADIENT] = 1e-5,
					    [MEASURE_SCALE] = 1e-5,
					    [MEASURE_MOVED] = INFINITY},
			       .noise = v->setup.noise};
}

/* What is the same run up to rounding. */
static struct limits limits_of(const struct verify *v)
{
	struct limits l = contract_of(v);

	l.contract[MEASURE_MOVED] = 0;
	l.reach = &v->reach;
	return l;
}

static struct finding judge_grid(const struct verify *v, const struct limits *l)
{
	struct finding f = judge(&v->grid, l);

	if (!f.beyond && v->grid.parted < v->grid.steps && !(l->reach && v->parted_too))
		f = (struct finding){.beyond = true, .skipped = true, .step = v->grid.parted};
	return f;
}

static enum status add_control(struct verify *v, struct variant how, struct error *err)
{
	struct outcome o = {0};
	struct distance d = {0};
	struct limits contract = contract_of(v);
	struct finding f;
	enum status st;

	how.alone = true;
	TRY(run_variant(&v->setup, &how, &o, err));
	TRY(distance_init(&d, &v->one, &o, err));
	if (!v->reach.values)
		TRY(distance_init(&v->reach, &v->one, &v->one, err));
	reach_add(&v->reach, &d);
	v->parted_too |= d.parted == v->grid.parted && d.parted < o.count;
	f = judge(&d, &contract);
	if (f.beyond && (!v->first_control.beyond || f.step < v->first_control.step))
		v->first_control = f;
out:
	distance_release(&d);
	outcome_release(&o);
	return st;
}

/* Many runs that say nothing: somebody who looks sees how many. */
static void count_control(struct verify *v)
{
	v->controls++;
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\rhow far does rounding take one rank: run %d of at most %d",
			v->controls, DRAWS_MOST + (*v->setup.reorder != '\0'));
}

static bool beyond_given(const struct verify *v)
{
	return (v->loss_given &&
		!(distance_most(&v->grid, MEASURE_LOSS) <= v->loss_tolerance)) ||
	       (v->weight_given &&
		!(distance_most(&v->grid, MEASURE_WEIGHT) <= v->weight_tolerance));
}

static struct finding judge_reach(const struct verify *v)
{
	struct limits l = limits_of(v);

	return judge_grid(v, &l);
}

/* What tips a rectifier in one order tips it in another now and then only: draw until there is
   a run that did the same. Up to the step in question is enough to see that. */
static enum status draw_more(struct verify *v, struct finding *f, struct error *err)
{
	enum status st = OK;

	for (int draw = DRAWS_FIRST + 1; draw <= DRAWS_MOST && f->beyond; draw++) {
		int step = f->step;

		TRY(add_control(v, (struct variant){.draw = draw, .until = step + 1}, err));
		*f = judge_reach(v);
		count_control(v);
		if (f->beyond && f->step == step)
			continue;
		TRY(add_control(v, (struct variant){.draw = draw}, err));
		*f = judge_reach(v);
	}
out:
	return st;
}

/* Beyond the contract: how far do runs on one rank go? */
static enum status explain(struct verify *v, struct error *err)
{
	struct limits l;
	struct finding f;
	enum status st = OK;

	if (*v->setup.reorder) {
		TRY(add_control(v, (struct variant){.reordered = true}, err));
		count_control(v);
	}
	for (int draw = 1; draw <= DRAWS_FIRST; draw++) {
		TRY(add_control(v, (struct variant){.draw = draw}, err));
		count_control(v);
	}
	f = judge_reach(v);
	TRY(draw_more(v, &f, err));
	l = limits_of(v);
	v->verdict = VERDICT_ROUNDING;
	if (!v->loss_given)
		v->loss_allowed = limit_at(&l, MEASURE_LOSS, 0, v->reach.steps - 1);
	if (!v->weight_given)
		v->weight_allowed = limit_at(&l, MEASURE_WEIGHT, 0, v->reach.steps - 1);
	if (f.beyond) {
		v->verdict = VERDICT_DIFFERENT;
		v->first = f;
	}
out:
	return st;
}

/* ---- where it is ---- */

static void describe(struct verify *v, bool moved, const struct outcome *one,
		     const struct outcome *many)
{
	bool of_one = v->first.measure >= MEASURE_GRADIENT && v->first.tensor < v->grid.tensors;
	struct difference p = {0};

	distance_find(moved ? &one->weights : &one->gradients,
		      moved ? &many->weights : &many->gradients,
		      of_one ? one->weights.entries[v->first.tensor].name : "", &p);
	snprintf(v->where, sizeof(v->where), "step %d, %s%s[%zu]: %.9g, on one rank %.9g",
		 v->first.step, moved ? "" : "gradient of ", p.tensor, p.element,
		 p.many / (moved ? 1 : many->last_scale),
		 p.one / (moved ? 1 : one->last_scale));
}

/* Both again up to the step in question, and the element that differs most there. */
static enum status locate(struct verify *v, struct error *err)
{
	struct variant how = {.until = v->first.step + 1, .gradients = true};
	bool moved = v->first.measure == MEASURE_MOVED || v->first.measure == MEASURE_WEIGHT;
	struct outcome one = {0}, many = {0};
	enum status st;

	TRY(run_variant(&v->setup, &how, &many, err));
	how.alone = true;
	TRY(run_variant(&v->setup, &how, &one, err));
	if (v->first.skipped)
		snprintf(v->where, sizeof(v->where),
			 "step %d, gradients that are not finite %s", v->first.step,
			 one.skipped[v->first.step] ? "on one rank only" : "on the grid only");
	else
		describe(v, moved, &one, &many);
out:
	outcome_release(&one);
	outcome_release(&many);
	return st;
}

/* The largest difference of what is furthest beyond its tolerance, or nearest to it. */
static void note_largest(struct verify *v)
{
	double loss = distance_most(&v->grid, MEASURE_LOSS);
	double weight = distance_most(&v->grid, MEASURE_WEIGHT);
	int step = 0;

	if (loss == 0 && weight == 0)
		return;
	if (weight / fmax(v->weight_allowed, 1e-30) > loss / fmax(v->loss_allowed, 1e-30)) {
		snprintf(v->where, sizeof(v->where), "%s[%zu]", v->grid.worst_tensor->name,
			 v->grid.worst);
		return;
	}
	while (*distance_at(&v->grid, MEASURE_LOSS, 0, step) < loss)
		step++;
	snprintf(v->where, sizeof(v->where), "loss of step %d", step);
}

static enum status conclude(const struct verify *v, struct error *err)
{
	char grid[64];

	verify_print(v);
	if (v->verdict != VERDICT_DIFFERENT)
		return OK;
	FAIL(err, ERR_FAILED, "%s is not the run of one rank: %s",
	     verify_grid(v, grid, sizeof(grid)), v->where);
	if (!v->controls)
		return HINT(err, "or the tolerance that was given is too small");
	return HINT(err, "this is not rounding: none of %d runs on one rank did it",
		    v->controls);
}

/* The grid and one rank, once more if need be. */
static enum status run_both(struct verify *v, struct error *err)
{
	enum status st;

	distance_release(&v->grid);
	outcome_release(&v->one);
	outcome_release(&v->many);
	TRY(run_variant(&v->setup, &(struct variant){0}, &v->many, err));
	TRY(run_variant(&v->setup, &(struct variant){.alone = true}, &v->one, err));
	TRY(check_finite(&v->one, err));
	TRY(distance_init(&v->grid, &v->one, &v->many, err));
out:
	return st;
}

static enum status verify(struct verify *v, struct error *err)
{
	struct limits contract;
	double scale;
	enum status st;

	TRY(run_both(v, err));
	scale = fmin(v->one.last_scale, v->many.last_scale);
	if (v->grid.parted < v->grid.steps && scale < v->one.first_scale) {
		/* What overflows hangs on where a sum is cut: compare where nothing does. */
		v->setup.init_scale = scale;
		TRY(run_both(v, err));
	}
	contract = contract_of(v);
	v->loss_allowed = v->loss_tolerance;
	v->weight_allowed = v->weight_tolerance;
	v->first = judge_grid(v, &contract);
	if (beyond_given(v))
		v->verdict = VERDICT_DIFFERENT;
	else if (v->first.beyond)
		TRY(explain(v, err));
	note_largest(v);
	if (v->controls && isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
	if (v->controls && v->verdict == VERDICT_DIFFERENT)
		TRY(locate(v, err));
	TRY(conclude(v, err));
out:
	return st;
}

enum status cmd_verify(int argc, char *const *argv, struct error *err)
{
	enum status st;
	struct verify v = {0};
	struct option_values own;
	struct launcher by;
	sigset_t signals;
	char **rest = calloc((size_t)argc + 1, sizeof(*rest));

	if (!rest)
		return FAIL(err, ERR_MEMORY, "no memory to start");
	signals_hold(&signals);
	options_init(&own, &verify_table, &v);
	TRY(options_split(&own, argc, argv, rest, &v.setup.argc, err));
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
	v.setup.argv = rest;
	v.loss_given = options_source(&own, "loss-tolerance") != SOURCE_DEFAULT;
	v.weight_given = options_source(&own, "weight-tolerance") != SOURCE_DEFAULT;
	TRY(v.bitwise ? verify_bits(&v, err) : verify(&v, err));
out:
	distance_release(&v.reach);
	distance_release(&v.grid);
	outcome_release(&v.one);
	outcome_release(&v.many);
	signals_let_go(&signals);
	free(rest);
	return st;
}
