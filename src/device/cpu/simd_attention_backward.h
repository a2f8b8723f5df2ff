/*
 * simd_attention_backward.h - dq, dk and dv with the probabilities computed again, a block of
 * queries against a block of keys at a time; part of simd.c.
 *
 * Threads that share a head take turns, one per block of queries: each has some of the keys,
 * for which it adds to dk and dv and leaves the gradients of their scores; in the next turn
 * each has some of the queries and adds up their dq. So every sum has one owner and is taken
 * in the order in which a thread alone takes it.
 */
#ifndef KOLM_DEVICE_CPU_SIMD_ATTENTION_BACKWARD_H
#define KOLM_DEVICE_CPU_SIMD_ATTENTION_BACKWARD_H

#include "device/cpu/simd_attention.h"

/* In the thread's memory. */
struct backward_room {
	float *q, *q_columns; /* for scores in units of ln 2; by rows, by columns */
	float *dout, *dout_columns;
	float *k, *v;
	float *dq;		   /* (queries, elements), not yet times scale */
	float *p, *ds;		   /* (keys, queries): probabilities, gradients of scores */
	float *words, *words_rows; /* of dropout */
	float *saved, *dots;	   /* (queries): from forward; dout . out */
	float *dk, *dv;		   /* (all keys, elements): sums */
};

static struct backward_room backward_room_in(float *memory, const struct attention *a)
{
	size_t row = (size_t)padded(a->width), block = QUERIES * row;
	size_t square = (size_t)KEYS * QUERIES;
	float *p = memory + 7 * block, *saved = p + 4 * square, *sums = saved + 8 * QUERIES;

	return (struct backward_room){.q = memory,
				      .q_columns = memory + block,
				      .dout = memory + 2 * block,
				      .dout_columns = memory + 3 * block,
				      .k = memory + 4 * block,
				      .v = memory + 5 * block,
				      .dq = memory + 6 * block,
				      .p = p,
				      .ds = p + square,
				      .words = p + 2 * square,
				      .words_rows = p + 3 * square,
				      .saved = saved,
				      .dots = saved + QUERIES,
				      .dk = sums,
				      .dv = sums + (size_t)a->keys * row};
}

static void load_queries(const struct attention *a, const struct attention_block *b,
			 const struct backward_room *room)
{
	int row = b->sequence * a->queries + b->query, row_size = padded(a->width);
	int rows = (int)round_up(b->n, VL);

	load_block(a->q, (size_t)row, b->head, b->n, a->width, a->scale * LOG2_E, room->q);
	transpose(room->q, rows, row_size, room->q_columns);
	load_block(a->dout, (size_t)row, b->head, b->n, a->width, 1, room->dout);
	transpose(room->dout, rows, row_size, room->dout_columns);
	load_block(a->out, (size_t)row, b->head, b->n, a->width, 1, room->dq);
	for (int r = 0; r < rows; r++) {
		vec sum = {0};

		for (int i = 0; i < row_size; i += VL)
			sum += load(room->dout + r * row_size + i) *
			       load(room->dq + r * row_size + i);
		room->dots[r] = vec_sum(sum);
		room->saved[r] = 0;
		if (r < b->n)
			get_as(a->saved, row + r, b->head, room->saved + r, 1);
		room->saved[r] *= LOG2_E;
	}
}

/* Scores in p and gradients of probabilities in ds of VL queries from i on become
   probabilities and gradients of scores. */
INLINE void derive_lanes(const struct pairing *p, const struct backward_room *room, int i,
			 const bool drops)
{
	int all = keys_seen(p, i), some = keys_seen(p, i + VL - 1);
	vec saved = load(room->saved + i), dots = load(room->dots + i);
	struct keeping keeping = keeping_of(&p->a->drop);

	for (int k = 0; k < some; k++) {
		float *pk = room->p + k * QUERIES + i, *dk = room->ds + k * QUERIES + i;
		const float *words = room->words + k * QUERIES + i;
		vec e = vec_exp2(load(pk) - saved);
		vec dp = load(dk);

		if (k >= all)
			e = vec_select(lanes_seeing(p, i, k), e, (vec){0});
		store(pk, drops ? keep_lanes(keeping, words, e) : e);
		dp = e * ((drops ? keep_lanes(keeping, words, dp) : dp) - dots);
		/* A score that nobody saw is whatever it is. */
		store(dk, k >= all ? vec_select(lanes_seeing(p, i, k), dp, (vec){0}) : dp);
	}
	for (int k = some; k < p->keys; k++) {
		store(room->p + k * QUERIES + i, (vec){0});
		store(room->ds + k * QUERIES + i, (vec){0});
	}
}

