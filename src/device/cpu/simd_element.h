/* simd_element.h - elementwise kernels and reductions; part of simd.c. */
#ifndef KOLM_DEVICE_CPU_SIMD_ELEMENT_H
#define KOLM_DEVICE_CPU_SIMD_ELEMENT_H

#include "base/half.h"
#include "device/cpu/kernels.h"
#include "device/cpu/simd.h"

#include <math.h>
#include <string.h>

/* Lane sums in float stay accurate over this many vectors, then go to double. */
enum { SUM_VECTORS = 256 };

static double simd_mse_row(const float *y, const float *target, float *dy, int n, float scale)
{
	vec sum = {0};
	double total = 0;
	int i = 0;

	for (; i + VL <= n; i += VL) {
		vec difference = load(y + i) - load(target + i);

		store(dy + i, difference * scale);
		sum += difference * difference;
		if (i / VL % SUM_VECTORS == SUM_VECTORS - 1) {
			total += (double)vec_sum(sum);
			sum = (vec){0};
		}
	}
	for (; i < n; i++) {
		float difference = y[i] - target[i];

		dy[i] = difference * scale;
		total += (double)difference * difference;
	}
	return total + (double)vec_sum(sum);
}

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

static double simd_cross_entropy_row(const float *y, int label, float *dy, int n, float scale)
{
	float top = largest(y, n), factor;
	vec sum = {0};
	double total = 0;
	int i = 0;

	/* dy holds the exponentials until their sum is known. */
	for (; i + VL <= n; i += VL) {
		vec e = vec_exp(load(y + i) - top);

		store(dy + i, e);
		sum += e;
	}
	for (; i < n; i++) {
		dy[i] = expf(y[i] - top);
		total += (double)dy[i];
	}
	total += (double)vec_sum(sum);
	factor = (float)((double)scale / total);
	for (i = 0; i + VL <= n; i += VL)
		store(dy + i, load(dy + i) * factor);
	for (; i < n; i++)
		dy[i] *= factor;
	dy[label] -= scale;
	return log(total) - ((double)y[label] - (double)top);
}

INLINE vec update_vector(const struct update *u, float *param, const float *grad, float *m,
			 float *v, const enum optimizer kind)
{
	vec raw = load(grad), g = raw * u->grad_scale, p = load(param);

	if (kind == OPT_SGD) {
		p -= (g + p * u->weight_decay) * u->lr;
	} else if (kind == OPT_MOMENTUM) {
		vec buf = load(m) * u->momentum + (g + p * u->weight_decay);

		store(m, buf);
		p -= buf * u->lr;
	} else {
		vec first = load(m) * u->beta1 + g * (1 - u->beta1);
		vec second = load(v) * u->beta2 + g * g * (1 - u->beta2);

		store(m, first);
		store(v, second);
		p *= 1 - u->lr * u->weight_decay;
		p -= first * (u->lr / u->correction1) /
		     (vec_sqrt(second) * (1 / sqrtf(u->correction2)) + u->eps);
	}
	store(param, p);
	return raw * raw;
}

/* Fewer than VL elements: the same arithmetic on a padded copy. */
INLINE double update_tail(const struct update *u, size_t i, size_t n, const enum optimizer kind)
{
	float p[VL] = {0}, g[VL] = {0}, m[VL] = {0}, v[VL] = {0};
	size_t bytes = n * sizeof(float);
	float squares;

	memcpy(p, u->param + i, bytes);
	memcpy(g, u->grad + i, bytes);
	if (kind != OPT_SGD)
		memcpy(m, u->m + i, bytes);
	if (kind == OPT_ADAMW)
		memcpy(v, u->v + i, bytes);
	squares = vec_sum(update_vector(u, p, g, m, v, kind));
	memcpy(u->param + i, p, bytes);
	if (kind != OPT_SGD)
		memcpy(u->m + i, m, bytes);
	if (kind == OPT_ADAMW)
		memcpy(u->v + i, v, bytes);
	return (double)squares;
}

INLINE double update_range(const struct update *u, size_t begin, size_t end,
			   const enum optimizer kind)
{
	double total = 0;
	size_t i = begin;

	while (i + VL <= end) {
		vec sum = {0};

		for (int n = 0; n < SUM_VECTORS && i + VL <= end; n++, i += VL)
			sum += update_vector(u, u->param + i, u->grad + i,
					     kind == OPT_SGD ? NULL : u->m + i,
					     kind == OPT_ADAMW ? u->v + i : NULL, kind);
		total += (double)vec_sum(sum);
	}
	if (i < end)
		total += update_tail(u, i, end - i, kind);
	return total;
}

