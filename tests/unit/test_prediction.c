/*
 * test_prediction.c - what a step should take, from trials of its parts of which some were
 * disturbed: the estimate of every part, and the step that is put together from them.
 */
#include "testing.h"

#include "base/stats.h"
#include "engine/impl.h"
#include "engine/predict_impl.h"

enum { TRIALS_MAX = 60, GRID_MAX = 16, ROW_MAX = 128, ROUNDS = 300 };

/* Undisturbed trials of a part differ by so much at most. */
#define SPREAD 0.05

static struct error err;

static double random_double(struct random *r, double low, double high)
{
	return low + (high - low) * random_int(r, 0, 1 << 20) / (double)(1 << 20);
}

static double estimate(const double *values, int n, int which)
{
	double rows[COSTS_COUNT];

	costs_estimate(values, n, 1, rows);
	return rows[which];
}

static void quantiles_are_between_their_neighbours(void **state)
{
	static const double values[] = {1, 2, 4, 8};
	(void)state;

	assert_true(quantile_of(values, 4, 0) == 1);
	assert_true(quantile_of(values, 4, 1) == 8);
	assert_true(fabs(quantile_of(values, 4, 0.5) - 3) < 1e-12);
	assert_true(fabs(quantile_of(values, 4, 1. / 3) - 2) < 1e-12);
	assert_true(fabs(quantile_of(values, 4, 3. / 4) - 5) < 1e-12);
	assert_true(quantile_of(values, 1, 0.3) == 1);
}

/* Low, likely and high are in that order, within what was seen; what is always the same stays
   so, as numbers of buckets have to. */
static void estimates_lie_within_the_trials(void **state)
{
	struct random r = random_start("estimates");
	(void)state;

	for (int round = 0; round < ROUNDS; round++) {
		double values[TRIALS_MAX], sorted[TRIALS_MAX], same[TRIALS_MAX];
		int n = random_int(&r, 1, TRIALS_MAX), number = random_int(&r, 0, 1000);

		for (int i = 0; i < n; i++) {
			sorted[i] = values[i] = random_double(&r, 0, 10);
			same[i] = number;
		}
		statistics_of(sorted, n);
		assert_true(estimate(values, n, COSTS_LOW) == sorted[0]);
		assert_true(estimate(values, n, COSTS_LOW) <=
			    estimate(values, n, COSTS_LIKELY));
		assert_true(estimate(values, n, COSTS_LIKELY) <=
			    estimate(values, n, COSTS_HIGH));
		assert_true(estimate(values, n, COSTS_HIGH) <= sorted[n - 1]);
		for (int which = 0; which < COSTS_COUNT; which++)
			assert_true(estimate(same, n, which) == number);
	}
}

/* ---- a step of random ranks ---- */

struct plan {
	struct engine e;
	struct model model;
	struct schedule schedule;
	int n; /* trials */
	/* (n) of every rank, each a row, as they would be; and with some of them disturbed */
	double calm[GRID_MAX][TRIALS_MAX * ROW_MAX], rough[GRID_MAX][TRIALS_MAX * ROW_MAX];
};

/* As much of an engine as predictions look at: pipelines of replicas, with buckets. */
static void random_engine(struct random *r, struct plan *p, struct device *dev)
{
	struct engine *e = &p->e;
	int kind = random_int(r, 0, SCHEDULE_KIND_COUNT - 1);
	int chunks = schedule_chunks((enum schedule_kind)kind, 0);
	int pp = random_int(r, chunks > 1 ? 2 : 1, 4);

	p->model = (struct model){.count = pp * chunks + random_int(r, 0, 6)};
	*e = (struct engine){.dev = dev, .n_chunks = chunks};
	e->options.model = &p->model;
	e->options.grid = (struct grid){.dp = random_int(r, 1, 4), .pp = pp, .mp = 1};
	e->options.micro_batches = random_int(r, 1, 8);
	e->options.clip = random_int(r, 0, 1);
	e->options.base = kind != SCHEDULE_ZB_H1 && random_int(r, 0, 3) == 0;
	e->sync.overlap = !e->options.base;
	e->sync.zero = e->options.grid.dp > 1 && random_int(r, 0, 1);
	assert_int_equal(schedule_init(&p->schedule, (enum schedule_kind)kind, pp,
				       e->options.micro_batches, chunks, &err),
			 OK);
	e->options.schedule = &p->schedule;
	assert_true(cost_row_size(e) <= ROW_MAX);
}

