/*
 * grid_setting.h - one run of the product that test_grids.c goes through: what is trained, on
 * which grid, and how.
 */
#ifndef KOLM_TESTS_GRID_SETTING_H
#define KOLM_TESTS_GRID_SETTING_H

#include "testing.h"

#include "engine/sync.h"
#include "grid/grid.h"
#include "model/mlp.h"
#include "schedule/schedule.h"

enum { SETTING_DEPTH = 64 };

/* Equal layers; with norms, bridges and dropout; of widths that differ, dropout now and then.
 */
#define VARIANTS(X)         \
	X(PLAIN, "plain")   \
	X(NORMED, "normed") \
	X(UNEVEN, "uneven")
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
	enum grad_sync sync;
	enum optimizer optimizer;
	enum dtype type, grad_type;
	bool zero, base, labelled;
};

static inline void setting_describe(const struct setting *s, char *buf, size_t size)
{
	static const char *const variants[] = {NAMES_OF(VARIANTS)};
	const struct mlp *m = &s->mlp;
	int n = snprintf(buf, size,
			 "dp %d pp %d mp %d, %s, chunks %d, %d micro-batches, %s, %s, norm %s, "
			 "dropout %g, %s, %s, gradients %s, %s%s%s%s, widths",
			 s->grid.dp, s->grid.pp, s->grid.mp, schedule_name(s->schedule),
			 s->chunks, s->micro_batches, variants[s->variant],
			 activation_names[m->act], norm_names[m->norm], m->dropout,
			 optimizer_names[s->optimizer], dtype_name(s->type),
			 dtype_name(s->grad_type), grad_sync_names[s->sync],
			 s->zero ? ", zero" : "", s->base ? ", base" : "",
			 s->labelled ? ", labels" : "");

	for (int i = 0; i <= m->depth && n < (int)size; i++)
		n += snprintf(buf + n, size - (size_t)n, " %d", s->widths[i]);
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
	s->optimizer = s->mlp.depth > 12 || random_int(r, 0, 3) ? OPT_MOMENTUM : OPT_ADAMW;
	s->labelled = sync != SYNC_MASTER && random_int(r, 0, 3) == 0;
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
	return alone;
}

#endif
