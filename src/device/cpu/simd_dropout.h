/*
 * simd_dropout.h - dropout with the words of base/rng.h's generator, for several of its blocks
 * at once; part of simd.c. A word is the lower half of a 64-bit lane, what is above it does not
 * count: so a product of two words is one instruction and nothing has to be put in order.
 */
#ifndef KOLM_DEVICE_CPU_SIMD_DROPOUT_H
#define KOLM_DEVICE_CPU_SIMD_DROPOUT_H

#include "base/util.h"
#include "device/cpu/kernels.h"
#include "device/cpu/simd.h"

#include <string.h>

typedef uint64_t lvec __attribute__((vector_size(VL * 4)));
typedef uint32_t uvec_any __attribute__((vector_size(VL * 4), aligned(4), may_alias));
typedef uint64_t lvec_any __attribute__((vector_size(VL * 4), aligned(4), may_alias));

enum { RNG_BLOCKS = VL / 2, RNG_WORDS = 4 };

/* The lower words of a, times b. */
INLINE lvec times(lvec a, uint32_t b)
{
#if defined(KOLM_AVX512)
	return (lvec)_mm512_mul_epu32((__m512i)a, _mm512_set1_epi64(b));
#elif defined(KOLM_AVX2)
	return (lvec)_mm256_mul_epu32((__m256i)a, _mm256_set1_epi64x(b));
#elif defined(__x86_64__)
	return (lvec)_mm_mul_epu32((__m128i)a, _mm_set1_epi64x(b));
#else
	return (a & 0xffffffff) * b;
#endif
}

/* The lanes of a and b in turn: those of the first half, of the second half. */
#if defined(KOLM_AVX512)
#define ZIP_FIRST(a, b)	 __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define ZIP_SECOND(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#elif defined(KOLM_AVX2)
#define ZIP_FIRST(a, b)	 __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define ZIP_SECOND(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#else
#define ZIP_FIRST(a, b)	 __builtin_shufflevector(a, b, 0, 2)
#define ZIP_SECOND(a, b) __builtin_shufflevector(a, b, 1, 3)
#endif

/* All words of RNG_BLOCKS blocks of the stream, in order. */
INLINE void random_words(const struct dropout *d, uint64_t block, uint32_t *out)
{
	static const uint64_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7};
	uint32_t key0 = (uint32_t)d->seed, key1 = (uint32_t)(d->seed >> 32);
	lvec c0 = *(const lvec_any *)numbers + block, c1 = c0 >> 32;
	lvec c2 = (lvec){0} + d->stream, c3 = c2 >> 32;

	UNROLL
	for (int round = 0; round < 10; round++) {
		lvec a = times(c0, 0xD2511F53u), b = times(c2, 0xCD9E8D57u);

		c0 = (b >> 32) ^ c1 ^ (uint64_t)key0;
		c1 = b;
		c2 = (a >> 32) ^ c3 ^ (uint64_t)key1;
		c3 = a;
		key0 += 0x9E3779B9u;
		key1 += 0xBB67AE85u;
	}
	c0 = (c0 & 0xffffffff) | c1 << 32;
	c2 = (c2 & 0xffffffff) | c3 << 32;
	*(lvec_any *)out = ZIP_FIRST(c0, c2);
	*(lvec_any *)(out + VL) = ZIP_SECOND(c0, c2);
}

static void simd_dropout(float *to, const float *from, int n, const struct dropout *d,
			 uint64_t first)
{
	uint32_t words[PIECE + RNG_WORDS + RNG_BLOCKS * RNG_WORDS];
	uint64_t bound = dropout_bound(d), block = first / RNG_WORDS;
	const uint32_t *word = words + first % RNG_WORDS;
	float factor = dropout_factor(d);
	int blocks = (int)ceil_div((int64_t)(first % RNG_WORDS) + n, RNG_WORDS), i = 0;

	if (bound > UINT32_MAX) { /* nothing is kept */
		memset(to, 0, (size_t)n * sizeof(*to));
		return;
	}
	for (int b = 0; b < blocks; b += RNG_BLOCKS)
		random_words(d, block + (uint64_t)b, words + b * RNG_WORDS);
	for (; i + VL <= n; i += VL) {
		ivec keep = *(const uvec_any *)(word + i) >= (uint32_t)bound;

		store(to + i, vec_select(keep, load(from + i) * factor, (vec){0}));
	}
	for (; i < n; i++)
		to[i] = word[i] >= bound ? from[i] * factor : 0;
}

#endif
