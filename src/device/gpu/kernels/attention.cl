/*
 * attention.cl - causal attention, forward: a group has a block of queries of a head and a
 * slice of its columns, and goes over the keys a block at a time. Scores exist in local memory
 * only; maximum and sum of a query go along with them.
 *
 * Every item has 2 x 2 scores: rows down and down + HALF, columns across and across + HALF.
 */
#define BLOCK ATTENTION_BLOCK
#define CHUNK ATTENTION_CHUNK
#define SLICE ATTENTION_SLICE
#define ITEMS ATTENTION_ITEMS
#define HALF (BLOCK / 2)
#define PARTS (SLICE / HALF)

#define SHAPE int queries, int keys, int first, int heads, int kv_heads, int width, float scale
#define DROPPED DROPOUT, i64 first_row, int all_heads, int first_head
#define PLACE(row, head, key)                                                              \
	((u64)(((first_row + (row)) * all_heads + first_head + (head)) * keys + (key)))

/* Up to BLOCK rows from r0 on, of which there are `rows`, and WIDE columns from c0 on of a
   head that begins at column `head_at`; zeros beyond. row0: where the sequence begins. */
#define FETCH(tile, v, WIDE, row0, r0, rows, head_at, c0)                                  \
	for (int i = ITEM_X; i < BLOCK * (WIDE); i += ITEMS) {                             \
		int tr = i / (WIDE), tc = i % (WIDE);                                      \
                                                                                           \
		tile[tr][tc] = (r0) + tr < (rows) && (c0) + tc < width                     \
				       ? GET(v, (i64)(row0) + (r0) + tr, (head_at) + (c0) + tc) \
				       : 0.0f;                                             \
	}

/* products += rows of one tile times rows of the other. */
#define MULTIPLY(products, left, right)                                                    \
	for (int i = 0; i < CHUNK; i++)                                                    \
		UNROLL                                                                     \
		for (int a = 0; a < 2; a++)                                                \
			UNROLL                                                             \
			for (int b = 0; b < 2; b++)                                        \
				products[a][b] = fma(left[down + a * HALF][i],             \
						     right[across + b * HALF][i], products[a][b])

KERNEL(ATTENTION_ITEMS, 1)
void attention_forward(VIEW(q), VIEW(k), VIEW(v), VIEW(out), VIEW(saved), SHAPE, DROPPED)
{
	LOCAL float qs[BLOCK][CHUNK + 1], ks[BLOCK][CHUNK + 1];
	LOCAL float ps[BLOCK][BLOCK + 1], vs[BLOCK][SLICE + 1];
	LOCAL float tops[BLOCK], sums[BLOCK], shrinks[BLOCK];
	float result[2][PARTS];
	int across = ITEM_X % HALF, down = ITEM_X / HALF;
	int head = GROUP_Y % heads, c0 = GROUP_Y / heads * SLICE;
	int q0 = GROUP_X * BLOCK, query_row = GROUP_Z * queries, key_row = GROUP_Z * keys;
	int query_at = head * width, key_at = head / (heads / kv_heads) * width;
	int last = first + q0 + BLOCK;

	last = last < first + queries ? last : first + queries;
	for (int a = 0; a < 2; a++)
		for (int j = 0; j < PARTS; j++)
			result[a][j] = 0;
	if (ITEM_X < BLOCK) {
		tops[ITEM_X] = -INFINITY;
		sums[ITEM_X] = 0;
	}
	for (int k0 = 0; k0 < last; k0 += BLOCK) {
		float s[2][2] = {{0, 0}, {0, 0}};

		for (int chunk = 0; chunk < width; chunk += CHUNK) {
			FETCH(qs, q, CHUNK, query_row, q0, queries, query_at, chunk)
			FETCH(ks, k, CHUNK, key_row, k0, keys, key_at, chunk)
			BARRIER();
			MULTIPLY(s, qs, ks);
			BARRIER();
		}
		FETCH(vs, v, SLICE, key_row, k0, keys, key_at, c0)
		for (int a = 0; a < 2; a++)
			for (int b = 0; b < 2; b++) {
				int row = down + a * HALF, key = k0 + across + b * HALF;

				s[a][b] = key <= first + q0 + row ? s[a][b] * scale : -INFINITY;
				ps[row][across + b * HALF] = s[a][b];
			}
		BARRIER();
		if (ITEM_X < BLOCK) {
			float top = tops[ITEM_X];

			for (int j = 0; j < BLOCK; j++)
				top = fmax(top, ps[ITEM_X][j]);
			shrinks[ITEM_X] = exp(tops[ITEM_X] - top);
			tops[ITEM_X] = top;
		}
		BARRIER();
		for (int a = 0; a < 2; a++)
			for (int b = 0; b < 2; b++) {
				int row = down + a * HALF;

				s[a][b] = exp(s[a][b] - tops[row]);
				ps[row][across + b * HALF] = s[a][b];
			}
		BARRIER();
		if (ITEM_X < BLOCK) {
			float sum = sums[ITEM_X] * shrinks[ITEM_X];

			for (int j = 0; j < BLOCK; j++)
				sum += ps[ITEM_X][j];
			sums[ITEM_X] = sum;
		}
		if (bound > 0) {
			BARRIER();
			for (int a = 0; a < 2; a++)
				for (int b = 0; b < 2; b++) {
					int row = down + a * HALF, key = across + b * HALF;

					ps[row][key] = KEPT(PLACE(query_row + q0 + row, head,
								  k0 + key))
							       ? s[a][b] * factor
							       : 0.0f;
				}
			BARRIER();
		}
		for (int a = 0; a < 2; a++)
			for (int j = 0; j < PARTS; j++) {
				int row = down + a * HALF;
				float sum = result[a][j] * shrinks[row];

				for (int i = 0; i < BLOCK; i++)
					sum = fma(ps[row][i], vs[i][across + j * HALF], sum);
				result[a][j] = sum;
			}
		BARRIER();
	}
	for (int a = 0; a < 2; a++)
		for (int j = 0; j < PARTS; j++) {
			int row = down + a * HALF, column = c0 + across + j * HALF;

			if (q0 + row < queries && column < width)
				PUT(out, query_row + q0 + row, query_at + column,
				    result[a][j] / sums[row]);
		}
	if (ITEM_X < BLOCK && q0 + ITEM_X < queries && c0 == 0)
		PUT(saved, query_row + q0 + ITEM_X, head, tops[ITEM_X] + log(sums[ITEM_X]));
}
