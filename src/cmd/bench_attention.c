/* bench_attention.c - attention against the peak of multiply-adds of the same run, as a part of
   kolm bench kernels. */
#include "cmd/bench.h"
#include "base/util.h"

#include <math.h>
#include <stdio.h>

struct run {
	struct device *dev;
	struct attention a;
	void *qkv, *gradients, *out, *dout, *saved;
	bool backward;
};

/* Training as GPT-2 has it and of short sequences, one head alone that threads have to share,
   and a token that is generated behind 1,023 others. */
static const struct {
	int sequences, queries, keys, heads, kv_heads, width;
	enum dtype type;
	double drop;
} shapes[] = {
	{4, 256, 256, 6, 6, 64, DTYPE_F32, 0},	   {4, 256, 256, 6, 6, 64, DTYPE_F32, 0.1},
	{1, 1024, 1024, 12, 12, 64, DTYPE_F32, 0}, {1, 1024, 1024, 12, 12, 64, DTYPE_BF16, 0},
	{1, 1024, 1024, 8, 2, 128, DTYPE_F32, 0},  {1, 1024, 1024, 1, 1, 64, DTYPE_F32, 0},
	{1, 1, 1024, 12, 12, 64, DTYPE_F32, 0},
};

static void run_one(void *arg)
{
	struct run *run = arg;

	if (run->backward)
		device_attention_backward(run->dev, &run->a);
	else
		device_attention_forward(run->dev, &run->a);
	bench_wait(run->dev, run->saved);
}

static enum status allocate(struct run *run, size_t rows, size_t all, size_t wide,
			    struct error *err)
{
	const struct attention *a = &run->a;
	enum dtype type = a->q.type;
	size_t size = dtype_size(type);
	struct {
		void **memory;
		size_t bytes;
	} wanted[] = {{&run->qkv, rows * all * size},
		      {&run->gradients, rows * all * size},
		      {&run->out, rows * wide * size},
		      {&run->dout, rows * wide * size},
		      {&run->saved, rows * (size_t)a->heads * sizeof(float)}};
	enum status st;

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		TRY(device_alloc(run->dev, MEMORY_WORKSPACE, wanted[i].bytes,
				 "the benchmark's operands", wanted[i].memory, err));
	TRY(device_reserve_attention(run->dev, a->keys, a->width, err));
	bench_fill(run->dev, run->qkv, type, rows * all, 1, -1, 1);
	bench_fill(run->dev, run->dout, type, rows * wide, 2, -1, 1);
out:
	return st;
}

/* q, k and v are windows of one matrix, and so are their gradients. */
static enum status prepare(struct run *run, int i, struct error *err)
{
	enum dtype type = shapes[i].type;
	int wide = shapes[i].heads * shapes[i].width;
	int kv_wide = shapes[i].kv_heads * shapes[i].width, all = wide + 2 * kv_wide;
	struct view x, dx;
	enum status st;

	run->a = (struct attention){.sequences = shapes[i].sequences,
				    .queries = shapes[i].queries,
				    .keys = shapes[i].keys,
				    .first = shapes[i].keys - shapes[i].queries,
				    .heads = shapes[i].heads,
				    .kv_heads = shapes[i].kv_heads,
				    .width = shapes[i].width,
				    .scale = (float)(1 / sqrt(shapes[i].width)),
				    .q.type = type,
				    .drop.p = shapes[i].drop,
				    .all_heads = shapes[i].heads};
	TRY(allocate(run, (size_t)shapes[i].sequences * (size_t)shapes[i].keys, (size_t)all,
		     (size_t)wide, err));
	x = (struct view){run->qkv, (size_t)all, type};
	dx = (struct view){run->gradients, (size_t)all, type};
	run->a.q = x;
	run->a.k = view_at(x, wide);
	run->a.v = view_at(x, wide + kv_wide);
	run->a.dq = dx;
	run->a.dk = view_at(dx, wide);
	run->a.dv = view_at(dx, wide + kv_wide);
	run->a.out = (struct view){run->out, (size_t)wide, type};
	run->a.dout = (struct view){run->dout, (size_t)wide, type};
	run->a.saved = (struct view){run->saved, (size_t)run->a.heads, DTYPE_F32};
out:
	return st;
}

