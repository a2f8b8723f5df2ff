/* metrics.c - see metrics.h */
#include "trace/metrics.h"
#include "base/json.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum status metrics_init(struct metrics *m, int first, int steps, int warmup, struct error *err)
{
	size_t n = (size_t)steps + 1;

	*m = (struct metrics){
		.first = first, .first_loss = NAN, .capacity = steps, .warmup = warmup};
	m->losses = calloc(n, sizeof(double));
	m->ms = calloc(n, sizeof(double));
	m->sorted = calloc(n, sizeof(double));
	if (m->losses && m->ms && m->sorted)
		return OK;
	metrics_release(m);
	return FAIL(err, ERR_MEMORY, "no memory for the metrics of %d steps", steps);
}

void metrics_release(struct metrics *m)
{
	free(m->losses);
	free(m->ms);
	free(m->sorted);
	*m = (struct metrics){0};
}

double metrics_first_loss(const struct metrics *m)
{
	return m->first || !m->count ? m->first_loss : m->losses[0];
}

void metrics_add(struct metrics *m, const struct step_metrics *s)
{
	assert(m->count < m->capacity);
	m->losses[m->count] = s->loss;
	m->skipped += s->skipped;
	m->ms[m->count++] = s->ms;
}

void metrics_put_best(struct json *j, const struct best_evaluation *b)
{
	json_begin_object(j, "best");
	json_put_int(j, "step", b->step);
	json_put_double(j, "loss", b->loss);
	if (!isnan(b->accuracy))
		json_put_double(j, "accuracy", b->accuracy);
	json_end_object(j);
}

struct statistics metrics_step_ms(const struct metrics *m)
{
	int first = m->count > m->warmup ? m->warmup : 0, n = m->count - first;

	memcpy(m->sorted, m->ms + first, (size_t)n * sizeof(*m->ms));
	return statistics_of(m->sorted, n);
}
