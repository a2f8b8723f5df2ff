/*
 * grid_setting.h - one run of the product that test_grids.c goes through: what is trained, on
 * which grid, and how.
 */
#ifndef KOLM_TESTS_GRID_SETTING_H
#define KOLM_TESTS_GRID_SETTING_H

#include "testing.h"

#include "engine/sync.h"
#include "grid/grid.h"
#include "model/gpt.h"
#include "model/mlp.h"
#include "schedule/schedule.h"

enum { SETTING_DEPTH = 64 };

/* Equal layers; with norms, bridges and dropout; of widths that differ, dropout now and then;
   language models. */
#define VARIANTS(X)         \
	X(PLAIN, "plain")   \
	X(NORMED, "normed") \
	X(UNEVEN, "uneven") \
	X(GPT, "gpt")       \
	X(LLAMA, "llama")
#define VARIANT(name, ...) VARIANT_##name,
enum variant { VARIANTS(VARIANT) };
enum { VARIANT_COUNT = NAMES_COUNT(VARIANTS) };

struct setting {
	struct grid grid;
	enum variant variant;
	enum schedule_kind schedule;
	int chunks, micro_batches;
	int extra; /* so many more layers than the grid needs, at most */
	int widths[SETTING_DEPTH + 1];
	struct mlp mlp; /* its widths are these */
	struct gpt gpt; /* instead, of a language model */
	enum grad_sync sync;
	enum optimizer optimizer;
	enum dtype type, grad_type;
	bool zero, base, labelled;
};

static inline bool setting_is_language(const struct setting *s)
{
	return s->variant == VARIANT_GPT || s->variant == VARIANT_LLAMA;
}

/* Layers of the list. */
static inline int setting_depth(const struct setting *s)
{
	return setting_is_language(s) ? s->gpt.layers + 2 : s->mlp.depth;
}

/* Rows of a sample. */
static inline int setting_sequence(const struct setting *s)
{
	return setting_is_language(s) ? s->gpt.context : 1;
}

static inline void setting_describe_model(const struct setting *s, char *buf, size_t size)
{
	const struct gpt *g = &s->gpt;
	const struct mlp *m = &s->mlp;
	int n;

	if (setting_is_language(s)) {
		snprintf(buf, size,
			 "%d layers, %d heads, %d with keys, dim %d, ffn %d, context %d, "
			 "vocabulary %d, dropout %g, recompute %d%s%s%s",
			 g->layers, g->heads, g->kv_heads, g->dim, g->ffn, g->context,
			 g->vocabulary, g->dropout, g->recompute, g->tied ? ", tied" : "",
			 g->biased ? ", biased" : "", g->spreads ? ", sequence parallel" : "");
		return;
	}
	n = snprintf(buf, size, "%s, norm %s, dropout %g%s, widths", activation_names[m->act],
		     norm_names[m->norm], m->dropout, s->labelled ? ", labels" : "");
	for (int i = 0; i <= m->depth && n < (int)size; i++)
		n += snprintf(buf + n, size - (size_t)n, " %d", s->widths[i]);
}

static inline void setting_describe(const struct setting *s, char *buf, size_t size)
{
	static const char *const variants[] = {NAMES_OF(VARIANTS)};
	int n = snprintf(buf, size,
			 "dp %d pp %d mp %d, %s, chunks %d, %d micro-batches, %s, %s, %s, "
			 "gradients %s, %s%s%s, ",
			 s->grid.dp, s->grid.pp, s->grid.mp, schedule_name(s->schedule),
			 s->chunks, s->micro_batches, variants[s->variant],
			 optimizer_names[s->optimizer], dtype_name(s->type),
			 dtype_name(s->grad_type), grad_sync_names[s->sync],
			 s->zero ? ", zero" : "", s->base ? ", base" : "");

	if (n < (int)size)
		setting_describe_model(s, buf + n, size - (size_t)n);
}

/* A width that slices have equal shares of. */
static inline int setting_shared_width(const struct setting *s, struct random *r)
{
	return s->grid.mp * random_int(r, 2, 20 / s->grid.mp + 3);
}

static inline void setting_widths(struct setting *s, struct random *r)
{
	int depth = s->mlp.depth, width = setting_shared_width(s, r);

	/* What two or three numbers vary by may be next to nothing, and a norm divides by it.
	 */
	while (s->variant == VARIANT_NORMED && width < 8)
		width += s->grid.mp;
	for (int i = 0; i <= depth; i++)
		s->widths[i] = width;
	if (s->variant != VARIANT_UNEVEN)
		return;
	/* Between a layer that is split by its outputs and one by its inputs, and where a last
	   one's outputs are gathered, there are slices; elsewhere any width will do. */
	for (int i = 0; i <= depth; i++)
		s->widths[i] = i % 2 ? setting_shared_width(s, r) : random_int(r, 2, 23);
}

