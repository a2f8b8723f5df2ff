/* verify_report.c - what kolm verify says; see verify.h */
#include "cmd/verify.h"
#include "base/json.h"

#include <stdio.h>

static const char *const measures[MEASURES] = {
	[MEASURE_LOSS] = "loss",
	[MEASURE_WEIGHT] = "weights",
	[MEASURE_GRADIENT] = "gradient",
	[MEASURE_SCALE] = "norms so far of the gradient",
	[MEASURE_MOVED] = "way of the weights",
};

const char *verify_grid(const struct verify *v, char *text, size_t size)
{
	snprintf(text, size, "dp %d x pp %d x mp %d", v->setup.grid.dp, v->setup.grid.pp,
		 v->setup.grid.mp);
	return text;
}

/* The tensor of a finding, or "" where it is about all of them. */
static const char *tensor_of(const struct verify *v, const struct finding *f)
{
	bool one = f->measure >= MEASURE_GRADIENT && f->tensor < v->grid.tensors;

	return one && !f->skipped ? v->one.weights.entries[f->tensor].name : "";
}

static const char *measure_of(const struct finding *f)
{
	return f->skipped ? "skipped" : measures[f->measure];
}

static void put_controls(struct json *j, const struct verify *v)
{
	json_put_int(j, "controls", v->controls);
	if (!v->controls)
		return;
	json_put_double(j, "control_loss_rel", distance_most(&v->reach, MEASURE_LOSS));
	json_put_double(j, "control_weight_rel", distance_most(&v->reach, MEASURE_WEIGHT));
	if (v->first_control.beyond)
		json_put_int(j, "control_first_step", v->first_control.step);
	json_put_double(j, "unit_roundoff", v->setup.unit);
	json_put_double(j, "noise", v->setup.noise);
	json_put_string(j, "other_order", v->setup.reorder);
}

static void print_json(const struct verify *v)
{
	static const char *const names[] = {"same", "rounding", "different"};
	char grid[64];
	struct json j;

	json_init(&j, true);
	json_begin_object(&j, NULL);
	json_put_double(&j, "loss_rel", distance_most(&v->grid, MEASURE_LOSS));
	json_put_double(&j, "weight_rel", distance_most(&v->grid, MEASURE_WEIGHT));
	json_put_string(&j, "where", v->where);
	json_put_bool(&j, "ok", v->verdict != VERDICT_DIFFERENT);
	json_put_string(&j, "verdict", names[v->verdict]);
	json_put_double(&j, "loss_tolerance", v->loss_allowed);
	json_put_double(&j, "weight_tolerance", v->weight_allowed);
	if (v->first.beyond) {
		json_put_int(&j, "first_step", v->first.step);
		json_put_string(&j, "first_measure", measure_of(&v->first));
		json_put_string(&j, "first_tensor", tensor_of(v, &v->first));
		json_put_double(&j, "first_excess", v->first.excess);
	}
	put_controls(&j, v);
	if (v->setup.init_scale > 0)
		json_put_double(&j, "init_scale", v->setup.init_scale);
	json_put_string(&j, "precision", precision_names[v->setup.type]);
	json_put_string(&j, "grid", verify_grid(v, grid, sizeof(grid)));
	json_put_int(&j, "steps", v->one.count);
	json_end_object(&j);
	fputs(j.text.data, stdout);
	json_release(&j);
}

/* What was allowed, and from what. */
static void print_controls(const struct verify *v)
{
	const struct finding *f = &v->first;
	const struct setup *s = &v->setup;

	if (!f->skipped)
		printf("  step %d: %s%s%s is %.2g times as far off as %s\n", f->step,
		       measures[f->measure], *tensor_of(v, f) ? " of " : "", tensor_of(v, f),
		       f->excess,
		       v->verdict == VERDICT_ROUNDING ? "the contract for fp32 has it"
						      : "allowed");
	printf("  allowed: %g times what rounding does to one rank, %g times for a tensor alone. "
	       "Results in %s of up to %d terms are good to %.2g; so much noise in each, ",
	       CONTROLS_TIMES, ALONE_TIMES, precision_names[s->type], s->terms, s->noise);
	if (*s->reorder)
		printf("or another order of sums (%s), ", s->reorder);
	printf("moves losses by %.2g, weights by %.2g in %d runs",
	       distance_most(&v->reach, MEASURE_LOSS), distance_most(&v->reach, MEASURE_WEIGHT),
	       v->controls);
	if (v->first_control.beyond)
		printf(", beyond that contract from step %d on", v->first_control.step);
	printf("\n");
}

static void print_text(const struct verify *v)
{
	static const char *const names[] = {"the same run", "the same run up to rounding",
					    "NOT the same run"};
	bool located = v->verdict == VERDICT_DIFFERENT && v->controls;
	char grid[64];

	printf("%s against one rank, %d steps: losses differ by %.2g (allowed %.2g), weights by "
	       "%.2g (allowed %.2g)%s%s: %s\n",
	       verify_grid(v, grid, sizeof(grid)), v->one.count,
	       distance_most(&v->grid, MEASURE_LOSS), v->loss_allowed,
	       distance_most(&v->grid, MEASURE_WEIGHT), v->weight_allowed,
	       located	   ? "; first at "
	       : *v->where ? "; most at "
			   : "",
	       v->where, names[v->verdict]);
	if (v->controls)
		print_controls(v);
	if (v->setup.init_scale > 0)
		printf("  both from --init-scale %g on: with a larger one they skip other steps\n",
		       v->setup.init_scale);
}

void verify_print(const struct verify *v)
{
	if (v->as_json)
		print_json(v);
	else
		print_text(v);
}
