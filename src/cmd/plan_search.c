/* plan_search.c - kolm plan: the fastest ways to train a model, and why others do not fit. */
#include "cmd/plan.h"
#include "base/file.h"
#include "base/json.h"
#include "plan/search.h"
#include "plan/simulate.h"

#include <stdio.h>
#include <stdlib.h>

static const double GIB = 1024.0 * 1024 * 1024;

static void add_heading(struct text *out)
{
	text_addf(out, "%10s %10s %10s %6s %7s %8s %7s  %5s %4s %4s %5s  %-14s %-9s\n",
		  "step ms", "simulated", "tokens/s", "MFU", "bubble", "exposed", "GiB", "dp",
		  "pp", "mp", "micro", "schedule", "recompute");
}

/* Communication that nothing hides, as a share of the step. */
static double exposed(const struct forecast *f)
{
	return (f->sums + f->messages + f->gradients) / f->step;
}

static void add_found(struct text *out, const struct search_found *found,
		      const struct cluster *c)
{
	const struct setup *s = &found->setup;
	const struct forecast *f = &found->forecast;
	char schedule[32], simulated[32] = "-";

	if (found->simulated > 0)
		snprintf(simulated, sizeof(simulated), "%.1f", found->simulated * 1e3);
	snprintf(schedule, sizeof(schedule), s->chunks > 1 ? "%s %d" : "%s",
		 schedule_name(s->schedule), s->chunks);
	text_addf(
		out,
		"%10.1f %10s %10.0f %4.1f %% %5.1f %% %6.1f %% %7.2f  %5d %4d %4d %5d  %-14s %s%s%s\n",
		f->step * 1e3, simulated, forecast_tokens_per_s(f, s),
		forecast_mfu(f, s, c) * 100, forecast_bubble(f) * 100, exposed(f) * 100,
		f->memory / GIB, s->dp, s->pp, s->tp, s->micro_batch,
		s->pp > 1 ? schedule : "-", setup_recompute_names[s->recompute],
		s->sequence_parallel ? ", sequence parallel" : "", s->zero ? ", zero 1" : "");
}

static void add_parts(struct text *out, const struct forecast *f)
{
	text_addf(
		out,
		"\nThe first: %.1f ms work, %.1f tensor-parallel sums, %.1f messages, %.1f filling and draining,\n"
		"%.1f gradient sums, %.1f update; stage %d is the fullest.\n",
		f->work * 1e3, f->sums * 1e3, f->messages * 1e3, f->fill * 1e3,
		f->gradients * 1e3, f->update * 1e3, f->fullest);
}

static void add_memory(struct text *out, const struct search_found *found,
		       const struct cluster *c)
{
	struct forecast_memory m;

	forecast_memory(&m, &found->setup, c, found->forecast.fullest);
	text_addf(
		out,
		"%10s stage %d: parameters %.2f, gradients %.2f, optimizer %.2f, activations %.2f, "
		"reserved %.2f GiB\n",
		"", found->forecast.fullest, m.parameters / GIB, m.gradients / GIB,
		m.optimizer / GIB, m.activations / GIB, m.reserved / GIB);
}

/* How much longer a step takes, as a share, where a constant is a tenth larger. */
static double sensitivity(const struct search_found *found, const struct cluster *c,
			  enum cluster_constant which)
{
	struct cluster changed = *c;
	struct forecast f;

	changed.constants[which] *= 1.1;
	forecast_make(&f, &found->setup, &changed);
	return f.step / found->forecast.step - 1;
}

static void add_sensitivities(struct text *out, const struct search_found *found,
			      const struct cluster *c)
{
	text_add(out, "\nThe first, where a constant is a tenth larger:\n");
	for (int i = 0; i < CLUSTER_CONSTANT_COUNT; i++) {
		double change = sensitivity(found, c, (enum cluster_constant)i);

		if (change != 0)
			text_addf(out, "  %-17s %10.6g %+7.2f %%\n",
				  cluster_constant_name((enum cluster_constant)i),
				  c->constants[i], change * 100);
	}
}

static void put_sensitivities(struct json *j, const struct search_found *found,
			      const struct cluster *c)
{
	json_begin_object(j, "sensitivity");
	for (int i = 0; i < CLUSTER_CONSTANT_COUNT; i++)
		json_put_double(j, cluster_constant_name((enum cluster_constant)i),
				sensitivity(found, c, (enum cluster_constant)i));
	json_end_object(j);
}

static void print_text(struct text *out, const struct search *r,
		       const struct search_space *space, const struct cluster *c,
		       bool sensitive)
{
	text_addf(
		out,
		"%.4g G parameters on %d devices of %s with %.4g GiB: %lld ways, %lld fit\n\n",
		setup_all_parameters(&space->setup) / 1e9, space->setup.gpus, c->name,
		space->memory / GIB, (long long)r->tried, (long long)r->fits);
	if (r->best_count)
		add_heading(out);
	for (int i = 0; i < r->best_count; i++)
		add_found(out, &r->best[i], c);
	if (r->best_count)
		add_parts(out, &r->best[0].forecast);
	if (sensitive)
		add_sensitivities(out, &r->best[0], c);
	if (!r->too_large_count)
		return;
	text_add(out, "\nFaster, but too large; the smallest of them:\n");
	add_heading(out);
	for (int i = 0; i < r->too_large_count; i++) {
		add_found(out, &r->too_large[i], c);
		add_memory(out, &r->too_large[i], c);
	}
}

