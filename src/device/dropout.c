/* dropout.c - which elements are kept: what all devices agree on. */
#include "base/rng.h"
#include "device/kernel.h"

#include <math.h>

uint64_t dropout_bound(const struct dropout *d)
{
	return (uint64_t)ceil(d->p * 0x1p32);
}

float dropout_factor(const struct dropout *d)
{
	return (float)(1 / (1 - d->p));
}

bool dropout_keeps(const struct dropout *d, int64_t row, int64_t column)
{
	uint64_t index = (uint64_t)(row * d->columns + column), block = index / 4;
	uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)d->stream,
			       (uint32_t)(d->stream >> 32)};
	uint32_t key[2] = {(uint32_t)d->seed, (uint32_t)(d->seed >> 32)}, words[4];

	rng_philox(counter, key, words);
	return words[index % 4] >= dropout_bound(d);
}
