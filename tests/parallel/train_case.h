/*
 * train_case.h - one run of kolm train of the product that test_train.c goes through, as
 * the command that a user would type, and the same run on one rank.
 */
#ifndef KOLM_TESTS_TRAIN_CASE_H
#define KOLM_TESTS_TRAIN_CASE_H

#include "testing.h"

#include "base/file.h"
#include "grid/grid.h"
#include "schedule/schedule.h"

enum { STEPS = 4, FEATURES = 7, SAMPLES = 300, COMMAND = 1024 };

/* What the product is of. */
struct train_case {
	struct grid grid;
	int depth;
	const char *schedule;
	bool tiny; /* buckets, of a layer or so */
	bool csv;
	/* what follows from the number of the case: see train_case_season */
	int dim, chunks, micro_batches, rows;
	bool zero, base, is_virtual, classes, breakdown, clip;
	double lr;
	const char *sync, *precision, *optimizer, *activation;
};

/* Everything else that a run can be asked for, some of it now and then. */
static inline void train_case_season(struct train_case *c, uint64_t seed, int number)
{
	static const char *const precisions[] = {"fp32", "fp32", "fp32", "fp16", "bf16"};
	static const char *const optimizers[] = {"sgd", "momentum",
						 "adamw --eps 1e-3 --weight-decay 0.01"};
	static const char *const activations[] = {"relu", "gelu", "none"};
	const struct grid *g = &c->grid;
	struct random r = {seed, (uint64_t)number * 64};
	int counts[] = {1, 2, g->pp, g->pp + 1};

	c->dim = g->mp * random_int(&r, 1 + 11 / g->mp, 1 + 20 / g->mp);
	c->chunks = 1;
	if (!strcmp(c->schedule, "interleaved"))
		c->chunks = random_int(&r, 2, imin(3, c->depth / g->pp));
	c->micro_batches = counts[random_int(&r, 0, 3)];
	c->rows = random_int(&r, 1, 2);
	c->zero = g->dp > 1 && random_int(&r, 0, 2) == 0;
	c->base = !strcmp(c->schedule, "naive") && random_int(&r, 0, 1);
	c->is_virtual = random_int(&r, 0, 9) == 0;
	/* Of a single target a split last layer has no equal shares. */
	c->classes = (g->mp > 1 && c->depth % 2) || random_int(&r, 0, 1);
	c->breakdown = random_int(&r, 0, 7) == 0;
	c->sync = random_int(&r, 0, 3) ? "ddp" : "flat";
	if (g->dp > 1 && g->pp == 1 && g->mp == 1 && !c->zero && random_int(&r, 0, 3) == 0)
		c->sync = "master";
	c->precision = precisions[random_int(&r, 0, ARRAY_SIZE(precisions) - 1)];
	c->clip = random_int(&r, 0, 3) == 0;
	/* Deep stacks amplify what was rounded, and large steps what they have amplified. */
	c->lr = 0.003 * 8 / imax(8, c->depth) * (strcmp(c->precision, "fp32") ? 0.1 : 1);
	c->optimizer = optimizers[random_int(&r, 0, ARRAY_SIZE(optimizers) - 1)];
	c->activation = activations[random_int(&r, 0, ARRAY_SIZE(activations) - 1)];
}

static inline bool train_case_possible(const struct train_case *c)
{
	return strcmp(c->schedule, "interleaved") || c->depth >= 2 * c->grid.pp;
}

/* What decides on the numbers: equal on one rank and on the grid. */
static inline void train_case_model(const struct train_case *c, char buf[COMMAND])
{
	char data[64] = "synthetic";

	if (c->csv && c->classes)
		snprintf(data, sizeof(data), "csv:classes-%d.csv", c->grid.mp);
	else if (c->csv)
		snprintf(data, sizeof(data), "csv:targets.csv");
	snprintf(
		buf, COMMAND,
		"train --dim %d --depth %d --batch %d --data %s --activation %s --precision %s "
		"--loss-scale 1024 --optimizer %s --lr %g --clip-grad %s --steps %d "
		"--warmup 1 --threads 1 --quiet",
		c->dim, c->depth, c->grid.dp * c->micro_batches * c->rows, data, c->activation,
		c->precision, c->optimizer, c->lr, c->clip ? "0.5" : "off", STEPS);
}

static inline void train_case_command(const struct train_case *c, char buf[COMMAND])
{
	size_t n;

	train_case_model(c, buf);
	n = strlen(buf);
	snprintf(buf + n, COMMAND - n,
		 " --dp %d --pp %d --mp %d --schedule %s --micro-batches %d --grad-sync %s "
		 "--zero %d --engine %s",
		 c->grid.dp, c->grid.pp, c->grid.mp, c->schedule, c->micro_batches, c->sync,
		 c->zero, c->base ? "base" : "hybrid");
	n = strlen(buf);
	if (c->chunks > 1)
		snprintf(buf + n, COMMAND - n, " --chunks %d", c->chunks);
	n = strlen(buf);
	snprintf(buf + n, COMMAND - n, "%s%s%s", c->tiny ? " --bucket-mb 0.001" : "",
		 c->breakdown ? " --breakdown" : "",
		 c->is_virtual ? " --device virtual:gflops=1,link=1GB/s,latency=5us" : "");
}

/* Seven features, and a class or a target that has something to do with them. */
static inline void train_case_write_csv(const char *path, int classes)
{
	FILE *f = fopen(path, "w");
	struct random r = {5, 0};

	assert_non_null(f);
	for (int i = 0; i < SAMPLES; i++) {
		float x[FEATURES], sum = 0;

		random_fill(&r, x, FEATURES);
		for (int k = 0; k < FEATURES; k++) {
			fprintf(f, "%.3f,", (double)x[k]);
			sum += x[k];
		}
		if (classes)
			fprintf(f, "%d\n", (i + (sum > 0)) % classes);
		else
			fprintf(f, "%.3f\n", (double)sum + 0.0005);
	}
	assert_int_equal(fclose(f), 0);
}

#endif
