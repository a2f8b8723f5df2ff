/* simd_put.h - sums of a weight gradient to where they belong; part of simd.c. */
#ifndef KOLM_DEVICE_CPU_SIMD_PUT_H
#define KOLM_DEVICE_CPU_SIMD_PUT_H

#include "device/cpu/simd_tile.h"

INLINE void fetch_gradients(const char *w, size_t w_stride, int r, const int panels,
			    const enum dtype type)
{
	UNROLL
	for (int p = 0; p < panels; p++)
		__builtin_prefetch(
			w + ((size_t)p * w_stride + (size_t)(r + 2 * TILE_ROWS) * PANEL) *
					dtype_size(type),
			1, 3);
}

/* Vector j of an input's sums to the gradients. */
INLINE void put_sum(char *w, size_t w_stride, int i, const int j, vec sum, bool accumulate,
		    const enum dtype type)
{
	size_t at = (size_t)(j / VPP) * w_stride + (size_t)(i * PANEL) + (size_t)(j % VPP) * VL;

	store_as(w, at, accumulate ? load_as(w, at, type) + sum : sum, type);
}

/* VL of the lanes. */
INLINE vec lanes_from(vec16 v, const int first)
{
	vec part;

	__builtin_memcpy(&part, (const char *)&v + first * (int)sizeof(float), sizeof(part));
	return part;
}

/* A panel of an input's sums. */
INLINE void put_bfloats(uint16_t *w, vec16 sum, bool accumulate)
{
	hvec16_any *at = (hvec16_any *)w;

	if (accumulate)
		sum += (vec16)(__builtin_convertvector(*at, pairs) << 16);
	*at = sums_as_bfloats(sum);
}

#endif