/* What the parts of a rank really take. */
static void random_costs(struct random *r, const struct engine *e, double *row)
{
	struct cost_row at = cost_row_at(e, row, 0);

	memset(row, 0, cost_row_size(e) * sizeof(*row));
	*at.rank = (struct rank_costs){.squares = random_double(r, 0, 1),
				       .update = random_double(r, 0, 5),
				       .exchange = random_double(r, 0, 0.1)};
	for (int k = 0; k < e->n_chunks; k++) {
		double w = random_double(r, 1, 10);

		at.parts[k] = (struct part_cost){.f = random_double(r, 1, 10),
						 .b = w + random_double(r, 1, 10),
						 .w = w,
						 .forward.latency = random_double(r, 0, 2),
						 .backward.latency = random_double(r, 0, 2)};
	}
	if (e->options.grid.dp == 1)
		return;
	at.rank->buckets = 1;
	at.buckets[0] = (struct bucket_cost){.sum = random_double(r, 1, 10),
					     .share = random_double(r, 1, 10)};
}

/* Trials of all parts of a rank; of each number a third is disturbed, other trials each time
   or the same ones for all. */
static void random_trials(struct random *r, struct plan *p, int rank, bool moments)
{
	size_t size = cost_row_size(&p->e);
	double costs[ROW_MAX];
	int same = random_int(r, 0, p->n - 1);
	/* Counts are no times: nothing disturbs them. */
	size_t fixed = offsetof(struct rank_costs, buckets) / sizeof(double);

	random_costs(r, &p->e, costs);
	for (size_t i = 0; i < size; i++) {
		int first = moments ? same : random_int(r, 0, p->n - 1);

		for (int k = 0; k < p->n; k++) {
			double *calm = &p->calm[rank][(size_t)k * size + i];
			double *rough = &p->rough[rank][(size_t)k * size + i];
			bool hit = (k - first + p->n) % p->n < p->n / 3;

			*calm = i == fixed ? costs[i]
					   : costs[i] * (1 + random_double(r, 0, SPREAD));
			*rough = i == fixed || !hit ? *calm : *calm * random_double(r, 1, 10);
		}
	}
}

static double mean_of(const double *trials, int n, size_t size, size_t i)
{
	double sum = 0;

	for (int k = 0; k < n; k++)
		sum += trials[(size_t)k * size + i];
	return sum / n;
}

/* The step of ranks that each have had these trials; which: an estimate, or -1: the mean. */
static double step_of(const struct plan *p, double trials[][TRIALS_MAX * ROW_MAX], int which)
{
	size_t size = cost_row_size(&p->e);
	double rows[GRID_MAX * ROW_MAX], own[COSTS_COUNT * ROW_MAX], ms, bubble;

	for (int rank = 0; rank < grid_size(&p->e.options.grid); rank++) {
		costs_estimate(trials[rank], p->n, size, own);
		for (size_t i = 0; i < size; i++)
			rows[(size_t)rank * size + i] =
				which < 0 ? mean_of(trials[rank], p->n, size, i)
					  : own[(size_t)which * size + i];
	}
	assert_int_equal(engine_compose(&p->e, rows, false, &ms, &bubble, &err), OK);
	return ms;
}

/*
 * A third of the trials of every part takes 1 to 10 times as long, on every rank, in moments
 * or anywhere: the predicted step becomes longer by less than 5 %. That of the means, for
 * comparison, becomes longer by half and more.
 */
static void disturbed_trials_do_not_become_the_prediction(void **state)
{
	struct random r = random_start("disturbed trials");
	struct device_options o = {.threads = 1};
	struct plan *p = calloc(1, sizeof(*p));
	double means = 0, worst = 0;
	struct device *dev;
	(void)state;

	assert_non_null(p);
	assert_int_equal(device_open(&dev, "cpu", &o, &err), OK);
	for (int round = 0; round < ROUNDS; round++) {
		double calm, rough;

		random_engine(&r, p, dev);
		p->n = random_int(&r, 3, TRIALS_MAX);
		for (int rank = 0; rank < grid_size(&p->e.options.grid); rank++)
			random_trials(&r, p, rank, round % 2);
		calm = step_of(p, p->calm, COSTS_LIKELY);
		rough = step_of(p, p->rough, COSTS_LIKELY);
		assert_true(fabs(rough / calm - 1) < SPREAD);
		assert_true(step_of(p, p->calm, COSTS_LOW) <= rough);
		assert_true(step_of(p, p->rough, COSTS_HIGH) >= rough);
		worst = fmax(worst, rough / calm - 1);
		means += (step_of(p, p->rough, -1) / step_of(p, p->calm, -1) - 1) / ROUNDS;
		schedule_release(&p->schedule);
	}
	printf("the prediction moved by %.1f %% at most, that of means by %.0f %% on average\n",
	       worst * 100, means * 100);
	assert_true(means > 0.5);
	device_close(dev);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_are_between_their_neighbours),
		cmocka_unit_test(estimates_lie_within_the_trials),
		cmocka_unit_test(disturbed_trials_do_not_become_the_prediction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
