/*
 * half.h - IEEE binary16 and bfloat16 in plain C, rounding to nearest even. NaNs stay
 * NaNs (quiet, payload cut), overflow becomes infinity, subnormals are exact.
 */
#ifndef KOLM_BASE_HALF_H
#define KOLM_BASE_HALF_H

#include "base/dtype.h"

#include <stdint.h>
#include <string.h>

static inline uint32_t float_bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return u;
}

static inline float float_from_bits(uint32_t u)
{
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

static inline uint16_t half_from_float(float f)
{
	uint32_t bits = float_bits(f), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
	uint32_t mantissa, shift, value, half, dropped;

	if (rest > 0x7f800000)
		return (uint16_t)(sign | 0x7e00 | (rest >> 13 & 0x1ff));
	if (rest >= 0x477ff000) /* 65520 and above round to infinity */
		return (uint16_t)(sign | 0x7c00);
	if (rest >= 0x38800000) { /* normal: re-bias the exponent by 112, drop 13 bits */
		value = rest - 0x38000000;
		return (uint16_t)(sign | ((value + 0xfff + (value >> 13 & 1)) >> 13));
	}
	if (rest < 0x33000000) /* below half of the smallest subnormal */
		return (uint16_t)sign;
	mantissa = (rest & 0x7fffff) | 0x800000;
	shift = 126 - (rest >> 23);
	half = mantissa >> shift;
	dropped = mantissa & ((1u << shift) - 1);
	if (dropped > 1u << (shift - 1) || (dropped == 1u << (shift - 1) && half & 1))
		half++;
	return (uint16_t)(sign | half);
}

static inline float half_to_float(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 0x1f, m = h & 0x3ff;

	if (exponent == 0x1f)
		return float_from_bits(sign | 0x7f800000 | (m ? 0x400000 | m << 13 : 0));
	if (exponent == 0) {
		float value = (float)m * 0x1p-24f;

		return sign ? -value : value;
	}
	return float_from_bits(sign | (exponent + 112) << 23 | m << 13);
}

static inline uint16_t bfloat_from_float(float f)
{
	uint32_t bits = float_bits(f);

	if ((bits & 0x7fffffff) > 0x7f800000)
		return (uint16_t)(bits >> 16 | 0x40);
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float bfloat_to_float(uint16_t b)
{
	return float_from_bits((uint32_t)b << 16);
}

/* One element of an array of any floating-point type. */
static inline float float_from(const void *array, size_t i, enum dtype type)
{
	const uint16_t *half = (const uint16_t *)array;

	if (type == DTYPE_F32)
		return ((const float *)array)[i];
	return type == DTYPE_F16 ? half_to_float(half[i]) : bfloat_to_float(half[i]);
}

static inline void float_to(void *array, size_t i, enum dtype type, float value)
{
	uint16_t *half = (uint16_t *)array;

	if (type == DTYPE_F32)
		((float *)array)[i] = value;
	else
		half[i] = type == DTYPE_F16 ? half_from_float(value) : bfloat_from_float(value);
}

#endif
