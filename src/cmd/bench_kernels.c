/* bench_kernels.c - elementwise kernels against the memory bandwidth of the same run. */
#include "cmd/bench.h"
#include "base/rng.h"
#include "base/util.h"

#include <math.h>
#include <stdio.h>

enum { COUNT = 32 << 20, COLUMNS = 1024 }; /* elements: far larger than any cache */

struct element {
	struct device *dev;
	float *a, *b, *c, *d;
	double *number;			 /* takes what kernels yield */
	int32_t labels[COUNT / COLUMNS]; /* all zero */
};

static struct update update_of(const struct element *e, enum optimizer kind)
{
	return (struct update){.kind = kind,
			       .lr = 1e-6f,
			       .momentum = 0.9f,
			       .beta1 = 0.9f,
			       .beta2 = 0.999f,
			       .eps = 1e-8f,
			       .grad_scale = 1,
			       .correction1 = 0.1f,
			       .correction2 = 0.001f,
			       .param = e->a,
			       .grad = e->b,
			       .m = e->c,
			       .v = e->d};
}

static void run_update(const struct element *e, enum optimizer kind)
{
	struct update u = update_of(e, kind);

	device_update(e->dev, &u, COUNT, e->number);
}

static void run_sgd(void *arg)
{
	run_update(arg, OPT_SGD);
}

static void run_momentum(void *arg)
{
	run_update(arg, OPT_MOMENTUM);
}

static void run_adamw(void *arg)
{
	run_update(arg, OPT_ADAMW);
}

static void run_norm(void *arg)
{
	struct element *e = arg;

	device_sum_squares(e->dev, e->a, DTYPE_F32, COUNT, 1, e->number);
}

static void run_to_f16(void *arg)
{
	struct element *e = arg;

	device_cast(e->dev, e->a, DTYPE_F32, e->c, DTYPE_F16, COUNT);
}

static void run_from_f16(void *arg)
{
	struct element *e = arg;

	device_cast(e->dev, e->a, DTYPE_F16, e->c, DTYPE_F32, COUNT);
}

static void run_to_bf16(void *arg)
{
	struct element *e = arg;

	device_cast(e->dev, e->a, DTYPE_F32, e->c, DTYPE_BF16, COUNT);
}

static void run_from_bf16(void *arg)
{
	struct element *e = arg;

	device_cast(e->dev, e->a, DTYPE_BF16, e->c, DTYPE_F32, COUNT);
}

static void run_mse(void *arg)
{
	struct element *e = arg;

	device_mse(e->dev, (struct view){.data = e->a, .stride = COLUMNS},
		   (struct view){.data = e->b, .stride = COLUMNS},
		   (struct view){.data = e->c, .stride = COLUMNS}, COUNT / COLUMNS, COLUMNS,
		   1e-6f, e->number);
}

static void run_cross_entropy(void *arg)
{
	struct element *e = arg;

	device_cross_entropy(e->dev, (struct view){.data = e->a, .stride = COLUMNS}, e->labels,
			     (struct view){.data = e->c, .stride = COLUMNS}, COUNT / COLUMNS,
			     COLUMNS, 1e-6f, e->number);
}

static const struct {
	const char *name;
	void (*run)(void *);
	int bytes; /* read and written per element */
	enum traffic traffic;
} list[] = {
	{"sgd", run_sgd, 12, TRAFFIC_IN_PLACE},
	{"momentum", run_momentum, 20, TRAFFIC_IN_PLACE},
	{"adamw", run_adamw, 28, TRAFFIC_IN_PLACE},
	{"norm", run_norm, 4, TRAFFIC_READ},
	{"mse", run_mse, 12, TRAFFIC_COPY},
	{"cross-entropy", run_cross_entropy, 8, TRAFFIC_COPY},
	{"fp32->fp16", run_to_f16, 6, TRAFFIC_COPY},
	{"fp16->fp32", run_from_f16, 6, TRAFFIC_COPY},
	{"fp32->bf16", run_to_bf16, 6, TRAFFIC_COPY},
	{"bf16->fp32", run_from_bf16, 6, TRAFFIC_COPY},
};

static enum status allocate(struct element *e, struct error *err)
{
	enum status st;
	float **arrays[] = {&e->a, &e->b, &e->c, &e->d};

	for (size_t i = 0; i < ARRAY_SIZE(arrays); i++) {
		TRY(device_alloc(e->dev, MEMORY_WORKSPACE, (uint64_t)COUNT * sizeof(float),
				 "the benchmark's arrays", (void **)arrays[i], err));
		rng_uniform(0, i, 0, COUNT, 0.001f, 1, *arrays[i]);
	}
	TRY(device_alloc(e->dev, MEMORY_WORKSPACE, sizeof(*e->number), "what kernels yield",
			 (void **)&e->number, err));
	TRY(device_reserve(e->dev, COUNT / COLUMNS, COLUMNS, err));
out:
	return st;
}

static void put_row(struct bench *b, const char *name, double ms, double rate, double bound)
{
	if (!b->as_json) {
		printf("%-14s %10.3f %10.1f %8.3f\n", name, ms, rate, rate / bound);
		return;
	}
	json_begin_object(&b->json, NULL);
	json_put_string(&b->json, "kernel", name);
	json_put_int(&b->json, "elements", COUNT);
	json_put_double(&b->json, "ms", ms);
	json_put_double(&b->json, "gb_per_s", rate);
	json_put_double(&b->json, "share", rate / bound);
	json_end_object(&b->json);
}

enum status bench_kernels(struct bench *b, struct error *err)
{
	enum status st;
	static struct element e; /* its labels are too many for the stack */
	double memory[TRAFFIC_COUNT] = {0}, ms[ARRAY_SIZE(list)];

	TRY(bench_open(b, 0, err));
	e.dev = b->dev;
	TRY(allocate(&e, err));
	/* The bound before and after: the better one is nearer to what the machine can do. */
	TRY(bench_memory(b, memory, err));
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		bench_progress("kernels", (int)i, ARRAY_SIZE(list));
		ms[i] = bench_time(b->seconds, list[i].run, &e).best_ms;
	}
	TRY(bench_memory(b, memory, err));
	bench_progress("kernels", 1, 1);
	if (b->as_json) {
		json_put_double(&b->json, "read_gb_per_s", memory[TRAFFIC_READ]);
		json_put_double(&b->json, "copy_gb_per_s", memory[TRAFFIC_COPY]);
		json_put_double(&b->json, "in_place_gb_per_s", memory[TRAFFIC_IN_PLACE]);
		json_put_int(&b->json, "threads", device_threads(b->dev));
		json_begin_array(&b->json, "rows");
	} else {
		printf("memory in this run, GB/s: read %.1f, copy %.1f, in place %.1f; %s\n\n",
		       memory[TRAFFIC_READ], memory[TRAFFIC_COPY], memory[TRAFFIC_IN_PLACE],
		       device_description(b->dev));
		printf("%-14s %10s %10s %8s\n", "kernel", "ms", "GB/s", "share");
	}
	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		put_row(b, list[i].name, ms[i], (double)COUNT * list[i].bytes / ms[i] * 1e-6,
			memory[list[i].traffic]);
	if (b->as_json)
		json_end_array(&b->json);
out:
	return st;
}
