/*
 * gpu.c - a GPU as a device: finding one, opening it, and the table of its operations.
 *
 *   cuda:N      that device of CUDA
 *   cuda        the devices of CUDA: ranks of a machine take them in turn
 *   opencl[:N]  the same of OpenCL's
 *   gpu[:N]     the same of CUDA's, or, if it has none, of OpenCL's that are GPUs
 *
 * For tests: "opencl:N,reversed" runs the items of a group in the other order.
 */
#include "device/gpu/gpu.h"
#include "base/units.h"
#include "base/util.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gpu_lost(const char *driver, int number, const char *what, const char *why)
{
	struct error err = {0};
	bool is_cuda = !strcmp(driver, gpu_cuda.name);

	FAIL(&err, ERR_FAILED, "the device %s:%d failed, %s: %.180s", driver, number, what,
	     why);
	HINT(&err,
	     "%s whether it is still there, kolm selftest --device %s:%d whether it "
	     "computes; with --save-every a run goes on from its last checkpoint",
	     is_cuda ? "nvidia-smi and dmesg say" : "kolm devices says", driver, number);
	device_lost(&err);
}

/* ---- which one ---- */

struct wish {
	int number; /* -1: in turn */
	bool reversed;
};

static enum status parse(const char *spec, struct wish *w, struct error *err)
{
	const char *words = strchr(spec, ':');
	char *end;
	long number;

	*w = (struct wish){.number = -1};
	if (!words)
		return OK;
	number = strtol(words + 1, &end, 10);
	if (end > words + 1 && number >= 0 && number < GPU_DEVICES &&
	    (!*end || !strcmp(end, ",reversed"))) {
		w->number = (int)number;
		w->reversed = *end;
		return OK;
	}
	FAIL(err, ERR_USAGE, "'%s' is no device", spec);
	return HINT(err, "write %.*s, or %.*s:0 for the first one; kolm devices lists them",
		    (int)(words - spec), spec, (int)(words - spec), spec);
}

/* Is it there, and of any use? */
static enum status check(const char *spec, int number, const struct gpus *there,
			 struct error *err)
{
	const struct gpu_info *i = &there->all[number];

	if (!there->count) {
		FAIL(err, ERR_USAGE, "--device %s: there is none: %s", spec, there->why);
		return HINT(err, "install the driver of your GPU, or use --device cpu; kolm "
				 "devices lists what there is");
	}
	if (number >= there->count) {
		FAIL(err, ERR_USAGE, "--device %s: the last one is number %d", spec,
		     there->count - 1);
		return HINT(err, "kolm devices lists what there is");
	}
	if (!i->lacks_doubles)
		return OK;
	return FAIL(err, ERR_USAGE, "--device %s: %s has no double precision, which sums need",
		    spec, i->name);
}

enum status gpus_check(const char *spec, const struct gpus *there, struct error *err)
{
	struct wish wish;
	enum status st;

	TRY(parse(spec, &wish, err));
	TRY(check(spec, imax(0, wish.number), there, err));
out:
	return st;
}

/* Ranks of a machine take them in turn. */
static enum status find(const char *spec, const struct wish *w, const struct device_options *o,
			struct gpu_info *out, struct error *err)
{
	struct gpus there;
	int number = w->number;
	enum status st;

	gpus_list(&there);
	gpus_choose(&there, spec);
	if (number < 0)
		number = there.count ? o->local % there.count : 0;
	TRY(check(spec, number, &there, err));
	*out = there.all[number];
out:
	return st;
}

/* ---- opening ---- */

static void gpu_close(struct device *dev)
{
	struct gpu *g = gpu_of(dev);

	if (g->context) {
		g->driver->finish(g->context);
		gpu_release_events(g);
		if (g->room_for_rounds)
			g->driver->free(g->context, g->room_for_rounds);
		g->driver->close(g->context);
	}
	device_close(g->cpu);
	free(g->memory);
	free(g->times);
	free(g);
}

