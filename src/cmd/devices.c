/* devices.c - kolm devices: what there is to compute on, and how fast it is. */
#include "base/clock.h"
#include "base/json.h"
#include "base/machine.h"
#include "base/units.h"
#include "base/util.h"
#include "cmd/cmd.h"
#include "cmd/gpus.h"
#include "config/option.h"
#include "device/device.h"
#include "device/gpus.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	SIDE = 1024,	/* of the matrices that are multiplied */
	COPIED = 64,	/* rows of SIDE * SIDE bytes that are copied */
	TRIES = 8,	/* at most, */
	ENOUGH_MS = 200 /* or for so long; the first does not count */
};

struct devices {
	bool as_json;
	struct json json;
};

/* clang-format off */
static const struct option options[] = {
	{"json", .group = "Options", .type = OPTION_FLAG, .offset = offsetof(struct devices, as_json),
	 .initial = "false", .help = "print one JSON document instead of text"},
};
/* clang-format on */

const struct option_table devices_table = {
	.command = "devices",
	.usage = "kolm devices [--json]",
	.summary =
		"List what kolm can compute on here: memory, and what products and copies reach.",
	.options = options,
	.count = ARRAY_SIZE(options),
};

/* ---- how fast it is ---- */

struct room {
	struct device *dev;
	void *a, *b, *c; /* SIDE * SIDE floats; b and c COPIED times as many bytes */
};

static void multiply(struct room *r)
{
	struct linear l = {.rows = SIDE,
			   .out = SIDE,
			   .in = SIDE,
			   .weight = r->a,
			   .x = {r->b, SIDE, DTYPE_F32},
			   .y = {r->c, SIDE, DTYPE_F32}};

	device_forward(r->dev, &l);
}

static void copy(struct room *r)
{
	struct view to = {r->c, SIDE * SIDE / 4, DTYPE_F32}, from = {r->b, to.stride, to.type};

	device_copy(r->dev, to, 0, from, 0, COPIED, (int)to.stride);
}

/* The least time that it takes, in ms. */
static double time_of(struct room *r, void (*work)(struct room *))
{
	double began = 0, best = INFINITY;

	for (int i = 0; i <= TRIES && (i < 2 || clock_ms() - began < ENOUGH_MS); i++) {
		double begin = clock_ms();

		work(r);
		device_finish(r->dev);
		if (i == 0)
			began = clock_ms();
		else
			best = fmin(best, clock_ms() - begin);
	}
	return best;
}

static enum status measure(struct device *dev, struct gpu_speed *speed, struct error *err)
{
	uint64_t square = device_matrix_size(dev, SIDE, SIDE) * sizeof(float);
	uint64_t copied = (uint64_t)COPIED * SIDE * SIDE;
	struct room r = {.dev = dev};
	enum status st;

	TRY(device_reserve(dev, SIDE, SIDE, err));
	TRY(device_alloc(dev, MEMORY_WORKSPACE, square, "a matrix", &r.a, err));
	TRY(device_alloc(dev, MEMORY_WORKSPACE, copied, "a matrix", &r.b, err));
	TRY(device_alloc(dev, MEMORY_WORKSPACE, copied, "a matrix", &r.c, err));
	speed->gflops = 2.0 * SIDE * SIDE * SIDE / time_of(&r, multiply) * 1e-6;
	speed->gb_per_s = 2.0 * (double)copied / time_of(&r, copy) * 1e-6;
out:
	return st;
}

struct answer {
	struct gpu_speed speed;
	struct error err; /* empty at first */
};

static void answer(struct answer *a, const char *name)
{
	struct device_options o = {.kernels = getenv("KOLM_CPU"), .cache = gpus_cache()};
	struct device *dev = NULL;

	if (device_open(&dev, name, &o, &a->err) == OK)
		(void)measure(dev, &a->speed, &a->err);
	device_close(dev);
}