/* A language model: whatever a grid can have, with numbers of tokens that nobody divides by. */
static inline void setting_language(struct setting *s, struct random *r)
{
	static const int vocabularies[] = {17, 23, 31, 32, 37, 53};
	bool llama = s->variant == VARIANT_LLAMA;
	int mp = s->grid.mp, width = 2 * random_int(r, 1, 4), parts = s->grid.pp * s->chunks;
	int heads = mp * random_int(r, 1, mp > 4 ? 1 : 3);
	struct gpt g = {.layers = imax(1, parts - 2) + random_int(r, 0, s->extra),
			.heads = heads,
			.kv_heads = llama && random_int(r, 0, 1) ? mp : heads,
			.context = random_int(r, 2, 9),
			.vocabulary = vocabularies[random_int(r, 0, 5)],
			.norm = llama ? NORM_RMS : NORM_LAYER,
			.eps = 1e-5f,
			.act = llama		     ? ACT_SILU
			       : random_int(r, 0, 1) ? ACT_GELU
						     : ACT_GELU_TANH,
			.gated = llama,
			.biased = !llama && random_int(r, 0, 2),
			.theta = llama ? 10000 : 0,
			.tied = random_int(r, 0, 3) ? !llama : llama,
			.dropout = random_int(r, 0, 2) ? 0 : 0.2,
			.recompute = (enum recompute)random_int(r, 0, 2),
			.spreads = mp > 1 && random_int(r, 0, 1)};

	while (width > 2 && width * heads > (g.layers > 8 ? 16 : 48))
		width -= 2;
	while (width * heads < 8)
		width += 2;
	g.dim = width * heads;
	g.ffn = mp * random_int(r, 1, imax(1, 2 * g.dim / mp));
	if (g.spreads)
		g.context = mp * random_int(r, 1, mp > 4 ? 1 : 2);
	s->gpt = g;
}

/* What it is that is trained. */
static inline void setting_model(struct setting *s, struct random *r)
{
	bool normed = s->variant == VARIANT_NORMED;

	s->mlp = (struct mlp){
		.depth = s->grid.pp * s->chunks + random_int(r, 0, s->extra),
		.act = (enum activation)random_int(r, 0, ACT_COUNT - 1),
		.norm = normed ? (enum norm_kind)random_int(r, NORM_LAYER, NORM_RMS)
			       : NORM_NONE,
		.residual = normed,
		.dropout = normed || (s->variant == VARIANT_UNEVEN && random_int(r, 0, 1)) ? 0.2
											   : 0};
	setting_widths(s, r);
	if (setting_is_language(s))
		setting_language(s, r);
}

/* Two or three, as far as it can have them. */
static inline int setting_chunks(enum schedule_kind kind, struct random *r)
{
	struct error err = {0};
	int chunks = schedule_chunks(kind, 2) > 1 ? random_int(r, 2, 3) : 1;

	while (schedule_check_chunks(kind, chunks, &err) != OK)
		chunks--;
	return chunks;
}

/* The rest of a setting, by its numbers; false if it makes no sense for the grid. */
static inline bool setting_fill_in(struct setting *s, struct random *r, int schedule, int m,
				   bool zero, int sync)
{
	s->schedule = (enum schedule_kind)schedule;
	s->micro_batches = m;
	s->zero = zero;
	s->sync = (enum grad_sync)sync;
	s->chunks = setting_chunks(s->schedule, r);
	s->base = schedule == SCHEDULE_NAIVE;
	setting_model(s, r);
	/* AdamW divides by what may be mostly rounding, and deep stacks amplify it. */
	s->optimizer = setting_depth(s) > 12 || random_int(r, 0, 3) ? OPT_MOMENTUM : OPT_ADAMW;
	s->labelled = random_int(r, 0, 3) == 0 || setting_is_language(s);
	if (schedule_for(s->schedule, s->grid.pp) != s->schedule)
		return false;
	if (zero && (s->grid.dp == 1 || sync == SYNC_MASTER)) /* the same as without */
		return false;
	return sync != SYNC_MASTER || (s->grid.pp == 1 && s->grid.mp == 1);
}

/* In 16 bit, gradients in that or in fp32. */
static inline void setting_halve(struct setting *s, struct random *r)
{
	s->type = (enum dtype)random_int(r, DTYPE_F16, DTYPE_BF16);
	s->grad_type = random_int(r, 0, 1) ? s->type : DTYPE_F32;
}

/* The same training on one rank. */
static inline struct setting setting_alone(const struct setting *s)
{
	struct setting alone = *s;

	alone.grid = (struct grid){1, 1, 1};
	alone.schedule = SCHEDULE_1F1B;
	alone.chunks = alone.micro_batches = 1;
	alone.zero = alone.base = false;
	alone.sync = SYNC_DDP;
	alone.gpt.recompute = RECOMPUTE_NONE;
	alone.gpt.spreads = false;
	return alone;
}

#endif
