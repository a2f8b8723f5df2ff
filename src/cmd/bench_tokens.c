/*
 * bench_tokens.c - the kernels of language models at their sizes, beside bench_kernels.c: what
 * a layer does between its products. Much of it stays in the caches there, so a share of the
 * memory's bandwidth may be above 1.
 */
#include "cmd/bench.h"
#include "base/util.h"

#include <stdio.h>

/* Of the two presets that people start with. */
static const struct size {
	int rows, columns, wide, classes;
} sizes[] = {{2048, 384, 1536, 65}, {1024, 768, 3072, 50257}};

enum { MATRICES = 4 };

struct tokens {
	struct device *dev;
	struct size size;
	enum dtype type;
	void *matrix[MATRICES]; /* (rows, wide) at least */
	void *values, *table;	/* of all classes; (classes, columns) */
	int32_t *numbers;	/* (rows), below classes */
	float *stats;
	double *yield;
	void (*run)(const struct tokens *t);
};

static struct view columns_of(const struct tokens *t, int matrix)
{
	return (struct view){t->matrix[matrix], (size_t)t->size.columns, t->type};
}

static struct view wide_of(const struct tokens *t, int matrix)
{
	return (struct view){t->matrix[matrix], (size_t)t->size.wide, t->type};
}

/* ---- norms and sums ---- */

static struct norm norm_of(const struct tokens *t)
{
	return (struct norm){.kind = NORM_LAYER,
			     .rows = t->size.rows,
			     .columns = t->size.columns,
			     .x = columns_of(t, 0),
			     .y = columns_of(t, 1),
			     .dx = columns_of(t, 2),
			     .saved = {.data = t->stats, .stride = 2},
			     .weight = t->matrix[3],
			     .bias = (char *)t->matrix[3] + 4096 * sizeof(float),
			     .dweight = (char *)t->matrix[3] + 8192 * sizeof(float),
			     .dbias = (char *)t->matrix[3] + 12288 * sizeof(float),
			     .type = t->type,
			     .eps = 1e-5f};
}

static void run_norm(const struct tokens *t)
{
	struct norm n = norm_of(t);

	device_norm_forward(t->dev, &n);
}

static void run_norm_dinput(const struct tokens *t)
{
	struct norm n = norm_of(t);

	device_norm_backward_input(t->dev, &n);
}

static void run_norm_dweight(const struct tokens *t)
{
	struct norm n = norm_of(t);

	device_norm_backward_weight(t->dev, &n);
}

static void run_add(const struct tokens *t)
{
	device_add(t->dev, columns_of(t, 0), columns_of(t, 1), t->size.rows, t->size.columns);
}

static void run_copy(const struct tokens *t)
{
	device_copy(t->dev, columns_of(t, 0), 0, columns_of(t, 1), 0, t->size.rows,
		    t->size.columns);
}

static void run_dropout(const struct tokens *t)
{
	struct dropout d = {.p = 0.1, .columns = t->size.columns};

	device_dropout(t->dev, columns_of(t, 0), columns_of(t, 1), t->size.rows,
		       t->size.columns, &d);
}

/* ---- activations: the value in place, and the gradient ---- */

static void activate(const struct tokens *t, enum activation act)
{
	device_activate(t->dev, wide_of(t, 0), wide_of(t, 1), wide_of(t, 2), t->size.rows,
			t->size.wide, act);
}

static void run_gelu(const struct tokens *t)
{
	activate(t, ACT_GELU);
}

static void run_gelu_tanh(const struct tokens *t)
{
	activate(t, ACT_GELU_TANH);
}

/* At what matrix 1 holds the slope is 1: others would end among the subnormal numbers. */
static void derive(const struct tokens *t, enum activation act)
{
	device_derive(t->dev, wide_of(t, 3), wide_of(t, 1), t->size.rows, t->size.wide, act);
}

static void run_dgelu(const struct tokens *t)
{
	derive(t, ACT_GELU);
}

static void run_dgelu_tanh(const struct tokens *t)
{
	derive(t, ACT_GELU_TANH);
}

static struct gate gate_of(const struct tokens *t)
{
	return (struct gate){.rows = t->size.rows,
			     .columns = t->size.wide / 2,
			     .act = ACT_SILU,
			     .x = wide_of(t, 0),
			     .dx = wide_of(t, 1),
			     .y = wide_of(t, 2),
			     .dy = wide_of(t, 3)};
}

static void run_gate(const struct tokens *t)
{
	struct gate g = gate_of(t);

	device_gate(t->dev, &g);
}