enum status gpus_measure(const char *name, struct gpu_speed *speed, struct error *err)
{
	struct answer a = {.err = {0}};
	int ends[2];
	bool answered;
	pid_t child;

	if (pipe(ends))
		return FAIL(err, ERR_FAILED, "can't make a pipe");
	fflush(NULL); /* what waits there is the parent's */
	child = fork();
	if (child == 0) {
		answer(&a, name);
		_exit(write(ends[1], &a, sizeof(a)) != sizeof(a)); /* fits into a pipe */
	}
	close(ends[1]);
	answered = child > 0 && read(ends[0], &a, sizeof(a)) == sizeof(a);
	close(ends[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	if (!answered)
		return FAIL(err, ERR_FAILED, "the device %s could not be measured", name);
	*speed = a.speed;
	return a.err.code == OK ? OK : error_copy(err, &a.err);
}

/* ---- what is said ---- */

static void put_json(struct json *j, const char *name, struct device *dev, uint64_t memory,
		     const struct gpu_speed *speed)
{
	json_begin_object(j, NULL);
	json_put_string(j, "name", name);
	json_put_string(j, "description", device_description(dev));
	json_put_int(j, "cores", device_cores(dev));
	json_put_int(j, "memory_bytes", (int64_t)memory);
	json_put_double(j, "gflops", speed->gflops);
	json_put_double(j, "gb_per_s", speed->gb_per_s);
	json_begin_array(j, "multiplies");
	for (int k = 0; k < PRECISION_COUNT; k++)
		if (device_multiplies(dev, (enum dtype)k))
			json_put_string(j, NULL, precision_names[k]);
	json_end_array(j);
	json_end_object(j);
}

static enum status show(struct devices *d, const char *name, uint64_t memory, struct error *err)
{
	struct device_options o = {.kernels = getenv("KOLM_CPU"), .cache = gpus_cache()};
	struct device *dev = NULL;
	struct gpu_speed speed;
	char size[32];
	enum status st;

	TRY(device_open(&dev, name, &o, err));
	TRY(measure(dev, &speed, err));
	units_format_size(memory, size, sizeof(size));
	if (d->as_json)
		put_json(&d->json, name, dev, memory, &speed);
	else
		printf("%s; %s of memory; products %.0f GFLOP/s, copies %.1f GB/s\n",
		       device_description(dev), size, speed.gflops, speed.gb_per_s);
out:
	device_close(dev);
	return st;
}

static enum status show_gpus(struct devices *d, struct error *err)
{
	enum status st = OK;
	struct gpus gpus;

	gpus_list(&gpus);
	for (int i = 0; i < gpus.count; i++) {
		const struct gpu_info *g = &gpus.all[i];
		char name[32];

		snprintf(name, sizeof(name), "%s:%d", g->driver, g->number);
		if (!g->lacks_doubles)
			TRY(show(d, name, g->memory, err));
		else if (!d->as_json)
			printf("%s, %s; can't be used: it has no double precision\n", name,
			       g->name);
	}
	if (!gpus.count && !d->as_json)
		printf("no GPU: %s\n", gpus.why);
out:
	return st;
}

enum status cmd_devices(int argc, char *const *argv, struct error *err)
{
	struct devices d = {0};
	struct option_values values;
	enum status st;

	options_init(&values, &devices_table, &d);
	json_init(&d.json, true);
	TRY(options_parse(&values, argc, argv, err));
	if (values.help) {
		options_print_help(&devices_table, stdout);
		goto out;
	}
	json_begin_object(&d.json, NULL);
	json_begin_array(&d.json, "devices");
	TRY(show(&d, "cpu", machine_memory(), err));
	TRY(show_gpus(&d, err));
	json_end_array(&d.json);
	json_end_object(&d.json);
	if (d.as_json)
		fputs(d.json.text.data, stdout);
out:
	json_release(&d.json);
	return st;
}
