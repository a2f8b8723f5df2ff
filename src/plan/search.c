/* search.c - see search.h */
#include "plan/search.h"
#include "base/clock.h"
#include "base/util.h"
#include "plan/keep.h"
#include "plan/simulate.h"
#include "plan/stage.h"

#include <math.h>

void search_space_init(struct search_space *space)
{
	*space = (struct search_space){.schedule = SEARCH_ANY,
				       .recompute = SEARCH_ANY,
				       .spread = SEARCH_ANY,
				       .zero = SEARCH_ANY};
}

/* A search under way. */
struct walk {
	struct search *r;
	const struct search_space *space;
	const struct cluster *c;
	bool again; /* for what would be faster than the best, which is known by then */
	struct outline outline;
	struct stage_kinds kinds;
	struct search_grid *grid;
	struct setup s;
};

/* How the closed forms come about must hold: interleaved goes in rounds of pp micro-batches,
   and zb-h1 has weight gradients to fill its bubble with. */
static bool is_covered(const struct setup *s, bool wanted)
{
	int m = setup_micro_batches(s);

	switch (s->schedule) {
	case SCHEDULE_NAIVE:
	case SCHEDULE_GPIPE:
		return wanted && s->pp > 1; /* 1f1b takes as long with less memory */
	case SCHEDULE_1F1B:
		return true;
	case SCHEDULE_INTERLEAVED:
		return s->pp > 1 && m % s->pp == 0;
	case SCHEDULE_ZB_H1:
		return s->pp > 1 && m >= 2 * s->pp;
	}
	return false;
}

static void try(struct walk *w)
{
	struct search *r = w->r;
	struct search_found found = {.setup = w->s, .simulated = NAN};
	struct forecast *f = &found.forecast;
	bool fits;

	forecast_with(f, &w->s, w->c, &w->kinds);
	r->forecasts++;
	fits = f->memory <= w->space->memory;
	if (!w->again) {
		r->tried++;
		r->fits += fits;
		found.rank = f->step;
		if (fits)
			keep_least(r->best, &r->best_count, SEARCH_TOP_MAX, &found);
		keep_grid(w->grid, &found, fits);
		keep_front(r->front, &r->front_count, &found);
	} else if (!fits && (!r->best_count || f->step < r->best[0].forecast.step)) {
		found.rank = f->memory;
		keep_least(r->too_large, &r->too_large_count, w->space->top, &found);
	}
}

static void try_schedules(struct walk *w)
{
	struct setup *s = &w->s;
	int only = w->space->schedule, zero = w->space->zero;

	for (int kind = 0; kind < SCHEDULE_KIND_COUNT; kind++) {
		bool cut = kind == SCHEDULE_INTERLEAVED;
		int most = cut ? imin(imax(SEARCH_CHUNKS_MAX, w->space->setup.chunks),
				      s->layers / s->pp)
			       : 1;

		s->schedule = (enum schedule_kind)kind;
		if ((only != SEARCH_ANY && only != kind) || !is_covered(s, only == kind))
			continue;
		for (s->chunks = cut ? 2 : 1; s->chunks <= most; s->chunks++) {
			if (w->space->setup.chunks && w->space->setup.chunks != s->chunks)
				continue;
			for (s->zero = 0; s->zero <= (s->dp > 1 ? SEARCH_ZERO_MAX : 0);
			     s->zero++)
				if (zero == SEARCH_ANY || zero == s->zero)
					try(w);
		}
	}
}

/* Is this value wanted, and does it divide the whole? */
static bool is_wanted(int wanted, int value, int whole)
{
	return (!wanted || wanted == value) && whole % value == 0;
}

/* The grid of the setup, which is new the first time that somebody asks for it. */
static struct search_grid *grid_of(struct search *r, const struct setup *s)
{
	struct search_grid *g = r->grids;

	while (g < r->grids + r->grid_count && (g->pp != s->pp || g->tp != s->tp))
		g++;
	if (g == r->grids + SEARCH_GRIDS_MAX)
		return NULL;
	if (g == r->grids + r->grid_count) {
		*g = (struct search_grid){.dp = s->dp,
					  .pp = s->pp,
					  .tp = s->tp,
					  .step = INFINITY,
					  .least = INFINITY};
		r->grid_count++;
	}
	return g;
}

/* All grids for layers split so many ways and a micro-batch, of which the parts of a stage are
   known. */
