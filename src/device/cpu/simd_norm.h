/*
 * simd_norm.h - layer norm and rms norm; part of simd.c. A piece is short enough for sums in
 * float: what they lose, the second pass of norm_spread finds (see cpu_norm.c).
 */
#ifndef KOLM_DEVICE_CPU_SIMD_NORM_H
#define KOLM_DEVICE_CPU_SIMD_NORM_H

#include "device/cpu/kernels.h"
#include "device/cpu/simd.h"

enum { SUMS = 4 }; /* at a time: an addition takes four cycles */

INLINE double sum_of_sums(const vec *sum)
{
	return (double)vec_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

static double simd_norm_sum(const struct norm_piece *p)
{
	vec sum[SUMS] = {{0}};
	double rest = 0;
	int i = 0;

	for (; i + SUMS * VL <= p->n; i += SUMS * VL) {
		UNROLL
		for (int j = 0; j < SUMS; j++)
			sum[j] += load(p->x + i + j * VL);
	}
	for (; i < p->n; i++)
		rest += (double)p->x[i];
	return rest + sum_of_sums(sum);
}

static void simd_norm_spread(const struct norm_piece *p, double sums[2])
{
	vec sum[SUMS] = {{0}}, squares[SUMS] = {{0}};
	struct norm_piece rest = *p;
	int i = 0;

	for (; i + SUMS * VL <= p->n; i += SUMS * VL) {
		UNROLL
		for (int j = 0; j < SUMS; j++) {
			vec away = load(p->x + i + j * VL) - p->mean;

			sum[j] += away;
			squares[j] += away * away;
		}
	}
	sums[0] += sum_of_sums(sum);
	sums[1] += sum_of_sums(squares);
	rest.x += i;
	rest.n -= i;
	kernels_reference.norm_spread(&rest, sums);
}

/* Behind the last whole vector: fewer than VL columns, from i on, as the reference has it. */
static struct norm_piece rest_of(const struct norm_piece *p, int i)
{
	struct norm_piece rest = *p;

	rest.n -= i;
	rest.x += i;
	if (p->dy)
		rest.dy += i;
	if (p->weight)
		rest.weight += i;
	if (p->bias)
		rest.bias += i;
	if (p->out)
		rest.out += i;
	return rest;
}

static void simd_norm_forward(const struct norm_piece *p)
{
	struct norm_piece rest;
	int i = 0;

	for (; i + VL <= p->n; i += VL) {
		vec y = (load(p->x + i) - p->mean) * p->factor * load(p->weight + i);

		store(p->out + i, p->bias ? y + load(p->bias + i) : y);
	}
	rest = rest_of(p, i);
	kernels_reference.norm_forward(&rest);
}

static void simd_norm_sums(const struct norm_piece *p, double sums[2])
{
	vec sum[SUMS] = {{0}}, products[SUMS] = {{0}};
	struct norm_piece rest;
	int i = 0;

	for (; i + SUMS * VL <= p->n; i += SUMS * VL) {
		UNROLL
		for (int j = 0; j < SUMS; j++) {
			int at = i + j * VL;
			vec g = load(p->dy + at) * load(p->weight + at);

			sum[j] += g;
			products[j] += g * ((load(p->x + at) - p->mean) * p->factor);
		}
	}
	sums[0] += sum_of_sums(sum);
	sums[1] += sum_of_sums(products);
	rest = rest_of(p, i);
	kernels_reference.norm_sums(&rest, sums);
}

static void simd_norm_input(const struct norm_piece *p, const float means[2])
{
	struct norm_piece rest;
	int i = 0;

	for (; i + VL <= p->n; i += VL) {
		vec normed = (load(p->x + i) - p->mean) * p->factor;
		vec g = load(p->dy + i) * load(p->weight + i);

		store(p->out + i, (g - means[0] - normed * means[1]) * p->factor);
	}
	rest = rest_of(p, i);
	kernels_reference.norm_input(&rest, means);
}

static void simd_norm_weight(const struct norm_piece *p, float *dweight, float *dbias)
{
	struct norm_piece rest;
	int i = 0;

	for (; i + VL <= p->n; i += VL) {
		vec dy = load(p->dy + i);

		store(dweight + i,
		      load(dweight + i) + dy * ((load(p->x + i) - p->mean) * p->factor));
		store(dbias + i, load(dbias + i) + dy);
	}
	rest = rest_of(p, i);
	kernels_reference.norm_weight(&rest, dweight + i, dbias + i);
}

#endif