static double simd_update(const struct update *u, size_t begin, size_t end)
{
	switch (u->kind) {
	case OPT_SGD:
		return update_range(u, begin, end, OPT_SGD);
	case OPT_MOMENTUM:
		return update_range(u, begin, end, OPT_MOMENTUM);
	default:
		return update_range(u, begin, end, OPT_ADAMW);
	}
}

static double simd_sum_squares(const float *x, size_t n)
{
	double total = 0;
	size_t i = 0;

	while (i + 4 * VL <= n) {
		vec sum[4] = {{0}};

		for (int k = 0; k < SUM_VECTORS && i + 4 * VL <= n; k++, i += 4 * VL) {
			UNROLL
			for (int j = 0; j < 4; j++)
				sum[j] += load(x + i + j * VL) * load(x + i + j * VL);
		}
		total += (double)vec_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
	}
	for (; i < n; i++)
		total += (double)x[i] * x[i];
	return total;
}

/* A value is finite when its exponent is not all ones. */
static bool simd_scale_check(float *x, size_t n, float scale)
{
	ivec bad = {0};
	bool finite = true;
	size_t i = 0;

	for (; i + VL <= n; i += VL) {
		vec value = load(x + i) * scale;

		store(x + i, value);
		bad |= ((ivec)value & 0x7f800000) == 0x7f800000;
	}
	for (; i < n; i++) {
		x[i] *= scale;
		finite = finite && (float_bits(x[i]) & 0x7f800000) != 0x7f800000;
	}
	for (int j = 0; j < VL; j++)
		finite = finite && !bad[j];
	return finite;
}

static void simd_f32_to_f16(const float *src, uint16_t *dst, size_t n)
{
	size_t i = 0;

#if defined(KOLM_AVX512)
	for (; i + 16 <= n; i += 16)
		_mm256_storeu_si256(
			(__m256i *)(dst + i),
			_mm512_cvtps_ph(_mm512_loadu_ps(src + i), _MM_FROUND_TO_NEAREST_INT));
#elif defined(KOLM_AVX2)
	for (; i + 8 <= n; i += 8)
		_mm_storeu_si128(
			(__m128i *)(dst + i),
			_mm256_cvtps_ph(_mm256_loadu_ps(src + i), _MM_FROUND_TO_NEAREST_INT));
#endif
	for (; i < n; i++)
		dst[i] = half_from_float(src[i]);
}

static void simd_f16_to_f32(const uint16_t *src, float *dst, size_t n)
{
	size_t i = 0;

#if defined(KOLM_AVX512)
	for (; i + 16 <= n; i += 16)
		_mm512_storeu_ps(dst + i, _mm512_cvtph_ps(_mm256_loadu_si256(
						  (const __m256i *)(src + i))));
#elif defined(KOLM_AVX2)
	for (; i + 8 <= n; i += 8)
		_mm256_storeu_ps(dst + i,
				 _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(src + i))));
#endif
	for (; i < n; i++)
		dst[i] = half_to_float(src[i]);
}

/* These two are plain enough for the compiler to vectorise. */
static void simd_f32_to_bf16(const float *src, uint16_t *dst, size_t n)
{
	for (size_t i = 0; i < n; i++)
		dst[i] = bfloat_from_float(src[i]);
}

static void simd_bf16_to_f32(const uint16_t *src, float *dst, size_t n)
{
	for (size_t i = 0; i < n; i++)
		dst[i] = bfloat_to_float(src[i]);
}

/* Enough independent chains to fill two FMA units of latency 4 or 5. */
static double simd_fma_rounds(long n)
{
	enum { CHAINS = 12 };
	vec a[CHAINS], factor = splat(0.999999f), term = splat(1e-6f);

	UNROLL
	for (int i = 0; i < CHAINS; i++)
		a[i] = splat((float)i);
	PIN(factor);
	PIN(term);
	for (long round = 0; round < n; round++) {
		UNROLL
		for (int i = 0; i < CHAINS; i++) {
			a[i] = a[i] * factor + term;
			MUST_DO(a[i]);
		}
	}
	UNROLL
	for (int i = 1; i < CHAINS; i++)
		a[0] += a[i];
	MUST_DO(a[0]);
	return 2.0 * CHAINS * VL * (double)n;
}

#endif
