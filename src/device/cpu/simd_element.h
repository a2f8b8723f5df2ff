/* simd_element.h - elementwise kernels and reductions; part of simd.c. */
#ifndef KOLM_DEVICE_CPU_SIMD_ELEMENT_H
#define KOLM_DEVICE_CPU_SIMD_ELEMENT_H

#include "base/half.h"
#include "device/cpu/kernels.h"
#include "device/cpu/simd_amx.h"
#include "device/cpu/simd_pairs.h"

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

static void simd_add(float *to, const float *from, int n)
{
	int i = 0;

	for (; i + VL <= n; i += VL)
		store(to + i, load(to + i) + load(from + i));
	for (; i < n; i++)
		to[i] += from[i];
}

/* VL elements from number i on. working: its type, or DTYPE_F32 if there is none. */
INLINE vec update_vector(const struct update *u, size_t i, const enum optimizer kind,
			 const enum dtype grad_type, const enum dtype working)
{
	vec raw = load_as(u->grad, i, grad_type), g = raw * u->grad_scale;
	vec p = load(u->param + i), first, second;

	switch (kind) {
	case OPT_SGD:
		p -= (g + p * u->weight_decay) * u->lr;
		break;
	case OPT_MOMENTUM:
		first = load(u->m + i) * u->momentum + (g + p * u->weight_decay);
		store(u->m + i, first);
		p -= first * u->lr;
		break;
	case OPT_ADAMW:
		first = load(u->m + i) * u->beta1 + g * (1 - u->beta1);
		second = load(u->v + i) * u->beta2 + g * g * (1 - u->beta2);
		store(u->m + i, first);
		store(u->v + i, second);
		p *= 1 - u->lr * u->weight_decay;
		p -= first * (u->lr / u->correction1) /
		     (vec_sqrt(second) * (1 / sqrtf(u->correction2)) + u->eps);
	}
	store(u->param + i, p);
	if (working != DTYPE_F32)
		store_as(u->working, i, p, working);
	return raw * raw;
}

/* Fewer than VL elements: the same arithmetic on a padded copy. */
INLINE double update_tail(const struct update *u, size_t i, size_t n, const enum optimizer kind)
{
	float p[VL] = {0}, g[VL] = {0}, m[VL] = {0}, v[VL] = {0};
	size_t bytes = n * sizeof(float);
	struct update padded = *u;
	float squares;

	padded.param = p;
	padded.grad = g;
	padded.m = m;
	padded.v = v;
	memcpy(p, u->param + i, bytes);
	for (size_t j = 0; j < n; j++)
		g[j] = float_from(u->grad, i + j, u->grad_type);
	if (u->m)
		memcpy(m, u->m + i, bytes);
	if (u->v)
		memcpy(v, u->v + i, bytes);
	squares = vec_sum(update_vector(&padded, 0, kind, DTYPE_F32, DTYPE_F32));
	memcpy(u->param + i, p, bytes);
	for (size_t j = 0; j < n && u->working; j++)
		float_to(u->working, i + j, u->working_type, p[j]);
	if (u->m)
		memcpy(u->m + i, m, bytes);
	if (u->v)
		memcpy(u->v + i, v, bytes);
	return (double)squares;
}

INLINE double update_range(const struct update *u, size_t begin, size_t end,
			   const enum optimizer kind, const enum dtype grad_type,
			   const enum dtype working)
{
	double total = 0;
	size_t i = begin;

	while (i + VL <= end) {
		vec sum = {0};

		for (int n = 0; n < SUM_VECTORS && i + VL <= end; n++, i += VL)
			sum += update_vector(u, i, kind, grad_type, working);
		total += (double)vec_sum(sum);
	}
	if (i < end)
		total += update_tail(u, i, end - i, kind);
	return total;
}

/* The types there are: all in fp32, or a 16-bit copy with gradients of either. */
INLINE double update_kind(const struct update *u, size_t begin, size_t end,
			  const enum optimizer kind)
{
	bool wide = u->grad_type == DTYPE_F32;

	if (!u->working)
		return update_range(u, begin, end, kind, DTYPE_F32, DTYPE_F32);
	if (u->working_type == DTYPE_F16)
		return wide ? update_range(u, begin, end, kind, DTYPE_F32, DTYPE_F16)
			    : update_range(u, begin, end, kind, DTYPE_F16, DTYPE_F16);
	return wide ? update_range(u, begin, end, kind, DTYPE_F32, DTYPE_BF16)
		    : update_range(u, begin, end, kind, DTYPE_BF16, DTYPE_BF16);
}

