/* selftest_twins.c - operands that two devices have, and whether they are still the same. */
#include "cmd/selftest.h"
#include "base/rng.h"
#include "base/util.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 150, TINY_ROWS = 9, MOST_KEYS = 256, MOST_WIDTH = 256 };

enum status selftest_open(struct selftest *t, const char *spec,
			  const struct device_options *options, uint64_t seed, bool tiny,
			  struct error *err)
{
	struct device_options reference = {.threads = 1, .kernels = "reference"};
	enum status st;

	*t = (struct selftest){.seed = seed,
			       .most_rows = tiny ? TINY_ROWS : MOST_ROWS,
			       .tiny = tiny,
			       .err = err};
	TRY(device_open(&t->dev[REFERENCE], "cpu", &reference, err));
	TRY(device_open(&t->dev[TESTED], spec, options, err));
	for (int i = 0; i < SIDES; i++) {
		TRY(device_reserve(t->dev[i], MOST_ROWS, 4 * MOST_ROWS, err));
		TRY(device_reserve_attention(t->dev[i], MOST_KEYS, MOST_WIDTH, err));
	}
out:
	if (st != OK)
		selftest_close(t);
	return st;
}

void selftest_close(struct selftest *t)
{
	for (int i = 0; i < SIDES; i++)
		device_close(t->dev[i]);
	t->dev[TESTED] = t->dev[REFERENCE] = NULL;
}

bool selftest_try(struct selftest *t, const struct selftest_case *c)
{
	t->failed = false;
	t->difference[0] = '\0';
	c->run(t);
	while (t->n_twins > 0) {
		struct twin *twin = &t->twins[--t->n_twins];

		for (int i = 0; i < SIDES; i++)
			device_free(t->dev[i], twin->memory[i]);
	}
	return !t->failed;
}

/* ---- drawing ---- */

int draw(struct selftest *t, int low, int high)
{
	return low + (int)rng_below(t->seed, 1, t->drawn++, (uint32_t)(high - low + 1));
}

float draw_float(struct selftest *t, float low, float high)
{
	return low + (high - low) * (float)draw(t, 0, 1 << 20) / (float)(1 << 20);
}

enum dtype draw_type(struct selftest *t)
{
	return (enum dtype)draw(t, 0, PRECISION_COUNT - 1);
}

/* ---- operands ---- */

static float *values_of(struct selftest *t, size_t n)
{
	float *values = malloc((n + 1) * sizeof(*values));

	assert(values);
	rng_normal(t->seed, 2 + t->drawn++, 0, n, values);
	return values;
}

static struct twin *take(struct selftest *t, struct twin twin, size_t elements)
{
	struct error err = {0};

	assert(t->n_twins < TWINS);
	for (int i = 0; i < SIDES; i++) {
		size_t n =
			twin.out ? device_matrix_size(t->dev[i], twin.out, twin.in) : elements;

		if (device_alloc(t->dev[i], MEMORY_WORKSPACE, n * dtype_size(twin.type),
				 twin.name, &twin.memory[i], &err) != OK) {
			error_print(&err);
			abort(); /* a few kilobytes */
		}
	}
	t->twins[t->n_twins] = twin;
	return &t->twins[t->n_twins++];
}

struct twin *twin_array(struct selftest *t, const char *name, size_t n, enum dtype type)
{
	struct twin *twin = take(t, (struct twin){.name = name, .type = type, .n = n}, n);
	float *values = values_of(t, n);

	for (int i = 0; i < SIDES; i++)
		device_write(t->dev[i], twin->memory[i], type, n, values);
	free(values);
	return twin;
}

struct twin *twin_squares(struct selftest *t, const char *name, size_t n)
{
	struct twin *twin = twin_array(t, name, n, DTYPE_F32);
	float *values = values_of(t, n);

	for (size_t i = 0; i < n; i++)
		values[i] *= values[i];
	for (int i = 0; i < SIDES; i++)
		device_write(t->dev[i], twin->memory[i], DTYPE_F32, n, values);
	free(values);
	return twin;
}

struct twin *twin_matrix(struct selftest *t, const char *name, int rows, int columns,
			 enum dtype type)
{
	int stride = columns + draw(t, 0, 1) * draw(t, 1, 9);
	struct twin *twin = twin_array(t, name, (size_t)rows * (size_t)stride, type);

	twin->rows = rows;
	twin->stride = stride;
	return twin;
}

