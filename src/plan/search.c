/* search.c - see search.h */
#include "plan/search.h"
#include "base/util.h"
#include "plan/simulate.h"

#include <math.h>

/* Keep the least of them, in order; of equal ones the first. */
static void keep(struct search_found *list, int *count, int top,
		 const struct search_found *found)
{
	int at = *count;

	while (at > 0 && list[at - 1].rank > found->rank)
		at--;
	if (at == top)
		return;
	if (*count < top)
		++*count;
	for (int i = *count - 1; i > at; i--)
		list[i] = list[i - 1];
	list[at] = *found;
}

/* How the closed forms come about must hold: interleaved goes in rounds of pp micro-batches,
   and zb-h1 has weight gradients to fill its bubble with. */
static bool is_covered(const struct setup *s)
{
	int m = setup_micro_batches(s);

	switch (s->schedule) {
	case SCHEDULE_NAIVE:
	case SCHEDULE_GPIPE:
		return false; /* 1f1b takes as long with less memory */
	case SCHEDULE_1F1B:
		return true;
	case SCHEDULE_INTERLEAVED:
		return s->pp > 1 && m % s->pp == 0;
	case SCHEDULE_ZB_H1:
		return s->pp > 1 && m >= 2 * s->pp;
	}
	return false;
}

static void try(struct search *r, const struct search_space *space, const struct cluster *c,
		const struct setup *s, bool again)
{
	struct search_found found = {.setup = *s};
	struct error err = {0};
	bool fits;

	if (!is_covered(s) || setup_check(s, &err) != OK)
		return;
	forecast_make(&found.forecast, s, c);
	fits = found.forecast.memory <= space->memory;
	if (!again) {
		r->tried++;
		r->fits += fits;
		found.rank = found.forecast.step;
		if (fits)
			keep(r->best, &r->best_count, space->top, &found);
	} else if (!fits &&
		   (!r->best_count || found.forecast.step < r->best[0].forecast.step)) {
		found.rank = found.forecast.memory;
		keep(r->too_large, &r->too_large_count, space->top, &found);
	}
}

/* All that can be chosen for a grid and a micro-batch. */
static void try_choices(struct search *r, const struct search_space *space,
			const struct cluster *c, struct setup s, bool again)
{
	for (int recompute = 0; setup_recompute_names[recompute]; recompute++)
		for (int spread = 0; spread <= (s.tp > 1); spread++)
			for (s.zero = 0; s.zero <= (s.dp > 1 ? SEARCH_ZERO_MAX : 0); s.zero++) {
				s.recompute = (enum setup_recompute)recompute;
				s.sequence_parallel = spread;
				try(r, space, c, &s, again);
			}
}

static void try_schedules(struct search *r, const struct search_space *space,
			  const struct cluster *c, struct setup s, bool again)
{
	for (int kind = 0; kind < SCHEDULE_KIND_COUNT; kind++) {
		bool cut = kind == SCHEDULE_INTERLEAVED;
		int most = cut ? imin(SEARCH_CHUNKS_MAX, s.layers / s.pp) : 1;

		s.schedule = (enum schedule_kind)kind;
		for (s.chunks = cut ? 2 : 1; s.chunks <= most; s.chunks++)
			try_choices(r, space, c, s, again);
	}
}

/* Is this value wanted, and does it divide the whole? */
static bool is_wanted(int wanted, int value, int whole)
{
	return whole % value == 0 && (!wanted || wanted == value);
}

static void try_grid(struct search *r, const struct search_space *space,
		     const struct cluster *c, struct setup s, bool again)
{
	int wanted = space->setup.micro_batch;

	s.dp = s.gpus / s.tp / s.pp;
	if (!is_wanted(space->setup.dp, s.dp, s.global_batch))
		return;
	for (int rows = s.global_batch / s.dp, size = 1; size <= rows; size++)
		if (is_wanted(wanted, size, rows)) {
			s.micro_batch = size;
			try_schedules(r, space, c, s, again);
		}
}

static void try_all(struct search *r, const struct search_space *space, const struct cluster *c,
		    bool again)
{
	struct setup s = space->setup;

	for (s.tp = 1; s.tp <= imin(s.gpus, s.heads); s.tp++)
		for (s.pp = 1; s.pp <= imin(s.gpus / s.tp, s.layers); s.pp++)
			if (is_wanted(space->setup.tp, s.tp, s.heads) && s.gpus % s.tp == 0 &&
			    is_wanted(space->setup.pp, s.pp, s.gpus / s.tp))
				try_grid(r, space, c, s, again);
}

/* Twice: only the second time it is known what would look better than the best. */
void search_run(struct search *r, const struct search_space *space, const struct cluster *c)
{
	*r = (struct search){.tried = 0};
	try_all(r, space, c, false);
	try_all(r, space, c, true);
}

static enum status simulate(struct search_found *found, const struct cluster *c,
			    struct error *err)
{
	const struct forecast *f = &found->forecast;
	struct timeline t;
	enum status st;

	found->simulated = NAN;
	found->rank = f->step;
	if (!simulate_can(&found->setup))
		return OK;
	st = simulate_run(&t, &found->setup, c, err);
	if (st != OK)
		return st;
	found->simulated = t.makespan_ms * 1e-3 + f->gradients + f->update;
	found->rank = found->simulated;
	timeline_release(&t);
	return OK;
}

enum status search_simulate(struct search *r, const struct cluster *c, struct error *err)
{
	int count = 0;
	enum status st = OK;

	for (int i = 0; i < r->best_count; i++) {
		struct search_found found = r->best[i];

		TRY(simulate(&found, c, err));
		keep(r->best, &count, i + 1, &found); /* never beyond those that were read */
	}
out:
	return st;
}