static double simd_update(const struct update *u, size_t begin, size_t end)
{
	switch (u->kind) {
	case OPT_SGD:
		return update_kind(u, begin, end, OPT_SGD);
	case OPT_MOMENTUM:
		return update_kind(u, begin, end, OPT_MOMENTUM);
	case OPT_ADAMW:
		return update_kind(u, begin, end, OPT_ADAMW);
	}
	return 0;
}

INLINE double squares_of(const void *x, size_t n, const enum dtype type)
{
	double total = 0;
	size_t i = 0;

	while (i + 4 * VL <= n) {
		vec sum[4] = {{0}};

		for (int k = 0; k < SUM_VECTORS && i + 4 * VL <= n; k++, i += 4 * VL) {
			UNROLL
			for (int j = 0; j < 4; j++) {
				vec value = load_as(x, i + (size_t)j * VL, type);

				sum[j] += value * value;
			}
		}
		total += (double)vec_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
	}
	for (; i < n; i++)
		total += (double)float_from(x, i, type) * (double)float_from(x, i, type);
	return total;
}

static double simd_sum_squares(const void *x, enum dtype type, size_t n)
{
	if (type == DTYPE_F32)
		return squares_of(x, n, DTYPE_F32);
	return type == DTYPE_F16 ? squares_of(x, n, DTYPE_F16) : squares_of(x, n, DTYPE_BF16);
}

INLINE void narrow_to(const float *src, uint16_t *dst, size_t n, const enum dtype type)
{
	size_t i = 0;

	for (; i + VL <= n; i += VL)
		store_as(dst, i, load(src + i), type);
	for (; i < n; i++)
		float_to(dst, i, type, src[i]);
}

INLINE void widen_from(const uint16_t *src, float *dst, size_t n, const enum dtype type)
{
	size_t i = 0;

	for (; i + VL <= n; i += VL)
		store(dst + i, load_as(src, i, type));
	for (; i < n; i++)
		dst[i] = float_from(src, i, type);
}

static void simd_f32_to_f16(const float *src, uint16_t *dst, size_t n)
{
	narrow_to(src, dst, n, DTYPE_F16);
}

static void simd_f16_to_f32(const uint16_t *src, float *dst, size_t n)
{
	widen_from(src, dst, n, DTYPE_F16);
}

static void simd_f32_to_bf16(const float *src, uint16_t *dst, size_t n)
{
	narrow_to(src, dst, n, DTYPE_BF16);
}

static void simd_bf16_to_f32(const uint16_t *src, float *dst, size_t n)
{
	widen_from(src, dst, n, DTYPE_BF16);
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

#if defined(KOLM_AVX512BF16) && defined(KOLM_AMX)
/* The same with tiles of bf16. */
static double simd_bf16_rounds(long n)
{
	amx_configure(2 * AMX_ROWS); /* all of them zero */
	for (long round = 0; round < n; round++) {
		AMX_DOT(C00, A0, B0);
		AMX_DOT(C01, A0, B1);
		AMX_DOT(C10, A1, B0);
		AMX_DOT(C11, A1, B1);
	}
	AMX_RELEASE();
	return 4.0 * 2 * AMX_ROWS * PANEL * AMX_CHUNK * (double)n;
}
#elif defined(KOLM_AVX512BF16)
/* The same with pairs of bf16. */
static double simd_bf16_rounds(long n)
{
	enum { CHAINS = 12 };
	const uint16_t values[2] = {0x3f7f, 0x3a83}; /* 0.996, 0.001 */
	vec16 a[CHAINS];
	pairs factors = splat_pair(values);

	UNROLL
	for (int i = 0; i < CHAINS; i++)
		a[i] = (float)i - (vec16){0};
	PIN_LINE(factors);
	for (long round = 0; round < n; round++) {
		UNROLL
		for (int i = 0; i < CHAINS; i++) {
			a[i] = add_products(a[i], factors, factors);
			MUST_DO(a[i]);
		}
	}
	UNROLL
	for (int i = 1; i < CHAINS; i++)
		a[0] += a[i];
	MUST_DO(a[0]);
	return 4.0 * CHAINS * LANES * (double)n;
}
#endif

#endif