/* What multiply_adds multiplies with and adds: chains that stay where they are. */
static enum status open_rounds(struct gpu *g, struct error *err)
{
	static const float values[4] = {0.5f, 0.25f};

	g->room_for_rounds = g->driver->alloc(g->context, sizeof(values));
	if (!g->room_for_rounds)
		return FAIL(err, ERR_MEMORY, "%s:%d has no memory at all", g->info.driver,
			    g->info.number);
	g->driver->write(g->context, QUEUE_COMPUTE, g->room_for_rounds, values, sizeof(values),
			 NULL);
	return OK;
}

static void describe(struct device *dev)
{
	const struct gpu_info *i = &gpu_of(dev)->info;
	const struct gpu *g = gpu_of(dev);
	const char *remark = g->driver->remark ? g->driver->remark(g->context) : "";

	snprintf(dev->description, sizeof(dev->description), "%.8s:%d, %.80s%s%.60s", i->driver,
		 i->number, i->name, *remark ? ", " : "", remark);
	snprintf(dev->id, sizeof(dev->id), "%s", i->id);
}

/* Of a name with or without what follows it; a plan of "gpu" means the last. */
static const struct gpu_driver *driver_of(const char *spec)
{
	if (!strncmp(spec, gpu_cuda.name, strlen(gpu_cuda.name)))
		return &gpu_cuda;
	return &gpu_opencl;
}

static enum status gpu_open(struct device *dev, const char *spec,
			    const struct device_options *o, struct error *err)
{
	struct gpu *g = calloc(1, sizeof(*g));
	struct device_options own = *o;
	struct wish wish;
	enum status st;

	if (!g)
		return FAIL(err, ERR_MEMORY, "no memory for the device '%s'", spec);
	dev->state = g;
	for (int i = 0; i < GPU_TYPES; i++)
		g->tile[i] = -1;
	TRY(parse(spec, &wish, err));
	own.memory = 0; /* the limit is this device's */
	TRY(device_open(&g->cpu, "cpu", &own, err));
	dev->threads = g->cpu->threads;
	dev->cores = g->cpu->cores;
	g->driver = driver_of(spec);
	snprintf(dev->description, sizeof(dev->description), "%s", spec);
	if (o->plan) /* only accounts: others may fork after it */
		return OK;
	g->cache = o->cache;
	g->is_reversed = wish.reversed;
	TRY(find(spec, &wish, o, &g->info, err));
	g->driver = driver_of(g->info.driver);
	TRY(g->driver->open(&g->context, g->info.number, err));
	TRY(gpu_build(g, err));
	TRY(open_rounds(g, err));
	describe(dev);
	return OK;
out:
	gpu_close(dev);
	return st;
}

/* ---- working memory ---- */

static enum status grow(struct device *dev, void **memory, uint64_t bytes, const char *what,
			struct error *err)
{
	device_free(dev, *memory);
	*memory = NULL;
	return device_alloc(dev, MEMORY_WORKSPACE, bytes, what, memory, err);
}

static enum status gpu_reserve(struct device *dev, int rows, int width, struct error *err)
{
	struct gpu *g = gpu_of(dev);
	uint64_t n = (uint64_t)imax(rows, 1);
	enum status st = OK;

	(void)width;
	if (g->driver->room && !g->room_for_products)
		TRY(grow(dev, &g->room_for_products, g->driver->room,
			 "working memory of products", err));
	if (g->parts && rows <= g->rows)
		return OK;
	TRY(grow(dev, (void **)&g->parts,
		 (n * 2 > GPU_PARTS ? n * 2 : GPU_PARTS) * sizeof(*g->parts), "partial sums",
		 err));
	TRY(grow(dev, (void **)&g->links, 2 * n * sizeof(*g->links), "rows of equal tokens",
		 err));
	g->rows = rows;
out:
	return st;
}

static enum status gpu_reserve_attention(struct device *dev, int keys, int width,
					 struct error *err)
{
	(void)dev, (void)keys, (void)width, (void)err; /* scores live in local memory */
	return OK;
}

