/*
 * pieces.h - rows of any type for kernels that know floats only: a piece at a time, where it
 * is or converted into a thread's scratch memory and back.
 */
#ifndef KOLM_DEVICE_CPU_PIECES_H
#define KOLM_DEVICE_CPU_PIECES_H

#include "device/cpu/cpu.h"

#include <string.h>

/* A thread's own; NULL where none was reserved, which fp32 does without. */
static inline float *scratch_of(const struct cpu *cpu, int part)
{
	return cpu->scratch ? cpu->scratch + (size_t)part * SCRATCH : NULL;
}

/* n elements from number i on as floats: where they are, or converted into room. */
static inline float *widen(const struct kernels *k, const void *p, size_t i, enum dtype type,
			   size_t n, float *room)
{
	if (type == DTYPE_F32)
		return (float *)(uintptr_t)p + i;
	(type == DTYPE_F16 ? k->f16_to_f32 : k->bf16_to_f32)((const uint16_t *)p + i, room, n);
	return room;
}

/* Put them back if they were converted. */
static inline void narrow(const struct kernels *k, const float *from, void *p, size_t i,
			  enum dtype type, size_t n)
{
	if (type != DTYPE_F32)
		(type == DTYPE_F16 ? k->f32_to_f16 : k->f32_to_bf16)(from, (uint16_t *)p + i,
								     n);
}

/* Floats that were computed elsewhere, to where they belong. */
static inline void put(const struct kernels *k, const float *from, void *p, size_t i,
		       enum dtype type, size_t n)
{
	if (type == DTYPE_F32)
		memcpy((float *)p + i, from, n * sizeof(*from));
	else
		narrow(k, from, p, i, type, n);
}

#endif
