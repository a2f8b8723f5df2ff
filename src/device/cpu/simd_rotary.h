/* simd_rotary.h - angles of rotary positions, and what they turn; part of simd.c. */
#ifndef KOLM_DEVICE_CPU_SIMD_ROTARY_H
#define KOLM_DEVICE_CPU_SIMD_ROTARY_H

#include "device/cpu/kernels.h"
#include "device/cpu/simd.h"

typedef double dvec __attribute__((vector_size(VL * 8)));
typedef double dvec_any __attribute__((vector_size(VL * 8), aligned(8), may_alias));

/*
 * Whole turns fall away in double, and quarters: what is left is within an eighth of a turn,
 * where short series do for floats.
 */
INLINE void angle_lanes(const double *turns, int position, float *sines, float *cosines)
{
	const double magic = 0x1.8p52; /* adding it rounds to an integer */
	dvec quarters = *(const dvec_any *)turns * (4.0 * position);
	dvec shifted = quarters + magic, whole = shifted - magic;
	ivec quadrant =
		__builtin_convertvector(whole - 4 * ((whole * 0.25 + magic) - magic), ivec);
	vec x = __builtin_convertvector((quarters - whole) * 1.57079632679489662, vec);
	vec y = x * x, s, c, sine, cosine;

	s = y * 2.7557319e-6f - 1.9841270e-4f;
	s = s * y + 8.3333333e-3f;
	s = s * y - 1.6666667e-1f;
	s = s * y * x + x;
	c = y * 2.4801587e-5f - 1.3888889e-3f;
	c = c * y + 4.1666667e-2f;
	c = c * y - 0.5f;
	c = c * y + 1;
	sine = vec_select((quadrant & 1) != 0, c, s);
	cosine = vec_select((quadrant & 1) != 0, s, c);
	store(sines, vec_select((quadrant & 2) != 0, -sine, sine));
	store(cosines, vec_select(((quadrant + 1) & 2) != 0, -cosine, cosine));
}

static void simd_rotary_angles(const double *turns, int position, int n, float *sines,
			       float *cosines)
{
	int i = 0;

	for (; i + VL <= n; i += VL)
		angle_lanes(turns + i, position, sines + i, cosines + i);
	kernels_reference.rotary_angles(turns + i, position, n - i, sines + i, cosines + i);
}

static void simd_rotate(float *x, const float *sines, const float *cosines, int half)
{
	int i = 0;

	for (; i + VL <= half; i += VL) {
		vec a = load(x + i), b = load(x + i + half);
		vec s = load(sines + i), c = load(cosines + i);

		store(x + i, a * c - b * s);
		store(x + i + half, b * c + a * s);
	}
	for (; i < half; i++) {
		float a = x[i], b = x[i + half];

		x[i] = a * cosines[i] - b * sines[i];
		x[i + half] = b * cosines[i] + a * sines[i];
	}
}

#endif
