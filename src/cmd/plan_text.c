/* plan_text.c - kolm plan: what was found, as text. */
#include "cmd/plan.h"

#include <math.h>
#include <stdio.h>

static const double GIB = 1024.0 * 1024 * 1024;
/* Of a front, what is faster by less is not shown. */
static const double shown = 0.01;

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
		"%10.1f %10s %10.0f %4.1f %% %5.1f %% %6.1f %% %7.2f  %5d %4d %4d %5d  %-14s %s%s",
		f->step * 1e3, simulated, forecast_tokens_per_s(f, s),
		forecast_mfu(f, s, c) * 100, forecast_bubble(f) * 100, exposed(f) * 100,
		f->memory / GIB, s->dp, s->pp, s->tp, s->micro_batch,
		s->pp > 1 ? schedule : "-", setup_recompute_names[s->recompute],
		s->sequence_parallel ? ", sequence parallel" : "");
	if (s->zero)
		text_addf(out, ", zero %d", s->zero);
	text_add(out, "\n");
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

static void add_memory(struct text *out, const struct forecast *f)
{
	const struct forecast_memory *m = &f->parts;

	text_addf(
		out,
		"%10s stage %d: parameters %.2f, gradients %.2f, optimizer %.2f, activations %.2f, "
		"reserved %.2f GiB\n",
		"", f->fullest, m->parameters / GIB, m->gradients / GIB, m->optimizer / GIB,
		m->activations / GIB, m->reserved / GIB);
}

static void add_sensitivities(struct text *out, const struct plan *p)
{
	text_add(out, "\nThe first, where a constant is a tenth larger:\n");
	for (int i = 0; i < CLUSTER_CONSTANT_COUNT; i++) {
		double change = plan_sensitivity(p, (enum cluster_constant)i);

		if (change != 0)
			text_addf(out, "  %-17s %10.6g %+7.2f %%\n",
				  cluster_constant_name((enum cluster_constant)i),
				  p->cluster.constants[i], change * 100);
	}
}

/* The less memory the slower; what fits and what does not. */
static void add_front(struct text *out, const struct plan *p)
{
	const struct search *r = &p->search;
	double last = INFINITY;
	bool fits = true;

	text_addf(out, "\nNothing is faster with less memory (steps of %.0f %%):\n",
		  shown * 100);
	add_heading(out);
	for (int i = 0; i < r->front_count; i++) {
		const struct forecast *f = &r->front[i].forecast;

		if (f->step > last * (1 - shown))
			continue;
		last = f->step;
		if (fits && f->memory > p->space.memory)
			text_addf(out, "%10s more than %.4g GiB:\n", "", p->space.memory / GIB);
		fits = f->memory <= p->space.memory;
		add_found(out, &r->front[i], &p->cluster);
	}
}

static void add_devices(struct text *out, const struct plan *p)
{
	text_addf(out, "\nThe fastest with fewer devices, and what a step costs:\n%7s %13s ",
		  "devices", "device-s/step");
	add_heading(out);
	for (int i = 0; i < p->device_count; i++) {
		const struct search_found *found = &p->devices[i];

		text_addf(out, "%7d %13.2f ", found->setup.gpus,
			  found->forecast.step * found->setup.gpus);
		add_found(out, found, &p->cluster);
	}
}

static void add_too_large(struct text *out, const struct plan *p)
{
	const struct search *r = &p->search;

	if (!r->too_large_count)
		return;
	text_add(out, "\nFaster, but too large; the smallest of them:\n");
	add_heading(out);
	for (int i = 0; i < r->too_large_count; i++) {
		add_found(out, &r->too_large[i], &p->cluster);
		add_memory(out, &r->too_large[i].forecast);
	}
}

void plan_text_add(struct text *out, const struct plan *p, const struct plan_settings *o)
{
	const struct search *r = &p->search;

	text_addf(
		out,
		"%.4g G parameters on %d devices of %s with %.4g GiB: %lld ways, %lld fit (%.3g ways/s)\n\n",
		p->outline.parameters / 1e9, p->space.setup.gpus, p->cluster.name,
		p->space.memory / GIB, (long long)r->tried, (long long)r->fits,
		search_speed(r));
	add_heading(out);
	for (int i = 0; i < r->best_count; i++)
		add_found(out, &r->best[i], &p->cluster);
	if (o->explain)
		plan_explain_add(out, p);
	else
		add_parts(out, &r->best[0].forecast);
	if (o->sensitivity)
		add_sensitivities(out, p);
	switch ((enum plan_pareto)o->pareto) {
	case PLAN_PARETO_NONE:
		break;
	case PLAN_PARETO_MEMORY:
		add_front(out, p);
		break;
	case PLAN_PARETO_DEVICES:
		add_devices(out, p);
		break;
	}
	add_too_large(out, p);
}