static void try_grids(struct walk *w)
{
	struct setup *s = &w->s;
	int ways = s->gpus / s->tp;

	for (s->pp = 1; s->pp <= imin(ways, s->layers); s->pp++) {
		if (!is_wanted(w->space->setup.pp, s->pp, ways))
			continue;
		s->dp = ways / s->pp;
		if (!is_wanted(w->space->setup.dp, s->dp, s->global_batch) ||
		    s->global_batch / s->dp % s->micro_batch)
			continue;
		w->grid = w->again ? NULL : grid_of(w->r, s);
		stage_kinds_set_message(&w->kinds, s, w->c);
		try_schedules(w);
	}
}

/* What can be chosen where the outline is known. */
static void try_micro_batches(struct walk *w)
{
	struct setup *s = &w->s;

	for (s->micro_batch = 1; s->micro_batch <= s->global_batch; s->micro_batch++) {
		if (!is_wanted(w->space->setup.micro_batch, s->micro_batch, s->global_batch))
			continue;
		for (int recompute = 0; setup_recompute_names[recompute]; recompute++) {
			if (w->space->recompute != SEARCH_ANY &&
			    w->space->recompute != recompute)
				continue;
			s->recompute = (enum setup_recompute)recompute;
			stage_kinds_init(&w->kinds, &w->outline, s, w->c);
			try_grids(w);
		}
	}
}

/* Can layers be split so many ways? */
static bool is_split(const struct setup *s)
{
	struct error ignored = {0};

	return s->gpus % s->tp == 0 && setup_check_split(s, &ignored) == OK;
}

static enum status try_all(struct walk *w, struct error *err)
{
	struct setup *s = &w->s;
	enum status st = OK;

	*s = w->space->setup;
	for (s->tp = 1; s->tp <= imin(s->gpus, s->heads); s->tp++) {
		if ((w->space->setup.tp && w->space->setup.tp != s->tp) || !is_split(s))
			continue;
		for (int spread = 0; spread <= (s->tp > 1 && s->context % s->tp == 0);
		     spread++) {
			if (w->space->spread != SEARCH_ANY && w->space->spread != spread)
				continue;
			s->sequence_parallel = spread;
			TRY(outline_init(&w->outline, s, err));
			try_micro_batches(w);
		}
	}
out:
	return st;
}

/* Twice: only the second time it is known what would look better than the best. */
enum status search_run(struct search *r, const struct search_space *space,
		       const struct cluster *c, struct error *err)
{
	struct walk w = {.r = r, .space = space, .c = c};
	double begin = clock_ms();
	enum status st;

	r->tried = r->fits = r->forecasts = 0;
	r->best_count = r->too_large_count = r->grid_count = r->front_count = 0;
	TRY(try_all(&w, err));
	if (r->fits < r->tried) {
		w.again = true;
		TRY(try_all(&w, err));
	}
	r->seconds = (clock_ms() - begin) * 1e-3;
out:
	return st;
}

enum status search_devices(struct search_found found[SEARCH_COUNTS_MAX], int *count,
			   const struct search_space *space, const struct cluster *c,
			   struct search *work, struct error *err)
{
	struct search_space part = *space;
	enum status st = OK;

	*count = 0;
	part.top = 1;
	for (int64_t gpus = 1;; gpus *= 2) {
		part.setup.gpus = (int)min64(gpus, space->setup.gpus);
		TRY(search_run(work, &part, c, err));
		if (work->best_count &&
		    (!*count || work->best[0].forecast.step < found[*count - 1].forecast.step))
			found[(*count)++] = work->best[0];
		if (gpus >= space->setup.gpus)
			break;
	}
out:
	return st;
}

/* In the order of the closed form, until no other can be the best any more, or until it has
   taken long enough. */
enum status search_simulate(struct search *r, const struct cluster *c, int top,
			    struct error *err)
{
	int64_t forwards = 0;
	int count = 0;
	enum status st = OK;

	for (int i = 0; i < r->best_count; i++) {
		struct search_found found = r->best[i];

		if (i >= top && (found.forecast.step * (1 - SEARCH_MARGIN) > r->best[0].rank ||
				 forwards > SEARCH_FORWARDS))
			break;
		forwards += simulate_forwards(&found.setup);
		TRY(simulate_step(&found.simulated, &found.forecast, &found.setup, c, err));
		found.rank = isnan(found.simulated) ? found.forecast.step : found.simulated;
		keep_least(r->best, &count, i + 1, &found); /* never beyond those read */
	}
	r->best_count = imin(count, top);
out:
	return st;
}
