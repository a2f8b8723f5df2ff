/* plan_setups.h - for tests of kolm plan: random ways to train, built-in clusters. */
#ifndef KOLM_TESTS_PLAN_SETUPS_H
#define KOLM_TESTS_PLAN_SETUPS_H

#include "testing.h"

#include "plan/cluster.h"
#include "plan/forecast.h"
#include "plan/setup.h"

static struct error err;

static inline void expect_near(double got, double want, double tolerance, const char *what)
{
	if (!(fabs(got - want) <= tolerance * fabs(want)))
		fail_msg("%s: %.12g, should be %.12g", what, got, want);
}

static inline struct setup random_setup(struct random *rng)
{
	int tp = 1 << random_int(rng, 0, 3), heads = tp * random_int(rng, 1, 4);
	struct setup s = {.heads = heads,
			  .hidden = heads * 8 * random_int(rng, 1, 8),
			  .context = tp * random_int(rng, 1, 40),
			  .vocab = random_int(rng, 8, 999),
			  .tp = tp,
			  .dp = random_int(rng, 1, 3),
			  .pp = random_int(rng, 1, 4),
			  .chunks = 1,
			  .micro_batch = random_int(rng, 1, 4),
			  .schedule = SCHEDULE_1F1B,
			  .sequence_parallel = random_int(rng, 0, 1),
			  .recompute = (enum setup_recompute)random_int(rng, 0, 2)};

	s.layers = s.pp * random_int(rng, 1, 3) + random_int(rng, 0, 1);
	s.gpus = s.dp * s.tp * s.pp;
	s.global_batch = s.dp * s.micro_batch * random_int(rng, 1, 9);
	return s;
}

static inline struct outline outline_of(const struct setup *s)
{
	struct outline o;

	if (outline_init(&o, s, fresh(&err)) != OK)
		fail_msg("%s", err.msg);
	return o;
}

static inline struct forecast forecast_of(const struct setup *s, const struct cluster *c)
{
	struct forecast f;

	if (forecast_make(&f, s, c, fresh(&err)) != OK)
		fail_msg("%s", err.msg);
	return f;
}

static inline struct cluster builtin(const char *name)
{
	struct cluster c;

	if (cluster_find(&c, name, fresh(&err)) != OK)
		fail_msg("%s: %s", name, err.msg);
	return c;
}

#endif
