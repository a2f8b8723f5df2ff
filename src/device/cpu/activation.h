/*
 * activation.h - all formulas of the activations, each plain in double and as a vector beside
 * it: a new one is a line in kernel.h's list and its cases here. No switch has a default, so
 * that the compiler names the place where one is missing.
 *
 * The derivative is taken of what activation_saves() says: the output, or what went in.
 */
#ifndef KOLM_DEVICE_CPU_ACTIVATION_H
#define KOLM_DEVICE_CPU_ACTIVATION_H

#include "device/cpu/simd.h"
#include "device/kernel.h"

#include <math.h>

/* ---- what they are made of ---- */

static inline double normal_cdf(double z)
{
	return 0.5 * erfc(-z * M_SQRT1_2);
}

/*
 * Phi(z), the normal distribution function, and *density = phi(z). The tail is
 * erfc(a) / 2 = t P(t) exp(-a^2) / 2 with a = |z| / sqrt 2, t = 1 / (1 + 0.42 a); P was
 * fitted here by least squares, reweighted towards equal error, to 4e-8 relative. From |z|
 * = 12.6 on it stays 4e-37: below are the subnormal numbers, which take some CPUs a hundred
 * times as long. NaN stays NaN.
 */
INLINE vec vec_normal_cdf(vec z, vec *density)
{
	vec a = -vec_max(splat(-8.944f), vec_abs(z) * -0.70710678f);
	vec e = vec_exp_in_range(-a * a);
	vec t = 1.0f / (a * 0.42f + 1.0f);
	vec tail = t * 0.0760054961f - 0.345057070f;

	tail = tail * t + 0.484970152f;
	tail = tail * t - 0.173077077f;
	tail = tail * t + 0.292426825f;
	tail = tail * t + 0.187102973f;
	tail = tail * t + 0.240897492f;
	tail = tail * t + 0.236731246f;
	tail = tail * t * e * 0.5f;
	*density = e * 0.39894228f;
	return vec_select(z < 0, tail, 1.0f - tail);
}

static inline double sigmoid(double z)
{
	return 1 / (1 + exp(-z));
}

/* And *other = 1 - sigmoid(z), which is exact where that difference is not. */
INLINE vec vec_sigmoid(vec z, vec *other)
{
	vec e = vec_exp_in_range(vec_max(splat(-87.0f), -vec_max(splat(-87.0f), z)));
	vec share = 1.0f / (e + 1.0f);

	*other = e * share;
	return share;
}

/*
 * (1 - e) / (1 + e) with e = exp(-2 |z|). Near 0 that loses what small z have; there it is
 * z + z^3 P(z^2), with P fitted here as above, to 5e-9 relative. Of NaN it is NaN.
 */
INLINE vec vec_tanh(vec z)
{
	vec a = vec_abs(z), square = z * z, e = vec_exp(a * -2.0f);
	vec far = (1.0f - e) / (e + 1.0f), near = square * -0.00570542007f + 0.0206394603f;

	near = near * square - 0.0537398246f;
	near = near * square + 0.133314434f;
	near = near * square - 0.33333282f;
	near = near * square * z + z;
	return vec_select(a >= 0.625f, vec_select(z < 0, -far, far), near);
}

/* 2 sqrt(2/pi) (z + 0.044715 z^3): gelu with tanh is z * sigmoid of that. */
static inline double gelu_argument(double z)
{
	return 1.5957691216057308 * (z + 0.044715 * z * z * z);
}

static inline double gelu_argument_slope(double z)
{
	return 1.5957691216057308 * (1 + 3 * 0.044715 * z * z);
}

INLINE vec vec_gelu_argument(vec z)
{
	return z * (z * z * 0.0713548163f + 1.59576912f);
}

INLINE vec vec_gelu_argument_slope(vec z)
{
	return z * z * 0.214064449f + 1.59576912f;
}

/* ---- the activations ---- */

/* act(z) */
static inline double act_value(double z, enum activation act)
{
	switch (act) {
	case ACT_NONE:
		return z;
	case ACT_RELU:
		return z <= 0 ? 0 : z; /* NaN stays NaN */
	case ACT_GELU:
		return z * normal_cdf(z);
	case ACT_TANH:
		return tanh(z);
	case ACT_SILU:
		return z * sigmoid(z);
	case ACT_GELU_TANH:
		return z * sigmoid(gelu_argument(z));
	}
	__builtin_unreachable();
}

INLINE vec act_values(vec z, enum activation act)
{
	vec other;

	switch (act) {
	case ACT_NONE:
		return z;
	case ACT_RELU:
		return vec_select(z <= 0, (vec){0}, z);
	case ACT_GELU:
		return z * vec_normal_cdf(z, &other);
	case ACT_TANH:
		return vec_tanh(z);
	case ACT_SILU:
		return z * vec_sigmoid(z, &other);
	case ACT_GELU_TANH:
		return z * vec_sigmoid(vec_gelu_argument(z), &other);
	}
	__builtin_unreachable();
}

/* act'(z), of what was saved. */
static inline double act_slope(double saved, enum activation act)
{
	switch (act) {
	case ACT_NONE:
		return 1;
	case ACT_RELU:
		return saved > 0 ? 1 : 0;
	case ACT_GELU:
		return normal_cdf(saved) +
		       saved * exp(-0.5 * saved * saved) * 0.39894228040143268;
	case ACT_TANH:
		return (1 - saved) * (1 + saved);
	case ACT_SILU:
		return sigmoid(saved) * (1 + saved * sigmoid(-saved));
	case ACT_GELU_TANH:
		return sigmoid(gelu_argument(saved)) *
		       (1 +
			saved * gelu_argument_slope(saved) * sigmoid(-gelu_argument(saved)));
	}
	__builtin_unreachable();
}

INLINE vec act_slopes(vec saved, enum activation act)
{
	vec share, other;

	switch (act) {
	case ACT_NONE:
		return splat(1);
	case ACT_RELU:
		return vec_select(saved > 0, splat(1), (vec){0});
	case ACT_GELU:
		share = vec_normal_cdf(saved, &other);
		return share + saved * other;
	case ACT_TANH:
		return (1.0f - saved) * (saved + 1.0f);
	case ACT_SILU:
		share = vec_sigmoid(saved, &other);
		return share * (saved * other + 1.0f);
	case ACT_GELU_TANH:
		share = vec_sigmoid(vec_gelu_argument(saved), &other);
		return share * (saved * vec_gelu_argument_slope(saved) * other + 1.0f);
	}
	__builtin_unreachable();
}

#endif
