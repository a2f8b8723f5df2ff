/* plan.c - see plan.h */
#include "plan/plan.h"
#include "plan/simulate.h"

#include <stdlib.h>

static const double GIB = 1024.0 * 1024 * 1024;

static enum status nothing_fits(const struct plan *p, struct error *err)
{
	const struct search *r = &p->search;

	if (!r->tried) {
		FAIL(err, ERR_USAGE, "there is no grid of %d devices for that model and batch",
		     p->space.setup.gpus);
		return HINT(err,
			    "mp must divide --heads, dp times the micro-batch --batch, and "
			    "pp be at most --layers");
	}
	FAIL(err, ERR_FAILED, "none of %lld ways fits into %.4g GiB", (long long)r->tried,
	     p->space.memory / GIB);
	return HINT(err, "the smallest needs %.4g GiB: give more --gpus or --memory",
		    r->too_large[0].forecast.memory / GIB);
}

static enum status look_for_fewer(struct plan *p, struct error *err)
{
	struct search *work = malloc(sizeof(*work));
	enum status st;

	if (!work)
		return FAIL(err, ERR_MEMORY, "no memory to search");
	st = search_devices(p->devices, &p->device_count, &p->space, &p->cluster, work, err);
	free(work);
	return st;
}

enum status plan_create(struct plan **out, const struct search_space *space,
			const struct cluster *c, bool devices, struct error *err)
{
	struct plan *p = calloc(1, sizeof(*p));
	enum status st;

	if (!p)
		return FAIL(err, ERR_MEMORY, "no memory to search");
	p->space = *space;
	p->cluster = *c;
	TRY(search_run(&p->search, space, c, err));
	if (!p->search.best_count) {
		st = nothing_fits(p, err);
		goto out;
	}
	TRY(search_simulate(&p->search, c, space->top, err));
	TRY(outline_init(&p->outline, &p->search.best[0].setup, err));
	if (simulate_can(&p->search.best[0].setup))
		TRY(explanation_init(&p->first, &p->search.best[0].setup, c, err));
	if (devices)
		TRY(look_for_fewer(p, err));
	*out = p;
	p = NULL; /* the caller's now */
out:
	plan_free(p);
	return st;
}

void plan_free(struct plan *p)
{
	if (!p)
		return;
	explanation_release(&p->first);
	free(p);
}

double plan_sensitivity(const struct plan *p, enum cluster_constant which)
{
	const struct setup *s = &p->search.best[0].setup;
	struct cluster changed = p->cluster;
	struct forecast before, after;

	changed.constants[which] *= 1.1;
	forecast_from(&before, &p->outline, s, &p->cluster);
	forecast_from(&after, &p->outline, s, &changed);
	return after.step / before.step - 1;
}
