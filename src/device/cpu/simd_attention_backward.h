/* simd_attention_backward.h - dq, dk and dv with the probabilities computed again, a block of
   queries against a block of keys at a time; part of simd.c. */
#ifndef KOLM_DEVICE_CPU_SIMD_ATTENTION_BACKWARD_H
#define KOLM_DEVICE_CPU_SIMD_ATTENTION_BACKWARD_H

#include "device/cpu/simd_attention.h"

/* In the thread's memory. */
struct backward_room {
	float *q, *q_columns; /* times scale; by rows, by columns */
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

	load_block(a->q, (size_t)row, b->head, b->n, a->width, a->scale, room->q);
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
		vec e = vec_exp_in_range(vec_max(splat(-87.0f), load(pk) - saved));
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

static void add_pairing(const struct pairing *p, const struct backward_room *room)
{
	const struct attention *a = p->a;
	int kv_head = p->b->head / (a->heads / a->kv_heads);
	size_t row = (size_t)p->b->sequence * (size_t)a->keys + (size_t)p->key;
	size_t at = (size_t)p->key * (size_t)p->row_size;

	load_block(a->k, row, kv_head, p->keys, a->width, 1, room->k);
	load_block(a->v, row, kv_head, p->keys, a->width, 1, room->v);
	multiply_scores(p, room->k, room->q_columns, room->p);
	multiply_scores(p, room->v, room->dout_columns, room->ds);
	derive(p, room);
	add_to_keys(p, room->p, room->dout, room->dv + at);
	add_to_keys(p, room->ds, room->q, room->dk + at);
	multiply_queries(p, room->ds, room->k, NULL, p->key == 0, room->dq);
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

static void simd_attention_backward(const struct attention *a, int sequence, int kv_head,
				    float *memory)
{
	struct backward_room room = backward_room_in(memory, a);
	size_t first = (size_t)sequence * (size_t)a->queries;
	size_t sums = (size_t)a->keys * (size_t)padded(a->width);
	int group = a->heads / a->kv_heads;

	memset(room.dk, 0, 2 * sums * sizeof(float));
	for (int h = kv_head * group; h < (kv_head + 1) * group; h++)
		for (int query = 0; query < a->queries; query += QUERIES) {
			struct attention_block b = {.sequence = sequence,
						    .head = h,
						    .query = query,
						    .n = imin(QUERIES, a->queries - query)};

			load_queries(a, &b, &room);
			for (int key = 0; key < query + b.n; key += KEYS) {
				struct pairing p = pairing_of(a, &b, key);

				add_pairing(&p, &room);
			}
			put_sums(a->dq, first + (size_t)query, h, b.n, a->width, a->scale,
				 room.dq);
		}
	put_sums(a->dk, first, kv_head, a->keys, a->width, 1, room.dk);
	put_sums(a->dv, first, kv_head, a->keys, a->width, 1, room.dv);
}

#endif
