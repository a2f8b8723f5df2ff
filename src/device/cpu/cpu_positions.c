/* cpu_positions.c - learned positions: threads share the rows, or for the gradient the
   positions, so that every sum is taken by one thread in one order. */
#include "base/util.h"
#include "device/cpu/cpu.h"
#include "device/cpu/pieces.h"

#include <assert.h>

struct positions_job {
	struct cpu *cpu;
	const struct positions *p;
};

static struct view table_of(const struct positions *p)
{
	return (struct view){p->table, (size_t)p->columns, p->type};
}

/* Columns [c, c + n) of a row of some matrix, as floats. */
static float *piece_of(const struct kernels *k, struct view v, int64_t row, int c, int n,
		       float *room)
{
	return widen(k, view_from(v, (size_t)row).data, (size_t)c, v.type, (size_t)n, room);
}

static void add_part(void *arg, int part, int parts)
{
	const struct positions_job *job = arg;
	const struct positions *p = job->p;
	const struct kernels *k = job->cpu->kernels;
	float *scratch = scratch_of(job->cpu, part);
	int end = (int)part_begin(p->rows, part + 1, parts);

	for (int r = (int)part_begin(p->rows, part, parts); r < end; r++)
		for (int c = 0; c < p->columns; c += PIECE) {
			int n = imin(PIECE, p->columns - c);
			float *y = piece_of(k, p->y, r, c, n, scratch);

			k->add(y,
			       piece_of(k, table_of(p), (p->first + r) % p->length, c, n,
					scratch + PIECE),
			       n);
			narrow(k, y, view_from(p->y, (size_t)r).data, (size_t)c, p->y.type,
			       (size_t)n);
		}
}

static void gradient_piece(const struct positions_job *job, int position, int c, int n,
			   float *scratch)
{
	const struct positions *p = job->p;
	const struct kernels *k = job->cpu->kernels;
	float *sum = scratch, *room = scratch + PIECE;
	int64_t r = (position - p->first % p->length + p->length) % p->length;

	memset(sum, 0, (size_t)n * sizeof(*sum));
	for (; r < p->rows; r += p->length)
		k->add(sum, piece_of(k, p->y, r, c, n, room), n);
	if (p->accumulate)
		k->add(sum, piece_of(k, table_of(p), position, c, n, room), n);
	put(k, sum, view_from(table_of(p), (size_t)position).data, (size_t)c, p->type,
	    (size_t)n);
}

static void gradient_part(void *arg, int part, int parts)
{
	const struct positions_job *job = arg;
	const struct positions *p = job->p;
	int end = (int)part_begin(p->length, part + 1, parts);

	for (int i = (int)part_begin(p->length, part, parts); i < end; i++)
		for (int c = 0; c < p->columns; c += PIECE)
			gradient_piece(job, i, c, imin(PIECE, p->columns - c),
				       scratch_of(job->cpu, part));
}

static void run(struct device *dev, const struct positions *p, void (*part)(void *, int, int))
{
	struct positions_job job = {cpu_of(dev), p};

	assert(job.cpu->scratch);
	pool_run(job.cpu->pool, part, &job);
}

void cpu_add_positions(struct device *dev, const struct positions *p)
{
	run(dev, p, add_part);
}

void cpu_positions_gradient(struct device *dev, const struct positions *p)
{
	run(dev, p, gradient_part);
}