static void release(struct run *run)
{
	void *memory[] = {run->qkv, run->gradients, run->out, run->dout, run->saved};

	for (size_t i = 0; i < ARRAY_SIZE(memory); i++)
		device_free(run->dev, memory[i]);
}

static void put_row(struct bench *b, int i, bool backward, double ms, double peak)
{
	double pairs = shapes[i].queries * (shapes[i].keys - (shapes[i].queries - 1) / 2.0);
	double flops = (backward ? 10 : 4) * pairs * shapes[i].sequences * shapes[i].heads *
		       shapes[i].width;
	const char *name = backward ? "backward" : "forward";
	double rate = flops / ms * 1e-6;

	if (!b->as_json) {
		printf("%-9s %4d x %4d of %4d %5d/%-2d %6d %6s %8.1f %10.3f %10.1f %8.3f\n",
		       name, shapes[i].sequences, shapes[i].queries, shapes[i].keys,
		       shapes[i].heads, shapes[i].kv_heads, shapes[i].width,
		       precision_names[shapes[i].type], shapes[i].drop, ms, rate, rate / peak);
		return;
	}
	json_begin_object(&b->json, NULL);
	json_put_string(&b->json, "pass", name);
	json_put_int(&b->json, "sequences", shapes[i].sequences);
	json_put_int(&b->json, "queries", shapes[i].queries);
	json_put_int(&b->json, "keys", shapes[i].keys);
	json_put_int(&b->json, "heads", shapes[i].heads);
	json_put_int(&b->json, "kv_heads", shapes[i].kv_heads);
	json_put_int(&b->json, "width", shapes[i].width);
	json_put_string(&b->json, "dtype", precision_names[shapes[i].type]);
	json_put_double(&b->json, "dropout", shapes[i].drop);
	json_put_double(&b->json, "ms", ms);
	json_put_double(&b->json, "gflops", rate);
	json_put_double(&b->json, "share", rate / peak);
	json_end_object(&b->json);
}

enum status bench_attention(struct bench *b, struct error *err)
{
	struct run run = {.dev = b->dev};
	double ms[ARRAY_SIZE(shapes)][2] = {{0}}, peak = bench_fma_peak(b, DTYPE_F32, 0);
	enum status st = OK;

	for (int i = 0; i < (int)ARRAY_SIZE(shapes); i++) {
		bench_progress("attention", i, ARRAY_SIZE(shapes));
		TRY(prepare(&run, i, err));
		for (int k = 0; k < (shapes[i].queries == shapes[i].keys ? 2 : 1); k++) {
			run.backward = k == 1;
			ms[i][k] = bench_time(b->seconds, run_one, &run).best_ms;
		}
		release(&run);
		run = (struct run){.dev = b->dev};
		peak = bench_fma_peak(b, DTYPE_F32, peak);
	}
	bench_progress("attention", 1, 1);
	if (b->as_json) {
		json_put_double(&b->json, "fma_gflops", peak);
		json_begin_array(&b->json, "attention");
	} else {
		printf("\nattention, computed in fp32 (peak in this run: %.1f GFLOP/s)\n"
		       "%-9s %4s x %s of %4s %8s %6s %6s %8s %10s %10s %8s\n",
		       peak, "", "n", "queries", "keys", "heads", "width", "dtype", "dropout",
		       "ms", "GFLOP/s", "share");
	}
	for (int i = 0; i < (int)ARRAY_SIZE(shapes); i++)
		for (int k = 0; k < 2; k++)
			if (ms[i][k] > 0)
				put_row(b, i, k == 1, ms[i][k], peak);
	if (b->as_json)
		json_end_array(&b->json);
out:
	release(&run);
	return st;
}
