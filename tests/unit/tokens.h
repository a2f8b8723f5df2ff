/* tokens.h - for tests of the kernels of language models: devices of every table, integers in
   device memory, results that are compared to the bit. */
#ifndef KOLM_TESTS_TOKENS_H
#define KOLM_TESTS_TOKENS_H

#include "operands.h"

/* A device that has room for so many rows. */
static inline struct device *wide_device(const char *spec, const char *kernels, int threads,
					 int rows)
{
	struct device *dev = device_new(spec, kernels, threads);
	struct error err = {0};

	assert_int_equal(device_reserve(dev, rows, 64, &err), OK);
	return dev;
}

/* The CPU with 1 to 3 threads, then the fenced one: all give the same bits. */
enum { SAME_DEVICES = 4 };

static inline struct device *same_device(int number, const char *kernels, int rows)
{
	if (number < 3)
		return wide_device("cpu", kernels, number + 1, rows);
	return wide_device("fenced", kernels, 1, rows);
}

static inline int32_t *integers_new(struct device *dev, const int32_t *values, int n)
{
	size_t bytes = (size_t)n * sizeof(*values);
	int32_t *memory = memory_new(dev, bytes);
	void *host = device_host_begin(dev, QUEUE_COMPUTE, memory, bytes, HOST_WRITES);

	memcpy(host, values, bytes);
	device_host_end(dev, QUEUE_COMPUTE, memory, bytes, HOST_WRITES);
	return memory;
}

/* What is in the rows of both. */
static inline void same_rows(const struct operand *a, const struct operand *b)
{
	for (int r = 0; r < a->rows; r++)
		assert_memory_equal(a->values + (size_t)r * a->v.stride,
				    b->values + (size_t)r * b->v.stride,
				    (size_t)a->columns * sizeof(float));
}

/* A float as the type has it. */
static inline float rounded(float value, enum dtype type)
{
	float room = 0;

	float_to(&room, 0, type, value);
	return float_from(&room, 0, type);
}

static inline enum dtype any_type(struct random *r)
{
	return (enum dtype)random_int(r, DTYPE_F32, DTYPE_BF16);
}

#endif
