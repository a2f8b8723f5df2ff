/* simd_classes.h - softmax over classes, a piece of a row at a time; part of simd.c. */
#ifndef KOLM_DEVICE_CPU_SIMD_CLASSES_H
#define KOLM_DEVICE_CPU_SIMD_CLASSES_H

#include "device/cpu/kernels.h"
#include "device/cpu/simd.h"

#include <math.h>

/* The largest of n values; NaN if the first is. */
static float largest(const float *y, int n)
{
	vec top = splat(y[0]);
	float result = y[0];
	int i = 0;

	for (; i + VL <= n; i += VL)
		top = vec_select(load(y + i) > top, load(y + i), top);
	for (int j = 0; j < VL; j++)
		result = top[j] > result ? top[j] : result;
	for (; i < n; i++)
		result = y[i] > result ? y[i] : result;
	return result;
}

/* A piece is short enough for sums in float. */
static double simd_class_sum(const float *y, int n, float *top)
{
	float most = largest(y, n);
	vec sum = {0};
	double rest = 0;
	int i = 0;

	for (; i + VL <= n; i += VL)
		sum += vec_exp(load(y + i) - most);
	for (; i < n; i++)
		rest += (double)expf(y[i] - most);
	*top = most;
	return rest + (double)vec_sum(sum);
}

static void simd_class_shares(const float *y, float *dy, int n, float top, float factor)
{
	int i = 0;

	for (; i + VL <= n; i += VL)
		store(dy + i, vec_exp(load(y + i) - top) * factor);
	for (; i < n; i++)
		dy[i] = expf(y[i] - top) * factor;
}

#endif
