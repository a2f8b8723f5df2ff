/* generate.c - the compute order of one stage, one generator per schedule. */
#include "schedule/impl.h"
#include "base/util.h"

static void order_naive(struct order *o, int mbs)
{
	for (int i = 0; i < mbs; i++) {
		order_add(o, ACTION_F, 0, i);
		order_add(o, ACTION_B, 0, i);
	}
}

static void order_gpipe(struct order *o, int mbs)
{
	for (int i = 0; i < mbs; i++)
		order_add(o, ACTION_F, 0, i);
	for (int i = 0; i < mbs; i++)
		order_add(o, ACTION_B, 0, i);
}

/* 1F1B: stage s runs ahead by (stages-1-s) forwards, then alternates. */
static void order_1f1b(struct order *o, int s, int stages, int mbs)
{
	int ahead = imin(stages - 1 - s, mbs), f = 0, b = 0;

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
static void order_interleaved(struct order *o, int s, const struct schedule *sched)
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
static void order_zb_h1(struct order *o, int s, int stages, int mbs)
{
	int ahead = imin(stages - 1 - s, mbs), f = 0, i = 0, w = 0;

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

void schedule_generate(const struct schedule *s, int stage, struct order *out)
{
	switch (s->kind) {
	case SCHEDULE_GPIPE:
		order_gpipe(out, s->micro_batches);
		break;
	case SCHEDULE_1F1B:
		order_1f1b(out, stage, s->stages, s->micro_batches);
		break;
	case SCHEDULE_INTERLEAVED:
		order_interleaved(out, stage, s);
		break;
	case SCHEDULE_ZB_H1:
		order_zb_h1(out, stage, s->stages, s->micro_batches);
		break;
	case SCHEDULE_NAIVE:
		order_naive(out, s->micro_batches);
		break;
	}
}

int schedule_activation_bound(const struct schedule *s, int stage)
{
	int p = s->stages, v = s->chunks, m = s->micro_batches;

	switch (s->kind) {
	case SCHEDULE_GPIPE:
		return m;
	case SCHEDULE_1F1B:
		return imin(p - stage, m);
	case SCHEDULE_INTERLEAVED:
		return imin(m * v, 2 * (p - stage - 1) + (v - 1) * p + 1);
	case SCHEDULE_ZB_H1:
		return imin(p, m);
	case SCHEDULE_NAIVE:
		break;
	}
	return 1;
}
