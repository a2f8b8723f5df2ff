/* bench_kernels.c - elementwise kernels against the memory bandwidth of the same run. */
#include "cmd/bench.h"
#include "base/util.h"

#include <math.h>
#include <stdio.h>

enum {
	COUNT = 32 << 20,
	COLUMNS = 1024,
	ROWS = COUNT / COLUMNS
}; /* elements: far larger than any cache */

struct element {
	struct device *dev;
	float *a, *b, *c, *d;
	double *number;	 /* takes what kernels yield */
	int32_t *labels; /* all zero */
	float *stats;
	float *saved; /* of norms: two per row */
	void (*run)(const struct element *e);
};

static struct view matrix(float *data)
{
	return (struct view){.data = data, .stride = COLUMNS};
}

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

static void run_sgd(const struct element *e)
{
	run_update(e, OPT_SGD);
}

static void run_momentum(const struct element *e)
{
	run_update(e, OPT_MOMENTUM);
}

static void run_adamw(const struct element *e)
{
	run_update(e, OPT_ADAMW);
}

static void run_norm(const struct element *e)
{
	device_sum_squares(e->dev, e->a, DTYPE_F32, COUNT, 1, e->number);
}

static void run_to_f16(const struct element *e)
{
	device_cast(e->dev, e->a, DTYPE_F32, e->c, DTYPE_F16, COUNT);
}

static void run_from_f16(const struct element *e)
{
	device_cast(e->dev, e->a, DTYPE_F16, e->c, DTYPE_F32, COUNT);
}

static void run_to_bf16(const struct element *e)
{
	device_cast(e->dev, e->a, DTYPE_F32, e->c, DTYPE_BF16, COUNT);
}

static void run_from_bf16(const struct element *e)
{
	device_cast(e->dev, e->a, DTYPE_BF16, e->c, DTYPE_F32, COUNT);
}

static void run_mse(const struct element *e)
{
	device_mse(e->dev, matrix(e->a), matrix(e->b), matrix(e->c), ROWS, COLUMNS, 1e-6f,
		   e->number);
}

static void run_cross_entropy(const struct element *e)
{
	struct class_slice c = {.rows = ROWS,
				.columns = COLUMNS,
				.y = matrix(e->a),
				.dy = matrix(e->c),
				.labels = e->labels,
				.stats = e->stats,
				.slices = 1,
				.scale = 1e-6f};

	device_class_stats(e->dev, &c);
	device_class_loss(e->dev, &c, e->number, NULL);
}

static void run_activation(const struct element *e, enum activation act)
{
	device_activate(e->dev, matrix(e->d), matrix(e->b), (struct view){0}, ROWS, COLUMNS,
			act);
}

static void run_gelu(const struct element *e)
{
	run_activation(e, ACT_GELU);
}

static void run_tanh(const struct element *e)
{
	run_activation(e, ACT_TANH);
}

static void run_silu(const struct element *e)
{
	run_activation(e, ACT_SILU);
}

static void run_add(const struct element *e)
{
	device_add(e->dev, matrix(e->d), matrix(e->b), ROWS, COLUMNS);
}

static void run_dropout(const struct element *e)
{
	struct dropout d = {.p = 0.1, .columns = COLUMNS};

	device_dropout(e->dev, matrix(e->c), matrix(e->a), ROWS, COLUMNS, &d);
}

/* From a and, as gradient, b, to c; weight and bias are rows of d. */
static struct norm norm_of(const struct element *e, enum norm_kind kind)
{
	return (struct norm){.kind = kind,
			     .rows = ROWS,
			     .columns = COLUMNS,
			     .x = matrix(e->a),
			     .y = matrix(e->b),
			     .dx = matrix(e->c),
			     .saved = {.data = e->saved, .stride = 2},
			     .weight = e->d,
			     .dweight = e->d + COLUMNS,
			     .dbias = e->d + 2 * COLUMNS,
			     .eps = 1e-5f};
}

static void forward_norm(const struct element *e, enum norm_kind kind)
{
	struct norm n = norm_of(e, kind);

	n.y = n.dx;
	device_norm_forward(e->dev, &n);
}

static void run_layer_norm(const struct element *e)
{
	forward_norm(e, NORM_LAYER);
}

static void run_rms_norm(const struct element *e)
{
	forward_norm(e, NORM_RMS);
}

static void run_norm_dinput(const struct element *e)
{
	struct norm n = norm_of(e, NORM_LAYER);

	device_norm_backward_input(e->dev, &n);
}

static void run_norm_dweight(const struct element *e)
{
	struct norm n = norm_of(e, NORM_LAYER);

	device_norm_backward_weight(e->dev, &n);
}

/* 16 heads of 64, at 1,024 positions. */
static void run_rotary(const struct element *e)
{
	struct rotary r = {.rows = ROWS,
			   .heads = COLUMNS / 64,
			   .width = 64,
			   .length = 1024,
			   .theta = 10000,
			   .x = matrix(e->d)};

	device_rotate(e->dev, &r);
}

/* What is timed: the kernel, until it is done. */
static void run_one(void *arg)
{
	const struct element *e = arg;

	e->run(e);
	bench_wait(e->dev, e->number);
}

