/*
 * train_case.h - one run of kolm train of the product that test_train.c goes through, as
 * the command that a user would type, and the same run on one rank.
 */
#ifndef KOLM_TESTS_TRAIN_CASE_H
#define KOLM_TESTS_TRAIN_CASE_H

#include "testing.h"

#include "base/file.h"
#include "device/kernel.h"
#include "grid/grid.h"
#include "schedule/schedule.h"

enum { STEPS = 4, FEATURES = 7, SAMPLES = 300, COMMAND = 2048 };

/* Of a language model: what it is, and what the grid makes of it. */
struct train_language {
	const char *model; /* NULL: it is none */
	int heads, kv_heads, width, context, vocabulary;
	const char *recompute, *tokenizer;
	bool spreads, no_bias;
};

/* What the product is of. */
struct train_case {
	struct grid grid;
	int depth; /* layers of the list: embedding and head of a language model too */
	const char *schedule;
	bool tiny; /* buckets, of a layer or so */
	bool csv;  /* or text: a file, of which some is held out */
	/* what follows from the number of the case: see train_case_season */
	int dim, chunks, micro_batches, rows;
	bool zero, base, is_virtual, classes, breakdown, clip, residual, uneven;
	double lr;
	const char *sync, *precision, *optimizer, *activation, *norm, *dropout;
	uint64_t seed; /* of its widths */
	bool cut;      /* where stages begin is drawn too */
	struct train_language language;
};

/* Norms and bridges need whole rows. */
static inline bool train_case_is_gathered(const struct train_case *c)
{
	return strcmp(c->norm, "none") || c->residual;
}

/* The most chunks, up to three, that its schedule can have. */
static inline int train_case_chunks(const struct train_case *c)
{
	struct error e = {0};
	int kind = 0, most = 3;

	while (strcmp(schedule_names[kind], c->schedule))
		kind++;
	while (schedule_check_chunks((enum schedule_kind)kind, most, &e) != OK)
		most--;
	return most;
}

/* A language model in every other case that has the layers; files are text for it. */
static inline void train_case_speak(struct train_case *c, struct random *r)
{
	static const char *const recomputes[] = {"none", "attention", "block"};
	static const char *const tokenizers[] = {"byte", "char"};
	static const int vocabularies[] = {13, 17, 31, 32, 97};
	bool llama = random_int(r, 0, 1);
	int mp = c->grid.mp, heads = mp * random_int(r, 1, mp > 3 ? 1 : 3);

	c->cut = c->grid.pp > 1 && random_int(r, 0, 3) == 0;
	if (c->depth < 3 || random_int(r, 0, 1))
		return;
	c->language = (struct train_language){
		.model = llama ? "llama" : "gpt",
		.heads = heads,
		.kv_heads = llama && random_int(r, 0, 1) ? mp : heads,
		.width = 2 * random_int(r, heads > 2 ? 1 : 4, heads > 2 ? 3 : 6),
		.context = random_int(r, 2, 9),
		.vocabulary = vocabularies[random_int(r, 0, ARRAY_SIZE(vocabularies) - 1)],
		.recompute = recomputes[random_int(r, 0, ARRAY_SIZE(recomputes) - 1)],
		.tokenizer = tokenizers[random_int(r, 0, 1)],
		.spreads = mp > 1 && random_int(r, 0, 1),
		.no_bias = !llama && random_int(r, 0, 2) == 0};
	if (c->language.spreads)
		c->language.context = mp * random_int(r, 1, mp > 4 ? 1 : 2);
}

/* Everything else that a run can be asked for, some of it now and then. */
static inline void train_case_season(struct train_case *c, uint64_t seed, int number)
{
	static const char *const precisions[] = {"fp32", "fp32", "fp32", "fp16", "bf16"};
	static const char *const optimizers[] = {"sgd", "momentum",
						 "adamw --eps 1e-3 --weight-decay 0.01"};
	static const char *const norms[] = {"none", "none", "layer", "rms"};
	const struct grid *g = &c->grid;
	struct random r = {seed, (uint64_t)number * 64};
	int counts[] = {1, 2, g->pp, g->pp + 1};

	c->dim = g->mp * random_int(&r, 1 + 11 / g->mp, 1 + 20 / g->mp);
	c->chunks = 1;
	if (train_case_chunks(c) > 1)
		c->chunks = random_int(&r, 2, imin(train_case_chunks(c), c->depth / g->pp));
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
	c->activation = activation_names[random_int(&r, 0, ACT_COUNT - 1)];
	c->norm = norms[random_int(&r, 0, ARRAY_SIZE(norms) - 1)];
	c->residual = random_int(&r, 0, 2) == 0;
	c->dropout = random_int(&r, 0, 2) ? "0" : "0.2";
	/* Without norms what many bridges and dropouts let through grows with every layer; and
	   of what is left of a few samples, deep stacks make mostly rounding in 16 bit. */
	if (c->depth > 8 && !strcmp(c->norm, "none"))
		c->residual = false;
	if (c->depth > 8 && (!strcmp(c->norm, "none") || strcmp(c->precision, "fp32")))
		c->dropout = "0";
	c->uneven = random_int(&r, 0, 2) == 0;
	c->seed = seed + (uint64_t)number;
	/* Whole rows are gathered behind every layer, so that all of them have equal shares. */
	c->classes = c->classes || (g->mp > 1 && train_case_is_gathered(c));
	train_case_speak(c, &r);
}