static void run_dgate(const struct tokens *t)
{
	struct gate g = gate_of(t);

	device_gate_gradient(t->dev, &g);
}

/* ---- tables ---- */

static struct embedding embedding_of(const struct tokens *t, bool accumulate)
{
	return (struct embedding){.rows = t->size.rows,
				  .columns = t->size.columns,
				  .count = t->size.classes,
				  .tokens = t->numbers,
				  .table = t->table,
				  .type = t->type,
				  .y = columns_of(t, 0),
				  .accumulate = accumulate};
}

static void run_embed(const struct tokens *t)
{
	struct embedding e = embedding_of(t, false);

	device_embed(t->dev, &e);
}

static void run_dembed(const struct tokens *t)
{
	struct embedding e = embedding_of(t, true);

	device_embed_gradient(t->dev, &e);
}

static struct positions positions_of(const struct tokens *t)
{
	return (struct positions){.rows = t->size.rows,
				  .columns = t->size.columns,
				  .length = 256,
				  .table = t->matrix[1],
				  .type = t->type,
				  .y = columns_of(t, 0)};
}

static void run_positions(const struct tokens *t)
{
	struct positions p = positions_of(t);

	device_add_positions(t->dev, &p);
}

static void run_dpositions(const struct tokens *t)
{
	struct positions p = positions_of(t);

	device_positions_gradient(t->dev, &p);
}

/* ---- classes ---- */

static struct class_slice classes_of(const struct tokens *t)
{
	struct view y = {t->values, (size_t)t->size.classes, t->type};

	return (struct class_slice){.rows = t->size.rows,
				    .columns = t->size.classes,
				    .y = y,
				    .dy = y,
				    .labels = t->numbers,
				    .stats = t->stats,
				    .slices = 1,
				    .scale = 1e-3f};
}

static void run_stats(const struct tokens *t)
{
	struct class_slice c = classes_of(t);

	device_class_stats(t->dev, &c);
}

static void run_loss(const struct tokens *t)
{
	struct class_slice c = classes_of(t);

	device_class_loss(t->dev, &c, t->yield, t->yield + 1);
}

/* What an element is one of. */
enum unit { COLUMN, WIDE, HALF, CLASS };

static const struct {
	const char *name;
	void (*run)(const struct tokens *t);
	enum unit unit;
	int times; /* that it is read or written */
	enum traffic traffic;
} list[] = {
	{"layer-norm", run_norm, COLUMN, 2, TRAFFIC_COPY},
	{"norm-dinput", run_norm_dinput, COLUMN, 3, TRAFFIC_COPY},
	{"norm-dweight", run_norm_dweight, COLUMN, 2, TRAFFIC_READ},
	{"add", run_add, COLUMN, 3, TRAFFIC_IN_PLACE},
	{"copy", run_copy, COLUMN, 2, TRAFFIC_COPY},
	{"dropout", run_dropout, COLUMN, 2, TRAFFIC_COPY},
	{"gelu", run_gelu, WIDE, 3, TRAFFIC_COPY},
	{"gelu-tanh", run_gelu_tanh, WIDE, 3, TRAFFIC_COPY},
	{"gelu'", run_dgelu, WIDE, 3, TRAFFIC_IN_PLACE},
	{"gelu-tanh'", run_dgelu_tanh, WIDE, 3, TRAFFIC_IN_PLACE},
	{"gate", run_gate, HALF, 3, TRAFFIC_COPY},
	{"gate'", run_dgate, HALF, 5, TRAFFIC_COPY},
	{"embed", run_embed, COLUMN, 2, TRAFFIC_COPY},
	{"embed'", run_dembed, COLUMN, 3, TRAFFIC_IN_PLACE},
	{"positions", run_positions, COLUMN, 3, TRAFFIC_IN_PLACE},
	{"positions'", run_dpositions, COLUMN, 1, TRAFFIC_READ},
	{"class-stats", run_stats, CLASS, 1, TRAFFIC_READ},
	{"class-loss", run_loss, CLASS, 2, TRAFFIC_IN_PLACE},
};

enum { COUNT = ARRAY_SIZE(list) };
static double best_ms[ARRAY_SIZE(sizes)][COUNT];

static int width_of(const struct size *s, enum unit unit)
{
	switch (unit) {
	case COLUMN:
		return s->columns;
	case WIDE:
		return s->wide;
	case HALF:
		return s->wide / 2;
	case CLASS:
		return s->classes;
	}
	return 0;
}

