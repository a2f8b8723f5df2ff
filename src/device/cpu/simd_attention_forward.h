/* simd_attention_forward.h - out = softmax(scale q k') v with a running softmax, a block of
   keys at a time; part of simd.c. */
#ifndef KOLM_DEVICE_CPU_SIMD_ATTENTION_FORWARD_H
#define KOLM_DEVICE_CPU_SIMD_ATTENTION_FORWARD_H

#include "device/cpu/simd_attention.h"

#include <math.h>

/* In the thread's memory. */
struct forward_room {
	float *columns;		     /* q, by columns */
	float *rows;		     /* k, then v */
	float *out;		     /* (queries, elements), not yet divided by the sum */
	float *scores;		     /* (keys, queries), then probabilities */
	float *words, *words_rows;   /* of dropout */
	float *most, *sum, *factors; /* (queries): so far; what that changes of before */
};

static struct forward_room forward_room_in(float *memory, int width)
{
	size_t block = (size_t)QUERIES * (size_t)padded(width);
	float *scores = memory + 3 * block;

	return (struct forward_room){.columns = memory,
				     .rows = memory + block,
				     .out = memory + 2 * block,
				     .scores = scores,
				     .words = scores + KEYS * QUERIES,
				     .words_rows = scores + 2 * KEYS * QUERIES,
				     .most = scores + 3 * KEYS * QUERIES,
				     .sum = scores + 3 * KEYS * QUERIES + QUERIES,
				     .factors = scores + 3 * KEYS * QUERIES + 2 * QUERIES};
}

INLINE vec masked_score(const struct pairing *p, const float *score, int i, int k)
{
	return vec_select(lanes_seeing(p, i, k), load(score), splat(-INFINITY));
}

/* The scores of VL queries from i on become probabilities, not yet divided by their sum. */
INLINE void soften_lanes(const struct pairing *p, const struct forward_room *room, int i,
			 const bool drops)
{
	int all = keys_seen(p, i), some = keys_seen(p, i + VL - 1);
	float *score = room->scores + i;
	vec before = load(room->most + i), most = before, sum = {0}, factor;
	struct keeping keeping = keeping_of(&p->a->drop);

	for (int k = 0; k < all; k++)
		most = vec_max(most, load(score + k * QUERIES));
	for (int k = all; k < some; k++)
		most = vec_max(most, masked_score(p, score + k * QUERIES, i, k));
	for (int k = 0; k < some; k++) {
		vec e = vec_exp2(load(score + k * QUERIES) - most);

		if (k >= all)
			e = vec_select(lanes_seeing(p, i, k), e, (vec){0});
		sum += e;
		if (drops)
			e = keep_lanes(keeping, room->words + k * QUERIES + i, e);
		store(score + k * QUERIES, e);
	}
	for (int k = some; k < p->keys; k++) /* neighbours in a tile of products see them */
		store(score + k * QUERIES, (vec){0});
	factor = vec_exp2(before - most);
	store(room->factors + i, factor);
	store(room->most + i, most);
	store(room->sum + i, load(room->sum + i) * factor + sum);
}

static void soften(const struct pairing *p, const struct forward_room *room)
{
	if (p->a->drop.p > 0) {
		draw_words(p, room->words_rows, room->words);
		for (int i = 0; i < p->vecs * VL; i += VL)
			soften_lanes(p, room, i, true);
	} else {
		for (int i = 0; i < p->vecs * VL; i += VL)
			soften_lanes(p, room, i, false);
	}
}

static void put_results(const struct attention *a, const struct attention_block *b,
			const struct forward_room *room)
{
	int row = b->sequence * a->queries + b->query, row_size = padded(a->width);

	for (int r = 0; r < b->n; r++) {
		float *out = room->out + r * row_size;
		float saved = room->most[r] * LN_2 + logf(room->sum[r]),
		      whole = 1 / room->sum[r];

		for (int i = 0; i < row_size; i += VL)
			store(out + i, load(out + i) * whole);
		put_as(a->out, row + r, b->head * a->width, out, a->width);
		put_as(a->saved, row + r, b->head, &saved, 1);
	}
}

/* What comes after a block of keys: the next one; or the result, and what the next block of
   queries begins with. */
static void look_ahead(struct pairing *p, const struct attention_block *next)
{
	const struct attention *a = p->a;
	const struct attention_block *b = p->b;
	int group = a->heads / a->kv_heads, key = p->key + p->keys;
	int left = a->first + b->query + b->n - key;
	size_t row = (size_t)b->sequence * (size_t)a->keys + (size_t)key;

	if (left > 0) {
		left = imin(KEYS, left);
		p->coming[0][0] = coming_of(a->k, row, b->head / group, left, a->width);
		p->coming[2][0] = coming_of(a->v, row, b->head / group, left, a->width);
		return;
	}
	row = (size_t)b->sequence * (size_t)a->queries + (size_t)b->query;
	p->coming[0][0] = coming_of(a->out, row, b->head, b->n, a->width);
	if (next) {
		row = (size_t)next->sequence * (size_t)a->queries + (size_t)next->query;
		p->coming[0][1] = coming_of(a->q, row, next->head, next->n, a->width);
		row = (size_t)next->sequence * (size_t)a->keys;
		left = imin(KEYS, a->first + next->query + next->n);
		p->coming[2][0] = coming_of(a->k, row, next->head / group, left, a->width);
		p->coming[2][1] = coming_of(a->v, row, next->head / group, left, a->width);
	}
}

static void simd_attention_forward(const struct attention *a, const struct attention_block *b,
				   const struct attention_block *next, float *memory)
{
	struct forward_room room = forward_room_in(memory, a->width);
	size_t query = (size_t)b->sequence * (size_t)a->queries + (size_t)b->query;
	int kv_head = b->head / (a->heads / a->kv_heads);
	int seen = a->first + b->query + b->n;

	load_block(a->q, query, b->head, b->n, a->width, a->scale * LOG2_E, room.rows);
	transpose(room.rows, (int)round_up(b->n, VL), padded(a->width), room.columns);
	for (int i = 0; i < QUERIES; i++) {
		room.most[i] = -INFINITY;
		room.sum[i] = 0;
	}
	for (int key = 0; key < seen; key += KEYS) {
		struct pairing p = pairing_of(a, b, key);
		size_t row = (size_t)b->sequence * (size_t)a->keys + (size_t)key;

		look_ahead(&p, next);
		load_block(a->k, row, kv_head, p.keys, a->width, 1, room.rows);
		multiply_scores(&p, room.rows, room.columns, room.scores, p.coming[0]);
		soften(&p, &room);
		load_block(a->v, row, kv_head, p.keys, a->width, 1, room.rows);
		multiply_queries(&p, room.scores, room.rows, room.factors, key == 0, room.out);
	}
	put_results(a, b, &room);
}

#endif
