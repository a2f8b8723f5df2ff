/*
 * rng.h - Philox4x32-10, a counter-based random generator.
 *
 * A value is a pure function of (seed, stream, index): whoever holds element i of
 * a tensor can compute it, however the tensor is cut and whoever held it before.
 * A stream is one tensor: a weight, a bias, the inputs of one step.
 */
#ifndef KOLM_BASE_RNG_H
#define KOLM_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

/* The bare block function: 4 random words from a counter and a key. */
void rng_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* Elements first .. first+n-1 of a stream, uniform in [low, high). */
void rng_uniform(uint64_t seed, uint64_t stream, uint64_t first, size_t n, float low,
		 float high, float *out);

/* Elements first .. first+n-1 of a stream, normal with mean 0 and deviation 1. */
void rng_normal(uint64_t seed, uint64_t stream, uint64_t first, size_t n, float *out);

/* One element of a stream, uniform over 0 .. bound-1 (bound > 0). */
uint32_t rng_below(uint64_t seed, uint64_t stream, uint64_t index, uint32_t bound);
/* The same of larger numbers, in a stream of its own. */
uint64_t rng_below64(uint64_t seed, uint64_t stream, uint64_t index, uint64_t bound);

#endif