static inline bool train_case_possible(const struct train_case *c)
{
	return train_case_chunks(c) == 1 || c->depth >= 2 * c->grid.pp;
}

/* What comes in and out of the data, and between the layers what slices have equal shares of:
   with every width behind a layer that is gathered, otherwise every other one. */
static inline int train_case_width(const struct train_case *c, struct random *r, int i)
{
	int shares = train_case_is_gathered(c) || i % 2 ? c->grid.mp : 1;

	if (c->csv && i == 0)
		return FEATURES;
	if (c->csv && i == c->depth)
		return c->classes ? 2 * c->grid.mp : 1;
	return shares * random_int(r, 1 + 11 / shares, 1 + 20 / shares);
}

/* --dim and --depth, or widths that differ. */
static inline void train_case_layers(const struct train_case *c, char *buf, size_t size)
{
	struct random r = {c->seed, 0};
	const struct train_language *l = &c->language;
	size_t n;

	if (l->model) {
		n = (size_t)snprintf(
			buf, size, "--model %s --layers %d --heads %d --dim %d --context %d",
			l->model, c->depth - 2, l->heads, l->heads * l->width, l->context);
		if (l->kv_heads != l->heads)
			snprintf(buf + n, size - n, " --kv-heads %d", l->kv_heads);
		else if (l->no_bias)
			snprintf(buf + n, size - n, " --no-bias");
		return;
	}
	if (!c->uneven) {
		snprintf(buf, size, "--dim %d --depth %d", c->dim, c->depth);
		return;
	}
	n = (size_t)snprintf(buf, size, "--widths ");
	for (int i = 0; i <= c->depth && n < size; i++)
		n += (size_t)snprintf(buf + n, size - n, "%s%d", i ? "," : "",
				      train_case_width(c, &r, i));
}

/* What decides on the numbers: equal on one rank and on the grid. */
static inline void train_case_model(const struct train_case *c, char buf[COMMAND])
{
	char data[64] = "synthetic", layers[320], of_mlp[64] = "";

	if (c->language.model && c->csv)
		snprintf(data, sizeof(data), "text:text.txt --tokenizer %s",
			 c->language.tokenizer);
	else if (c->language.model)
		snprintf(data, sizeof(data), "synthetic --vocab %d", c->language.vocabulary);
	else if (c->csv && c->classes)
		snprintf(data, sizeof(data), "csv:classes-%d.csv", c->grid.mp);
	else if (c->csv)
		snprintf(data, sizeof(data), "csv:targets.csv");
	if (!c->language.model)
		snprintf(of_mlp, sizeof(of_mlp), " --norm %s%s --activation %s", c->norm,
			 c->residual ? " --residual" : "", c->activation);
	train_case_layers(c, layers, sizeof(layers));
	snprintf(buf, COMMAND,
		 "train %s%s --dropout %s --batch %d --data %s --precision %s "
		 "--loss-scale 1024 --optimizer %s --lr %g --clip-grad %s --steps %d "
		 "--warmup 1 --threads 1 --quiet",
		 layers, of_mlp, c->dropout, c->grid.dp * c->micro_batches * c->rows, data,
		 c->precision, c->optimizer, c->lr, c->clip ? "0.5" : "off", STEPS);
}

/* All layers but one each are shared out as they come. */
static inline void train_case_cut(const struct train_case *c, char *buf, size_t size)
{
	struct random r = {c->seed, 1000};
	int parts = c->grid.pp * c->chunks, counts[64];
	size_t n = (size_t)snprintf(buf, size, " --layers-per-stage ");

	for (int i = 0; i < parts; i++)
		counts[i] = 1;
	for (int i = parts; i < c->depth; i++)
		counts[random_int(&r, 0, parts - 1)]++;
	for (int i = 0; i < parts && n < size; i++)
		n += (size_t)snprintf(buf + n, size - n, "%s%d", i ? "," : "", counts[i]);
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
	if (c->cut)
		train_case_cut(c, buf + n, COMMAND - n);
	n = strlen(buf);
	if (c->language.model)
		snprintf(buf + n, COMMAND - n, " --recompute %s%s", c->language.recompute,
			 c->language.spreads ? " --sequence-parallel" : "");
	n = strlen(buf);
	snprintf(buf + n, COMMAND - n, "%s%s%s", c->tiny ? " --bucket-mb 0.001" : "",
		 c->breakdown ? " --breakdown" : "",
		 c->is_virtual ? " --device virtual:gflops=1,link=1GB/s,latency=5us" : "");
}

/* Some lines that are not all alike. */
static inline void train_case_write_text(const char *path)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	for (int i = 0; i < SAMPLES; i++)
		fprintf(f, "%d times %d is %d.\n", i, i % 7, i * (i % 7));
	assert_int_equal(fclose(f), 0);
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