static void gpu_explain(const struct device *dev, uint64_t bytes, char *buf, size_t size)
{
	const struct gpu_info *i = &gpu_of(dev)->info;
	char have[32], largest[32];

	units_format_size(i->memory, have, sizeof(have));
	units_format_size(i->largest, largest, sizeof(largest));
	if (i->largest && bytes > i->largest)
		snprintf(buf, size, "but %s:%d gives at most %s at once", i->driver, i->number,
			 largest);
	else
		snprintf(buf, size, "more than is free of the %s of %s:%d", have, i->driver,
			 i->number);
}

static void gpu_parallel(struct device *dev, void (*fn)(void *, int, int), void *arg)
{
	device_parallel(gpu_of(dev)->cpu, fn, arg);
}

static void gpu_finish(struct device *dev)
{
	const struct gpu *g = gpu_of(dev);

	g->driver->finish(g->context);
}

static bool gpu_measure(struct device *dev, struct device_reading *r)
{
	const struct gpu *g = gpu_of(dev);

	return g->context && g->driver->measure && g->driver->measure(g->context, r);
}

static bool gpu_multiplies(struct device *dev, enum dtype type)
{
	(void)dev;
	return type == DTYPE_F32; /* others are converted in registers */
}

#define GPU_DEVICE(called)                                                                    \
	{                                                                                     \
		.name = called, .takes_words = true, .open = gpu_open, .close = gpu_close,    \
		.map = gpu_map, .unmap = gpu_unmap, .hide = gpu_hide, .forget = gpu_forget,   \
		.explain = gpu_explain, .measure = gpu_measure, .reserve = gpu_reserve,       \
		.reserve_attention = gpu_reserve_attention, .parallel = gpu_parallel,         \
		.finish = gpu_finish, .mark = gpu_mark, .await = gpu_await,                   \
		.host_begin = gpu_host_begin, .host_end = gpu_host_end,                       \
		.host_ask = gpu_host_ask, .host_asked = gpu_host_asked,                       \
		.host_has = gpu_host_has, .observe = gpu_observe, .stamp = gpu_stamp,         \
		.settle = gpu_settle, .time_of = gpu_time_of, .matrix_size = gpu_matrix_size, \
		.matrix_write = gpu_matrix_write, .matrix_read = gpu_matrix_read,             \
		.write = gpu_write, .read = gpu_read, .copy = gpu_copy,                       \
		.forward = gpu_forward, .backward_input = gpu_backward_input,                 \
		.backward_weight = gpu_backward_weight, .activate = gpu_activate,             \
		.derive = gpu_derive, .add = gpu_add, .dropout = gpu_dropout,                 \
		.norm_forward = gpu_norm_forward,                                             \
		.norm_backward_input = gpu_norm_backward_input,                               \
		.norm_backward_weight = gpu_norm_backward_weight, .embed = gpu_embed,         \
		.embed_gradient = gpu_embed_gradient, .add_positions = gpu_add_positions,     \
		.positions_gradient = gpu_positions_gradient, .gate = gpu_gate,               \
		.gate_gradient = gpu_gate_gradient,                                           \
		.attention_forward = gpu_attention_forward,                                   \
		.attention_backward = gpu_attention_backward, .rotate = gpu_rotate,           \
		.clear = gpu_clear, .numbers = gpu_numbers, .mse = gpu_mse,                   \
		.class_stats = gpu_class_stats, .class_loss = gpu_class_loss,                 \
		.update = gpu_update, .sum_squares = gpu_sum_squares, .cast = gpu_cast,       \
		.multiplies = gpu_multiplies, .fma_rounds = gpu_fma_rounds,                   \
		.introduce = gpu_introduce, .found = gpu_found, .join = gpu_join,             \
		.leave = gpu_leave, .exchange = gpu_exchange,                                 \
	}

const struct device_ops device_gpu = GPU_DEVICE("gpu");
const struct device_ops device_cuda = GPU_DEVICE("cuda");
const struct device_ops device_opencl = GPU_DEVICE("opencl");