static void put_found(struct json *j, const struct search_found *found, const struct cluster *c)
{
	const struct setup *s = &found->setup;
	const struct forecast *f = &found->forecast;
	struct forecast_memory m;

	forecast_memory(&m, s, c, f->fullest);
	json_begin_object(j, NULL);
	json_put_int(j, "dp", s->dp);
	json_put_int(j, "pp", s->pp);
	json_put_int(j, "mp", s->tp);
	json_put_int(j, "micro_batch_size", s->micro_batch);
	json_put_string(j, "schedule", schedule_name(s->schedule));
	json_put_int(j, "chunks", s->chunks);
	json_put_string(j, "recompute", setup_recompute_names[s->recompute]);
	json_put_bool(j, "sequence_parallel", s->sequence_parallel);
	json_put_int(j, "zero", s->zero);
	json_put_double(j, "step_ms", f->step * 1e3);
	if (found->simulated > 0)
		json_put_double(j, "simulated_ms", found->simulated * 1e3);
	json_put_double(j, "tokens_per_s", forecast_tokens_per_s(f, s));
	json_put_double(j, "mfu", forecast_mfu(f, s, c));
	json_put_double(j, "bubble", forecast_bubble(f));
	json_put_double(j, "work_ms", f->work * 1e3);
	json_put_double(j, "sums_ms", f->sums * 1e3);
	json_put_double(j, "messages_ms", f->messages * 1e3);
	json_put_double(j, "fill_ms", f->fill * 1e3);
	json_put_double(j, "gradients_ms", f->gradients * 1e3);
	json_put_double(j, "update_ms", f->update * 1e3);
	json_put_double(j, "mem_gib", f->memory / GIB);
	json_put_int(j, "fullest_stage", f->fullest);
	json_put_double(j, "parameters_gib", m.parameters / GIB);
	json_put_double(j, "gradients_gib", m.gradients / GIB);
	json_put_double(j, "optimizer_gib", m.optimizer / GIB);
	json_put_double(j, "activations_gib", m.activations / GIB);
	json_put_double(j, "reserved_gib", m.reserved / GIB);
	json_end_object(j);
}

static void put_json(struct json *j, const struct search *r, const struct search_space *space,
		     const struct cluster *c, bool sensitive)
{
	json_begin_object(j, NULL);
	json_put_string(j, "cluster", c->name);
	json_put_double(j, "parameters", setup_all_parameters(&space->setup));
	json_put_double(j, "memory_gib", space->memory / GIB);
	json_put_int(j, "tried", r->tried);
	json_put_int(j, "fit", r->fits);
	if (sensitive)
		put_sensitivities(j, &r->best[0], c);
	json_begin_array(j, "best");
	for (int i = 0; i < r->best_count; i++)
		put_found(j, &r->best[i], c);
	json_end_array(j);
	json_begin_array(j, "too_large");
	for (int i = 0; i < r->too_large_count; i++)
		put_found(j, &r->too_large[i], c);
	json_end_array(j);
	json_end_object(j);
}

static enum status nothing_fits(const struct search *r, const struct search_space *space,
				struct error *err)
{
	if (!r->tried) {
		FAIL(err, ERR_USAGE, "there is no grid of %d devices for that model and batch",
		     space->setup.gpus);
		return HINT(err,
			    "mp must divide --heads, dp times the micro-batch --batch, and "
			    "pp be at most --layers");
	}
	FAIL(err, ERR_FAILED, "none of %lld ways fits into %.4g GiB", (long long)r->tried,
	     space->memory / GIB);
	return HINT(err, "the smallest needs %.4g GiB: give more --gpus or --memory",
		    r->too_large[0].forecast.memory / GIB);
}

static enum status draw(const char *path, const struct search_found *found,
			const struct cluster *c, struct error *err)
{
	const struct setup *s = &found->setup;
	struct timeline t;
	struct text svg;
	char title[160];
	enum status st;

	if (!simulate_can(s))
		return FAIL(err, ERR_USAGE,
			    "a pipeline of %d stages and %d micro-batches is too "
			    "much to draw",
			    s->pp, setup_micro_batches(s));
	text_init(&svg);
	TRY(simulate_run(&t, s, c, err));
	snprintf(title, sizeof(title),
		 "one pipeline of dp %d, pp %d, mp %d: %s, %d micro-batches of %d", s->dp,
		 s->pp, s->tp, schedule_name(s->schedule), setup_micro_batches(s),
		 s->micro_batch);
	timeline_draw_svg(&t, title, &svg);
	timeline_release(&t);
	st = svg.failed ? FAIL(err, ERR_MEMORY, "no memory to draw the pipeline")
			: file_write_whole(path, svg.data, svg.len, err);
out:
	text_release(&svg);
	return st;
}

enum status plan_search(const struct plan_settings *o, struct error *err)
{
	struct search_space space = {.setup = o->setup, .top = o->top};
	struct search *r = malloc(sizeof(*r));
	struct cluster cluster;
	struct json json;
	enum status st;

	json_init(&json, true);
	if (!r) {
		st = FAIL(err, ERR_MEMORY, "no memory to search");
		goto out;
	}
	TRY(cluster_find(&cluster, o->cluster, err));
	TRY(cluster_set(&cluster, o->set, err));
	space.memory = o->memory ? (double)o->memory : cluster.constants[CLUSTER_MEMORY] * GIB;
	search_run(r, &space, &cluster);
	if (!r->best_count) {
		st = nothing_fits(r, &space, err);
		goto out;
	}
	TRY(search_simulate(r, &cluster, err));
	if (*o->svg)
		TRY(draw(o->svg, &r->best[0], &cluster, err));
	if (o->as_json)
		put_json(&json, r, &space, &cluster, o->sensitivity);
	else
		print_text(&json.text, r, &space, &cluster, o->sensitivity);
	if (json.text.failed)
		st = FAIL(err, ERR_MEMORY, "no memory to show what was found");
	else
		fputs(json.text.data, stdout);
out:
	json_release(&json);
	free(r);
	return st;
}
