/* breakdown.c - see breakdown.h */
#include "trace/breakdown.h"
#include "base/stats.h"
#include "schedule/timeline.h"

#include <math.h>
#include <stdlib.h>

/* Differences below these shares are noise, nobody's fault. */
#define SLOWER_BY    0.05
#define WORTH_NAMING 0.03

static double ms_of(int64_t ns, int64_t steps)
{
	return steps ? (double)ns * 1e-6 / (double)steps : 0;
}

/* The lower one, of an even number. */
static double middle(double *values, int n)
{
	statistics_of(values, n); /* sorts them */
	return values[(n - 1) / 2];
}

/* What an operation takes on the middle rank. */
static double middle_cost(const struct engine_times *times, int n, int kind, double *work)
{
	for (int i = 0; i < n; i++)
		work[i] = times[i].kind_count[kind] ? (double)times[i].kind_ns[kind] * 1e-6 /
							      (double)times[i].kind_count[kind]
						    : 0;
	return middle(work, n);
}

/* Idle time of every stage, if all of them were like the middle one. */
static enum status ideal_bubbles(const struct engine_times *times, int n,
				 const struct schedule *s, double *idle, double *work,
				 struct error *err)
{
	struct costs c = {.f = middle_cost(times, n, RECORD_FORWARD, work),
			  .b = middle_cost(times, n, RECORD_BACKWARD, work),
			  .w = middle_cost(times, n, RECORD_WEIGHT, work),
			  .send_early = true};
	struct timeline t;
	enum status st;

	if (c.b == 0)
		c.b = middle_cost(times, n, RECORD_INPUT, work) + c.w;
	c.f *= s->chunks; /* costs are those of a stage */
	c.b *= s->chunks;
	c.w *= s->chunks;
	TRY(timeline_simulate(&t, s, &c, err));
	for (int i = 0; i < s->stages; i++)
		idle[i] = t.makespan_ms - t.totals[i].busy_ms;
	timeline_release(&t);
out:
	return st;
}

static struct breakdown split(const struct engine_times *t, double idle)
{
	struct breakdown b = {.step = ms_of(t->step, t->steps),
			      .compute = ms_of(t->compute, t->steps),
			      .comm = ms_of(t->comm, t->steps)};
	double lost = ms_of(t->lost, t->steps);

	b.bubble = fmin(lost, idle);
	b.imbalance = lost - b.bubble;
	b.other = fmax(0, b.step - b.compute - b.comm - lost);
	return b;
}

static void add_up(struct breakdowns *b)
{
	struct breakdown *m = &b->mean;

	for (int i = 0; i < b->n; i++) {
		m->step += b->ranks[i].step / b->n;
		m->compute += b->ranks[i].compute / b->n;
		m->comm += b->ranks[i].comm / b->n;
		m->bubble += b->ranks[i].bubble / b->n;
		m->imbalance += b->ranks[i].imbalance / b->n;
		m->other += b->ranks[i].other / b->n;
	}
}

/* The rank that takes longest without waiting, if that makes the others wait. */
static void find_straggler(struct breakdowns *b, double *work)
{
	double usual, most = 0;

	b->straggler = -1;
	for (int i = 0; i < b->n; i++) {
		work[i] = b->ranks[i].compute + b->ranks[i].other;
		if (work[i] > most) {
			most = work[i];
			b->straggler = i;
		}
	}
	usual = middle(work, b->n);
	b->excess_ms = most - usual;
	if (b->excess_ms < SLOWER_BY * usual ||
	    b->mean.imbalance < WORTH_NAMING * b->mean.step || b->n == 1)
		b->straggler = -1;
}

static void find_bubble(struct breakdowns *b, const struct engine_times *times)
{
	struct longest longest = {0};

	for (int i = 0; i < b->n; i++)
		if (times[i].window > 0)
			longest_add(&longest, (double)times[i].window,
				    1 - (double)times[i].actions / (double)times[i].window);
	b->bubble = longest.idle;
}

enum status breakdowns_init(struct breakdowns *b, const struct engine_times *times, int n,
			    const struct schedule *schedule, int stages, struct error *err)
{
	double *work = calloc((size_t)n + 1, sizeof(*work));
	double *idle = calloc((size_t)stages, sizeof(*idle));
	enum status st = OK;

	*b = (struct breakdowns){.n = n, .straggler = -1};
	b->ranks = calloc((size_t)n, sizeof(*b->ranks));
	if (!work || !idle || !b->ranks) {
		st = FAIL(err, ERR_MEMORY, "no memory to add up the times of %d ranks", n);
		goto out;
	}
	if (stages > 1)
		TRY(ideal_bubbles(times, n, schedule, idle, work, err));
	for (int i = 0; i < n; i++)
		b->ranks[i] = split(&times[i], idle[i / (n / stages)]);
	add_up(b);
	find_straggler(b, work);
	if (stages > 1)
		find_bubble(b, times);
out:
	free(work);
	free(idle);
	if (st != OK)
		breakdowns_release(b);
	return st;
}

void breakdowns_release(struct breakdowns *b)
{
	free(b->ranks);
	*b = (struct breakdowns){.straggler = -1};
}