static const struct {
	const char *name;
	void (*run)(const struct element *e);
	int bytes; /* read and written per element */
	enum traffic traffic;
} list[] = {
	{"sgd", run_sgd, 12, TRAFFIC_IN_PLACE},
	{"momentum", run_momentum, 20, TRAFFIC_IN_PLACE},
	{"adamw", run_adamw, 28, TRAFFIC_IN_PLACE},
	{"norm", run_norm, 4, TRAFFIC_READ},
	{"mse", run_mse, 12, TRAFFIC_COPY},
	{"cross-entropy", run_cross_entropy, 8, TRAFFIC_COPY},
	{"gelu", run_gelu, 8, TRAFFIC_IN_PLACE},
	{"tanh", run_tanh, 8, TRAFFIC_IN_PLACE},
	{"silu", run_silu, 8, TRAFFIC_IN_PLACE},
	{"add", run_add, 12, TRAFFIC_IN_PLACE},
	{"dropout", run_dropout, 8, TRAFFIC_COPY},
	{"layer-norm", run_layer_norm, 8, TRAFFIC_COPY},
	{"rms-norm", run_rms_norm, 8, TRAFFIC_COPY},
	{"norm-dinput", run_norm_dinput, 12, TRAFFIC_COPY},
	{"norm-dweight", run_norm_dweight, 8, TRAFFIC_READ},
	{"rotary", run_rotary, 8, TRAFFIC_IN_PLACE},
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
		bench_fill(e->dev, *arrays[i], DTYPE_F32, COUNT, i, 0.001f, 1);
	}
	TRY(device_alloc(e->dev, MEMORY_WORKSPACE, sizeof(*e->number), "what kernels yield",
			 (void **)&e->number, err));
	TRY(device_alloc(e->dev, MEMORY_WORKSPACE, ROWS * sizeof(*e->labels), "the labels",
			 (void **)&e->labels, err));
	TRY(device_alloc(e->dev, MEMORY_WORKSPACE, ROWS * CLASS_STATS * sizeof(*e->stats),
			 "what classes add up to", (void **)&e->stats, err));
	TRY(device_alloc(e->dev, MEMORY_WORKSPACE, ROWS * 2 * sizeof(*e->saved),
			 "what norms save", (void **)&e->saved, err));
	TRY(device_reserve(e->dev, ROWS, COLUMNS, err));
out:
	return st;
}

void bench_put_kernel(struct bench *b, const struct bench_kernel *k,
		      const double memory[TRAFFIC_COUNT])
{
	static const char *const of[TRAFFIC_COUNT] = {"read", "copy", "in place"};
	double share = k->rate / memory[k->traffic];

	if (!b->as_json) {
		printf("%-14s %6d %6d %-5s %10.3f %10.1f %8.3f %-8s\n", k->name, k->rows,
		       k->columns, precision_names[k->type], k->ms, k->rate, share,
		       of[k->traffic]);
		return;
	}
	json_begin_object(&b->json, NULL);
	json_put_string(&b->json, "kernel", k->name);
	json_put_int(&b->json, "rows", k->rows);
	json_put_int(&b->json, "columns", k->columns);
	json_put_int(&b->json, "elements", (int64_t)k->rows * k->columns);
	json_put_string(&b->json, "dtype", precision_names[k->type]);
	json_put_double(&b->json, "ms", k->ms);
	json_put_double(&b->json, "gb_per_s", k->rate);
	json_put_double(&b->json, "share", share);
	json_put_string(&b->json, "share_of", of[k->traffic]);
	json_end_object(&b->json);
}

enum status bench_kernels(struct bench *b, struct error *err)
{
	enum status st;
	struct element e = {0};
	double memory[TRAFFIC_COUNT] = {0}, ms[ARRAY_SIZE(list)];

	TRY(bench_open(b, 0, err));
	e.dev = b->dev;
	TRY(allocate(&e, err));
	/* The bound before and after: the better one is nearer to what the machine can do. */
	TRY(bench_memory(b, memory, err));
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		bench_progress("kernels", (int)i, ARRAY_SIZE(list));
		e.run = list[i].run;
		ms[i] = bench_time(b->seconds, run_one, &e).best_ms;
	}
	bench_progress("kernels", 1, 1);
	TRY(bench_tokens(b, err));
	TRY(bench_memory(b, memory, err));
	bench_progress("kernels of language models", 1, 1);
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
		printf("%-14s %6s %6s %-5s %10s %10s %8s %-8s\n", "kernel", "rows", "columns",
		       "type", "ms", "GB/s", "share", "of");
	}
	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		bench_put_kernel(b,
				 &(struct bench_kernel){.name = list[i].name,
							.rows = ROWS,
							.columns = COLUMNS,
							.ms = ms[i],
							.rate = (double)COUNT * list[i].bytes /
								ms[i] * 1e-6,
							.traffic = list[i].traffic},
				 memory);
	bench_put_tokens(b, memory);
	if (b->as_json)
		json_end_array(&b->json);
	TRY(bench_attention(b, err));
out:
	return st;
}