static void derive(const struct pairing *p, const struct backward_room *room)
{
	if (p->a->drop.p > 0) {
		draw_words(p, room->words_rows, room->words);
		for (int i = 0; i < p->vecs * VL; i += VL)
			derive_lanes(p, room, i, true);
	} else {
		for (int i = 0; i < p->vecs * VL; i += VL)
			derive_lanes(p, room, i, false);
	}
}

/* (keys, elements) += factors (keys, queries) times rows of the queries'. */
static void add_to_keys(const struct pairing *p, const float *factors, const float *rows,
			float *sums)
{
	struct tiling tiling = tile_rows(p->keys, PRODUCT_ROWS);

	for (int t = 0, r = 0, n; t < tiling.tiles; t++, r += n) {
		int skipped = imax(0, r + p->ahead); /* queries that see none of them */

		n = tiling.size + (t < tiling.larger);
		product_rows((struct product){.a = factors + r * QUERIES + skipped,
					      .a_stride = QUERIES,
					      .b = rows + skipped * p->row_size,
					      .b_stride = (size_t)p->row_size,
					      .c = sums + r * p->row_size,
					      .c_stride = (size_t)p->row_size,
					      .depth = p->b->n - skipped},
			     n, (int)ceil_div(p->width, VL), false);
	}
}

static size_t key_row(const struct pairing *p)
{
	return (size_t)p->b->sequence * (size_t)p->a->keys + (size_t)p->key;
}

static int kv_head_of(const struct pairing *p)
{
	return p->b->head / (p->a->heads / p->a->kv_heads);
}

/* Into dk and dv, and the gradients of scores; k stays loaded. */
static void add_keys(const struct pairing *p, const struct backward_room *room)
{
	const struct attention *a = p->a;
	size_t at = (size_t)p->key * (size_t)p->row_size;

	load_block(a->k, key_row(p), kv_head_of(p), p->keys, a->width, 1, room->k);
	load_block(a->v, key_row(p), kv_head_of(p), p->keys, a->width, 1, room->v);
	multiply_scores(p, room->k, room->q_columns, room->p, p->coming[0]);
	multiply_scores(p, room->v, room->dout_columns, room->ds, p->coming[1]);
	derive(p, room);
	add_to_keys(p, room->p, room->dout, room->dv + at);
	add_to_keys(p, room->ds, room->q, room->dk + at);
}

/* Rows of sums times a factor to where they belong. */
static void put_sums(struct view to, size_t row, int head, int n, int width, float factor,
		     float *sums)
{
	struct view v = view_from(to, row);
	int row_size = padded(width);

	for (int r = 0; r < n; r++, sums += row_size) {
		for (int i = 0; i < row_size; i += VL)
			store(sums + i, load(sums + i) * factor);
		put_as(v, r, head * width, sums, width);
	}
}

/* Block number i of the query heads that share a key head. */
static struct attention_block block_of(const struct attention *a, int sequence, int kv_head,
				       int i)
{
	int blocks = (int)ceil_div(a->queries, QUERIES), query = i % blocks * QUERIES;

	return (struct attention_block){.sequence = sequence,
					.head = kv_head * (a->heads / a->kv_heads) + i / blocks,
					.query = query,
					.n = imin(QUERIES, a->queries - query)};
}

/* What comes after a block of keys: the next one; or the result, and the next block of
   queries. */
static void look_behind(struct pairing *p, const struct attention_block *next)
{
	const struct attention *a = p->a;
	int left = imin(KEYS, p->b->query + p->b->n - p->key - p->keys), width = a->width;
	int kv_head = kv_head_of(p);
	size_t row = key_row(p);

	if (left > 0) {
		row += (size_t)p->keys;
		p->coming[0][0] = coming_of(a->k, row, kv_head, left, width);
		p->coming[1][0] = coming_of(a->v, row, kv_head, left, width);
		return;
	}
	p->coming[0][0] = coming_of(a->dq, row, p->b->head, p->b->n, width);
	p->coming[2][0] = coming_of(a->dk, row, kv_head, p->keys, width);
	p->coming[2][1] = coming_of(a->dv, row, kv_head, p->keys, width);
	if (next) {
		row = (size_t)next->sequence * (size_t)a->queries + (size_t)next->query;
		p->coming[0][1] = coming_of(a->q, row, next->head, next->n, width);
		p->coming[1][0] = coming_of(a->dout, row, next->head, next->n, width);
		p->coming[1][1] = coming_of(a->out, row, next->head, next->n, width);
	}
}

