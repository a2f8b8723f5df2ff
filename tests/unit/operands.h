/*
 * operands.h - for tests of kernels through the device interface: matrices in device memory
 * with random values, and what the host knows of them. Memory is only written and read with
 * device_write and device_read, so they work on any device.
 */
#ifndef KOLM_TESTS_OPERANDS_H
#define KOLM_TESTS_OPERANDS_H

#include "testing.h"

#include "base/half.h"
#include "device/cpu/kernels.h"
#include "device/device.h"

static inline struct device *device_new(const char *spec, const char *kernels, int threads)
{
	struct device_options o = {.threads = threads};
	struct device *dev;
	struct error err = {0};

	setenv("KOLM_CPU", kernels, 1);
	assert_int_equal(device_open(&dev, spec, &o, &err), OK);
	assert_int_equal(device_reserve(dev, 64, 64, &err), OK);
	unsetenv("KOLM_CPU");
	return dev;
}

static inline void *memory_new(struct device *dev, size_t bytes)
{
	struct error err = {0};
	void *memory;

	assert_int_equal(
		device_alloc(dev, MEMORY_WORKSPACE, bytes, "an operand", &memory, &err), OK);
	return memory;
}

/* Rows may be further apart than they are long: what is between them must stay as it is. */
struct operand {
	struct view v;
	int rows, columns;
	size_t n;      /* elements, with those between the rows */
	float *values; /* (n), as they were written */
};

static inline void operand_write(struct device *dev, struct operand *o)
{
	device_write(dev, o->v.data, o->v.type, o->n, o->values);
	device_read(dev, o->v.data, o->v.type, o->n, o->values); /* as they were rounded */
}

static inline struct operand operand_new(struct device *dev, struct random *r, int rows,
					 int columns, enum dtype type)
{
	struct operand o = {.rows = rows, .columns = columns, .v.type = type};

	o.v.stride = (size_t)(columns + random_int(r, 0, 9));
	o.n = (size_t)rows * o.v.stride;
	o.v.data = memory_new(dev, o.n * dtype_size(type));
	o.values = malloc(o.n * sizeof(float));
	random_fill(r, o.values, o.n);
	operand_write(dev, &o);
	return o;
}

static inline double value(const struct operand *o, int row, int column)
{
	return o->values[(size_t)row * o->v.stride + (size_t)column];
}

/* The same values, on any device. */
static inline struct operand operand_copy(struct device *dev, const struct operand *from)
{
	struct operand o = *from;

	o.v.data = memory_new(dev, o.n * dtype_size(o.v.type));
	o.values = malloc(o.n * sizeof(float));
	memcpy(o.values, from->values, o.n * sizeof(float));
	operand_write(dev, &o);
	return o;
}

/* What kernels have made of it becomes what the host knows; what is between rows is as it was.
 */
static inline void operand_read(struct device *dev, struct operand *o)
{
	float *got = malloc(o->n * sizeof(float));

	device_read(dev, o->v.data, o->v.type, o->n, got);
	for (size_t i = 0; i < o->n; i++)
		if (i % o->v.stride >= (size_t)o->columns)
			assert_true(got[i] == o->values[i]);
	free(o->values);
	o->values = got;
}

static inline void operand_free(struct device *dev, struct operand *o)
{
	device_free(dev, o->v.data);
	free(o->values);
}

/* The relative distance of neighbours: what a rounding to the type may cost. */
static inline double rounding(enum dtype type)
{
	return type == DTYPE_F16 ? 0x1p-10 : type == DTYPE_BF16 ? 0x1p-7 : 0;
}

#endif
