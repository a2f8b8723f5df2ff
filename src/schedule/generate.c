/*
 * generate.c - the kinds of schedules. Each is described by the compute order of a stage, the
 * activations that it promises to keep at most, and where the parts of the model are. Whoever
 * adds one adds its name in schedule.h and its description here, and touches nothing else.
 */
#include "schedule/impl.h"
#include "base/util.h"

#include <limits.h>

static void order_naive(struct order *o, const struct schedule *sched, int s)
{
	(void)s;
	for (int i = 0; i < sched->micro_batches; i++) {
		order_add(o, ACTION_F, 0, i);
		order_add(o, ACTION_B, 0, i);
	}
}

static void order_gpipe(struct order *o, const struct schedule *sched, int s)
{
	(void)s;
	for (int i = 0; i < sched->micro_batches; i++)
		order_add(o, ACTION_F, 0, i);
	for (int i = 0; i < sched->micro_batches; i++)
		order_add(o, ACTION_B, 0, i);
}

/* 1F1B: stage s runs ahead by (stages-1-s) forwards, then alternates. */
static void order_1f1b(struct order *o, const struct schedule *sched, int s)
{
	int mbs = sched->micro_batches, f = 0, b = 0;
	int ahead = imin(sched->stages - 1 - s, mbs);

	while (f < ahead)
		order_add(o, ACTION_F, 0, f++);
	while (f < mbs) {
		order_add(o, ACTION_F, 0, f++);
		order_add(o, ACTION_B, 0, b++);
	}
	while (b < mbs)
		order_add(o, ACTION_B, 0, b++);
}

/* Forward or backward number n of the interleaved order: groups of as many micro-batches as
   there are stages go through one chunk after the other, backward from the last chunk. */
static void add_nth(struct order *o, enum action_kind kind, int n, const struct schedule *s)
{
	int group = n / (s->stages * s->chunks), rest = n % (s->stages * s->chunks);
	int chunk = rest / s->stages, mb = group * s->stages + rest % s->stages;

	if (mb < s->micro_batches) /* the last group may be smaller */
		order_add(o, kind, kind == ACTION_F ? chunk : s->chunks - 1 - chunk, mb);
}

/*
 * Interleaved, as Megatron has it. A smaller last group keeps its places in the order, as
 * if the group were full: alternating without the gaps would make stages wait for each
 * other forever, while leaving actions out of an order that works keeps it working.
 */
static void order_interleaved(struct order *o, const struct schedule *sched, int s)
{
	int p = sched->stages, v = sched->chunks;
	int total = (int)round_up(sched->micro_batches, p) * v;
	int ahead = imin(2 * (p - s - 1) + (v - 1) * p, total), f = 0, b = 0;

	while (f < ahead)
		add_nth(o, ACTION_F, f++, sched);
	while (f < total) {
		add_nth(o, ACTION_F, f++, sched);
		add_nth(o, ACTION_B, b++, sched);
	}
	while (b < total)
		add_nth(o, ACTION_B, b++, sched);
}

/*
 * ZB-H1: 1F1B, where the weight part of the backward is put off to fill the wait at the
 * end. Stage s puts off s of them, which adds up to the same memory on all stages.
 */
static void order_zb_h1(struct order *o, const struct schedule *sched, int s)
{
	int mbs = sched->micro_batches, f = 0, i = 0, w = 0;
	int ahead = imin(sched->stages - 1 - s, mbs);

	while (f < ahead)
		order_add(o, ACTION_F, 0, f++);
	while (f < mbs) {
		order_add(o, ACTION_F, 0, f++);
		order_add(o, ACTION_I, 0, i++);
		if (i - w > s)
			order_add(o, ACTION_W, 0, w++);
	}
	while (i < mbs) {
		order_add(o, ACTION_I, 0, i++);
		order_add(o, ACTION_W, 0, w++);
	}
	while (w < mbs)
		order_add(o, ACTION_W, 0, w++);
}

static int bound_naive(const struct schedule *sched, int s)
{
	(void)sched;
	(void)s;
	return 1;
}

static int bound_gpipe(const struct schedule *sched, int s)
{
	(void)s;
	return sched->micro_batches;
}

static int bound_1f1b(const struct schedule *sched, int s)
{
	return imin(sched->stages - s, sched->micro_batches);
}

static int bound_interleaved(const struct schedule *sched, int s)
{
	int p = sched->stages, v = sched->chunks;

	return imin(sched->micro_batches * v, 2 * (p - s - 1) + (v - 1) * p + 1);
}

static int bound_zb_h1(const struct schedule *sched, int s)
{
	(void)s;
	return imin(sched->stages, sched->micro_batches);
}

/* One part after the other to the stages in turn, chunk by chunk. */
static struct place place_in_turn(const struct schedule *sched, int part)
{
	return (struct place){.stage = part % sched->stages, .chunk = part / sched->stages};
}