struct twin *twin_weights(struct selftest *t, const char *name, int out, int in,
			  enum dtype type)
{
	struct twin *twin =
		take(t, (struct twin){.name = name, .type = type, .out = out, .in = in}, 0);
	float *values;

	twin->n = (size_t)out * (size_t)in;
	values = values_of(t, twin->n);
	for (int i = 0; i < SIDES; i++)
		device_matrix_write(t->dev[i], twin->memory[i], type, out, in, 0, out, values);
	free(values);
	return twin;
}

struct twin *twin_ints(struct selftest *t, const char *name, int n, int low, int high)
{
	struct twin *twin = take(
		t, (struct twin){.name = name, .type = DTYPE_I32, .n = (size_t)n}, (size_t)n);
	size_t bytes = (size_t)n * sizeof(int32_t);
	int32_t *host[SIDES];

	for (int i = 0; i < SIDES; i++)
		host[i] = device_host_begin(t->dev[i], QUEUE_COMPUTE, twin->memory[i], bytes,
					    HOST_WRITES);
	for (int k = 0; k < n; k++)
		host[TESTED][k] = host[REFERENCE][k] = draw(t, low, high);
	for (int i = 0; i < SIDES; i++)
		device_host_end(t->dev[i], QUEUE_COMPUTE, twin->memory[i], bytes, HOST_WRITES);
	return twin;
}

double *twin_numbers(struct selftest *t, int side, int n)
{
	/* As floats: two of them are as large as a double. */
	static struct twin *last;

	if (side == TESTED)
		last = twin_array(t, "numbers", 2 * (size_t)n, DTYPE_F32);
	device_clear(t->dev[side], last->memory[side], (size_t)n);
	return last->memory[side];
}

struct view view_on(const struct twin *twin, int side)
{
	return (struct view){twin->memory[side], (size_t)twin->stride, twin->type};
}

/* ---- comparing ---- */

/* Half a unit in the last place either way, and what one rounding on an edge makes of it. */
static double rounding_of(enum dtype type)
{
	return type == DTYPE_F16 ? 0x1p-10 : type == DTYPE_BF16 ? 0x1p-7 : 0;
}

static void read_twin(struct selftest *t, const struct twin *twin, int side, float *values)
{
	if (twin->out)
		device_matrix_read(t->dev[side], twin->memory[side], twin->type, twin->out,
				   twin->in, 0, twin->out, values);
	else
		device_read(t->dev[side], twin->memory[side], twin->type, twin->n, values);
}

static bool is_close(double got, double wanted, double allowed)
{
	if (isnan(wanted) || isinf(wanted))
		return isnan(wanted) ? isnan(got) : got == wanted;
	return fabs(got - wanted) <= allowed;
}

void compare(struct selftest *t, const struct twin *twin, double tolerance)
{
	float *got = malloc(twin->n * sizeof(float)), *wanted = malloc(twin->n * sizeof(float));
	double largest = 0;

	assert(got && wanted);
	read_twin(t, twin, TESTED, got);
	read_twin(t, twin, REFERENCE, wanted);
	for (size_t i = 0; i < twin->n; i++)
		if (isfinite(wanted[i]))
			largest = fmax(largest, fabs((double)wanted[i]));
	for (size_t i = 0; i < twin->n && !t->failed; i++) {
		double value = (double)wanted[i];

		if (is_close((double)got[i], value,
			     tolerance * largest + rounding_of(twin->type) * fabs(value)))
			continue;
		t->failed = true;
		snprintf(t->difference, sizeof(t->difference),
			 "%s[%zu] of %zu (%s): %.9g, wanted %.9g", twin->name, i, twin->n,
			 precision_names[twin->type], (double)got[i], value);
	}
	free(got);
	free(wanted);
}

void compare_numbers(struct selftest *t, const char *name, const double *numbers[SIDES], int n,
		     double tolerance)
{
	double all[SIDES][8];

	assert(n <= 8);
	for (int i = 0; i < SIDES; i++)
		device_numbers(t->dev[i], numbers[i], (size_t)n, all[i]);
	for (int i = 0; i < n && !t->failed; i++)
		if (!is_close(all[TESTED][i], all[REFERENCE][i],
			      tolerance * fabs(all[REFERENCE][i]))) {
			t->failed = true;
			snprintf(t->difference, sizeof(t->difference),
				 "%s: %.17g, wanted %.17g", name, all[TESTED][i],
				 all[REFERENCE][i]);
		}
}
