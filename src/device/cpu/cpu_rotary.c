/*
 * cpu_rotary.c - rotary positions, cut in positions for the threads: the angles of one are
 * computed once, for all heads of all rows that have it.
 */
#include "base/util.h"
#include "device/cpu/cpu.h"
#include "device/cpu/pieces.h"

#include <assert.h>
#include <math.h>

struct rotary_job {
	struct cpu *cpu;
	const struct rotary *rotary;
};

/* In a thread's scratch memory. */
struct angles {
	double *turns;		/* (half) that a position more is */
	float *sines, *cosines; /* (half) of one position */
	float *room;		/* PIECE */
};

static struct angles angles_in(float *scratch, const struct rotary *r)
{
	struct angles a = {.turns = (double *)scratch,
			   .sines = scratch + PIECE,
			   .cosines = scratch + 2 * PIECE,
			   .room = scratch + 3 * PIECE};

	assert(r->width <= PIECE);
	for (int i = 0; i < r->width / 2; i++)
		a.turns[i] = pow((double)r->theta, -2.0 * i / r->width) / (2 * M_PI);
	return a;
}

/* As many heads at a time as a piece holds. */
static void rotate_row(const struct rotary_job *job, int row, const struct angles *angles)
{
	const struct kernels *k = job->cpu->kernels;
	const struct rotary *r = job->rotary;
	struct view x = view_from(r->x, (size_t)row);
	int most = PIECE / r->width * r->width, columns = r->heads * r->width;

	for (int c = 0; c < columns; c += most) {
		size_t n = (size_t)imin(most, columns - c);
		float *values = widen(k, x.data, (size_t)c, x.type, n, angles->room);

		for (size_t i = 0; i < n; i += (size_t)r->width)
			k->rotate(values + i, angles->sines, angles->cosines, r->width / 2);
		narrow(k, values, x.data, (size_t)c, x.type, n);
	}
}

static void rotate_part(void *arg, int part, int parts)
{
	const struct rotary_job *job = arg;
	const struct rotary *r = job->rotary;
	struct angles angles = angles_in(scratch_of(job->cpu, part), r);
	int positions = imin(r->length, r->rows), half = r->width / 2;
	int end = (int)part_begin(positions, part + 1, parts);

	for (int p = (int)part_begin(positions, part, parts); p < end; p++) {
		job->cpu->kernels->rotary_angles(angles.turns, r->first + p, half, angles.sines,
						 angles.cosines);
		for (int i = 0; i < half && r->back; i++)
			angles.sines[i] = -angles.sines[i];
		for (int row = p; row < r->rows; row += r->length)
			rotate_row(job, row, &angles);
	}
}

void cpu_rotate(struct device *dev, const struct rotary *r)
{
	struct rotary_job job = {cpu_of(dev), r};

	assert(job.cpu->scratch);
	pool_run(job.cpu->pool, rotate_part, &job);
}