struct description {
	void (*order)(struct order *o, const struct schedule *sched, int s);
	int (*bound)(const struct schedule *sched, int s);
	place_fn *place;
	int chunks_min, chunks_max;
	int stages_min;
	enum schedule_kind alone; /* to be run instead where there is one stage */
};

/* A chunk for every stage. */
#define ONE_CHUNK .place = place_in_turn, .chunks_min = 1, .chunks_max = 1, .stages_min = 1

static const struct description description_NAIVE = {
	.order = order_naive, .bound = bound_naive, ONE_CHUNK, .alone = SCHEDULE_NAIVE};
static const struct description description_GPIPE = {
	.order = order_gpipe, .bound = bound_gpipe, ONE_CHUNK, .alone = SCHEDULE_GPIPE};
static const struct description description_1F1B = {
	.order = order_1f1b, .bound = bound_1f1b, ONE_CHUNK, .alone = SCHEDULE_1F1B};
static const struct description description_INTERLEAVED = {.order = order_interleaved,
							   .bound = bound_interleaved,
							   .place = place_in_turn,
							   .chunks_min = 2,
							   .chunks_max = INT_MAX,
							   .stages_min = 2,
							   .alone = SCHEDULE_1F1B};
static const struct description description_ZB_H1 = {
	.order = order_zb_h1, .bound = bound_zb_h1, ONE_CHUNK, .alone = SCHEDULE_1F1B};

/* One that is missing does not compile. */
#define DESCRIPTION(name, ...) &description_##name,
static const struct description *const descriptions[] = {SCHEDULES(DESCRIPTION)};

int schedule_chunks(enum schedule_kind kind, int wanted)
{
	const struct description *d = descriptions[kind];

	return wanted && d->chunks_max > 1 ? wanted : d->chunks_min;
}

enum schedule_kind schedule_for(enum schedule_kind kind, int stages)
{
	return stages == 1 ? descriptions[kind]->alone : kind;
}

/* "interleaved, ...": the kinds whose stages can have several chunks. */
static void list_chunked(struct text *out)
{
	for (int k = 0; k < SCHEDULE_KIND_COUNT; k++)
		if (descriptions[k]->chunks_max > 1)
			text_addf(out, "%s%s", out->len ? ", " : "", schedule_names[k]);
}

enum status schedule_check_chunks(enum schedule_kind kind, int chunks, struct error *err)
{
	const struct description *d = descriptions[kind];
	struct text others;

	if (chunks < d->chunks_min) {
		FAIL(err, ERR_USAGE, "schedule %s needs at least %d chunks per stage",
		     schedule_name(kind), d->chunks_min);
		return HINT(err, "give --chunks %d or more, or use --schedule %s",
			    d->chunks_min, schedule_name(d->alone));
	}
	if (chunks <= d->chunks_max)
		return OK;
	if (d->chunks_max > 1) {
		FAIL(err, ERR_USAGE, "--chunks %d, but schedule %s has at most %d per stage",
		     chunks, schedule_name(kind), d->chunks_max);
		return HINT(err, "give --chunks %d or less", d->chunks_max);
	}
	FAIL(err, ERR_USAGE, "--chunks %d, but schedule %s has one chunk per stage", chunks,
	     schedule_name(kind));
	text_init(&others);
	list_chunked(&others);
	HINT(err, "use --schedule %s, or leave --chunks out", others.data);
	text_release(&others);
	return ERR_USAGE;
}

enum status schedule_check_stages(enum schedule_kind kind, int stages, struct error *err)
{
	const struct description *d = descriptions[kind];

	if (stages >= d->stages_min)
		return OK;
	FAIL(err, ERR_USAGE, "schedule %s needs at least %d stages", schedule_name(kind),
	     d->stages_min);
	return HINT(err, "give --pp %d or more, or use --schedule %s", d->stages_min,
		    schedule_name(d->alone));
}

enum status schedule_arrange(struct schedule *s, struct error *err)
{
	return places_init(s, descriptions[s->kind]->place, err);
}

/* An evaluation, of any kind: what a micro-batch needs of a stage, in the order of the layers.
 */
static void order_forward(struct order *o, const struct schedule *sched, int s)
{
	for (int mb = 0; mb < sched->micro_batches; mb++)
		for (int part = 0; part < schedule_parts(sched); part++) {
			struct place at = schedule_place(sched, part);

			if (at.stage == s)
				order_add(o, ACTION_E, at.chunk, mb);
		}
}

void schedule_generate(const struct schedule *s, int stage, struct order *out)
{
	if (s->forward_only)
		order_forward(out, s, stage);
	else
		descriptions[s->kind]->order(out, s, stage);
}

int schedule_activation_bound(const struct schedule *s, int stage)
{
	return descriptions[s->kind]->bound(s, stage);
}
