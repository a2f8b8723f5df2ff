/* rng.c - see rng.h. The constants are those of Salmon et al., SC'11. */
#include "base/rng.h"

#include <math.h>

static void round_once(uint32_t c[4], const uint32_t key[2])
{
	uint64_t a = (uint64_t)0xD2511F53u * c[0];
	uint64_t b = (uint64_t)0xCD9E8D57u * c[2];
	uint32_t c1 = c[1], c3 = c[3];

	c[0] = (uint32_t)(b >> 32) ^ c1 ^ key[0];
	c[1] = (uint32_t)b;
	c[2] = (uint32_t)(a >> 32) ^ c3 ^ key[1];
	c[3] = (uint32_t)a;
}

void rng_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
	uint32_t k[2] = {key[0], key[1]};

	for (int i = 0; i < 4; i++)
		out[i] = counter[i];
	for (int i = 0; i < 10; i++) {
		round_once(out, k);
		k[0] += 0x9E3779B9u;
		k[1] += 0xBB67AE85u;
	}
}

/* Block b of a stream: elements 4b .. 4b+3. */
static void block(uint64_t seed, uint64_t stream, uint64_t b, uint32_t out[4])
{
	uint32_t counter[4] = {(uint32_t)b, (uint32_t)(b >> 32), (uint32_t)stream,
			       (uint32_t)(stream >> 32)};
	uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};

	rng_philox(counter, key, out);
}

/* 24 random bits as a float in [0, 1): every value is exact. */
static float unit(uint32_t word)
{
	return (float)(word >> 8) * 0x1p-24f;
}

void rng_uniform(uint64_t seed, uint64_t stream, uint64_t first, size_t n, float low,
		 float high, float *out)
{
	uint64_t i = first, end = first + n;
	uint32_t words[4];

	while (i < end) {
		block(seed, stream, i / 4, words);
		do
			*out++ = low + (high - low) * unit(words[i % 4]);
		while (++i < end && i % 4);
	}
}

/* Box-Muller turns two uniforms into two normals, so a block yields four. */
static void normals(const uint32_t words[4], float out[4])
{
	for (int i = 0; i < 4; i += 2) {
		float radius = sqrtf(-2.0f * logf(1.0f - unit(words[i])));
		float angle = 6.28318530717958648f * unit(words[i + 1]);

		out[i] = radius * cosf(angle);
		out[i + 1] = radius * sinf(angle);
	}
}

void rng_normal(uint64_t seed, uint64_t stream, uint64_t first, size_t n, float *out)
{
	uint64_t i = first, end = first + n;
	uint32_t words[4];
	float values[4];

	while (i < end) {
		block(seed, stream, i / 4, words);
		normals(words, values);
		do
			*out++ = values[i % 4];
		while (++i < end && i % 4);
	}
}

uint32_t rng_below(uint64_t seed, uint64_t stream, uint64_t index, uint32_t bound)
{
	uint32_t words[4];

	block(seed, stream, index / 4, words);
	return (uint32_t)(((uint64_t)words[index % 4] * bound) >> 32);
}

uint64_t rng_below64(uint64_t seed, uint64_t stream, uint64_t index, uint64_t bound)
{
	uint32_t words[4];

	block(seed, stream, index, words);
	return (uint64_t)(((unsigned __int128)((uint64_t)words[1] << 32 | words[0]) * bound) >>
			  64);
}