static void run_one(void *arg)
{
	const struct tokens *t = arg;

	t->run(t);
	bench_wait(t->dev, t->yield);
}

/* Tokens as texts have them: few of them often. */
static void fill_numbers(struct tokens *t)
{
	size_t bytes = (size_t)t->size.rows * sizeof(*t->numbers);
	int32_t *host =
		device_host_begin(t->dev, QUEUE_COMPUTE, t->numbers, bytes, HOST_WRITES);

	for (int i = 0; i < t->size.rows; i++)
		host[i] = (int32_t)((int64_t)i * i * 7919 %
				    (i % 3 ? t->size.classes : imin(t->size.classes, 500)));
	device_host_end(t->dev, QUEUE_COMPUTE, t->numbers, bytes, HOST_WRITES);
}

/* Before every kernel: others have left results in them. */
static void fill_matrices(struct tokens *t)
{
	for (int i = 0; i < MATRICES; i++)
		bench_fill(t->dev, t->matrix[i], t->type,
			   (size_t)t->size.rows * (size_t)t->size.wide, (uint64_t)i,
			   i == 1 ? 8 : -1, i == 1 ? 9 : 1);
}

static enum status allocate(struct tokens *t, struct error *err)
{
	const struct size *s = &t->size;
	size_t wide = (size_t)s->rows * (size_t)s->wide;
	size_t values = (size_t)s->rows * (size_t)s->classes, stats = (size_t)s->rows * 3;
	size_t table = device_matrix_size(t->dev, s->classes, s->columns);
	enum status st;

	TRY(device_reserve(t->dev, s->rows, s->wide, err));
	for (int i = 0; i < MATRICES; i++)
		TRY(device_alloc(t->dev, MEMORY_WORKSPACE, wide * sizeof(float), "a matrix",
				 &t->matrix[i], err));
	TRY(device_alloc(t->dev, MEMORY_WORKSPACE, values * sizeof(float), "the classes",
			 &t->values, err));
	bench_fill(t->dev, t->values, t->type, values, 5, -1, 1);
	TRY(device_alloc(t->dev, MEMORY_WORKSPACE, table * sizeof(float), "the table",
			 &t->table, err));
	TRY(device_alloc(t->dev, MEMORY_WORKSPACE, (uint64_t)s->rows * sizeof(*t->numbers),
			 "the tokens", (void **)&t->numbers, err));
	TRY(device_alloc(t->dev, MEMORY_WORKSPACE, stats * sizeof(float), "what is saved",
			 (void **)&t->stats, err));
	TRY(device_alloc(t->dev, MEMORY_WORKSPACE, 2 * sizeof(*t->yield), "what kernels yield",
			 (void **)&t->yield, err));
	fill_numbers(t);
out:
	return st;
}

static void release(struct tokens *t)
{
	for (int i = 0; i < MATRICES; i++)
		device_free(t->dev, t->matrix[i]);
	device_free(t->dev, t->values);
	device_free(t->dev, t->table);
	device_free(t->dev, t->numbers);
	device_free(t->dev, t->stats);
	device_free(t->dev, t->yield);
}

enum status bench_tokens(struct bench *b, struct error *err)
{
	enum status st = OK;

	for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
		struct tokens t = {
			.dev = b->dev, .size = sizes[s], .type = (enum dtype)b->dtype};

		st = allocate(&t, err);
		for (int i = 0; i < COUNT && st == OK; i++) {
			bench_progress("kernels of language models", (int)s * COUNT + i,
				       COUNT * (int)ARRAY_SIZE(sizes));
			fill_matrices(&t);
			t.run = list[i].run;
			best_ms[s][i] = bench_time(b->seconds, run_one, &t).best_ms;
		}
		release(&t);
		TRY(st);
	}
out:
	return st;
}

void bench_put_tokens(struct bench *b, const double memory[TRAFFIC_COUNT])
{
	for (size_t s = 0; s < ARRAY_SIZE(sizes); s++)
		for (int i = 0; i < COUNT; i++) {
			int columns = width_of(&sizes[s], list[i].unit);
			double bytes = (double)sizes[s].rows * columns *
				       (double)dtype_size((enum dtype)b->dtype) * list[i].times;

			bench_put_kernel(b,
					 &(struct bench_kernel){
						 .name = list[i].name,
						 .rows = sizes[s].rows,
						 .columns = columns,
						 .type = (enum dtype)b->dtype,
						 .ms = best_ms[s][i],
						 .rate = bytes / best_ms[s][i] * 1e-6,
						 .traffic = list[i].traffic,
					 },
					 memory);
		}
}