static size_t sums_size(const struct attention *a)
{
	return (size_t)a->keys * (size_t)padded(a->width);
}

/* Keys from first to end of a key head. */
static void put_keys(const struct attention *a, int sequence, int kv_head, int first, int end,
		     const struct backward_room *room)
{
	size_t row = (size_t)sequence * (size_t)a->keys + (size_t)first;
	size_t at = (size_t)first * (size_t)padded(a->width);

	put_sums(a->dk, row, kv_head, end - first, a->width, LN_2, room->dk + at);
	put_sums(a->dv, row, kv_head, end - first, a->width, 1, room->dv + at);
}

static void simd_attention_backward(const struct attention *a, int sequence, int kv_head,
				    float *memory)
{
	struct backward_room room = backward_room_in(memory, a);
	int blocks = kernels_attention_turns(a);

	memset(room.dk, 0, 2 * sums_size(a) * sizeof(float));
	for (int i = 0; i < blocks; i++) {
		struct attention_block b = block_of(a, sequence, kv_head, i);
		struct attention_block next = block_of(a, sequence, kv_head, i + 1);

		load_queries(a, &b, &room);
		for (int key = 0; key < b.query + b.n; key += KEYS) {
			struct pairing p = pairing_of(a, &b, key);

			look_behind(&p, i + 1 < blocks ? &next : NULL);
			add_keys(&p, &room);
			multiply_queries(&p, room.ds, room.k, NULL, key == 0, room.dq);
		}
		put_sums(a->dq, (size_t)sequence * (size_t)a->queries + (size_t)b.query, b.head,
			 b.n, a->width, a->scale, room.dq);
	}
	put_keys(a, sequence, kv_head, 0, a->keys, &room);
}

/* ---- turns ---- */

static void add_part_of_keys(const struct attention *a, const struct attention_turn *t,
			     int part, int parts, struct backward_room room, float *gradients)
{
	struct attention_block b = block_of(a, t->sequence, t->kv_head, t->number);
	int grains = (int)ceil_div(b.query + b.n, VL);
	int end = imin((int)part_begin(grains, part + 1, parts) * VL, b.query + b.n);
	int key = (int)part_begin(grains, part, parts) * VL;

	if (key < end)
		load_queries(a, &b, &room);
	for (; key < end; key += KEYS) {
		struct pairing p = pairing_of(a, &b, key);

		p.keys = imin(p.keys, end - key);
		room.ds = gradients + (size_t)key * QUERIES;
		add_keys(&p, &room);
	}
}

static void add_part_of_queries(const struct attention *a, const struct attention_turn *t,
				int part, int parts, const struct backward_room *room,
				const float *gradients)
{
	struct attention_block b = block_of(a, t->sequence, t->kv_head, t->number - 1);
	int seen = b.query + b.n, first = (int)part_begin(b.n, part, parts);

	b.n = (int)part_begin(b.n, part + 1, parts) - first;
	b.query += first;
	if (b.n == 0)
		return;
	for (int key = 0; key < seen; key += KEYS) {
		struct pairing p = pairing_of(a, &b, key);

		if (p.keys <= 0)
			break;
		load_block(a->k, key_row(&p), t->kv_head, p.keys, a->width, 1, room->k);
		multiply_queries(&p, gradients + (size_t)key * QUERIES + first, room->k, NULL,
				 key == 0, room->dq);
	}
	put_sums(a->dq, (size_t)t->sequence * (size_t)a->queries + (size_t)b.query, b.head, b.n,
		 a->width, a->scale, room->dq);
}

static void simd_attention_turn(const struct attention *a, const struct attention_turn *t,
				int part, int parts, float *memory)
{
	struct backward_room room = backward_room_in(memory, a);
	int blocks = kernels_attention_turns(a);
	size_t gradients = (size_t)a->keys * QUERIES;

	room.dk = t->sums;
	room.dv = t->sums + sums_size(a);
	if (t->number < blocks)
		add_part_of_keys(a, t, part, parts, room,
				 t->gradients + (size_t)(t->number % 2) * gradients);
	if (t->number > 0)
		add_part_of_queries(a, t, part, parts, &room,
				    t->gradients + (size_t)((t->number - 1) % 2) * gradients);
	if (t->number == blocks)
		put_keys(a, t->sequence, t->kv_head, (int)part_begin(a->keys, part, parts),
			 (int)part_begin(a->keys, part + 1, parts), &room);
}

#endif
