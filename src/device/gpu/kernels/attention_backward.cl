/*
 * attention_backward.cl - the gradients of attention; read together with attention.cl.
 *
 * Probabilities are computed anew from what forward saved. With p = exp(s - saved) and
 * row = dout . out, the gradient of a score is ds = p (dout . v - row); then dq = ds k,
 * dk = ds' q, dv = p' dout. A group has a block of queries for dq, a block of keys for dk and
 * dv, and adds in the order of the other one: nothing is written by two.
 */

/* The gradient of scores, and probabilities, of the 2 x 2 that this item has. */
#define SCORES(s, dp)                                                                      \
	for (int a = 0; a < 2; a++)                                                        \
		for (int b = 0; b < 2; b++) {                                              \
			int row = down + a * HALF, key = across + b * HALF;                \
			float p = 0, kept = 1;                                             \
                                                                                           \
			if (k0 + key <= q0 + row && q0 + row < queries)                    \
				p = exp(fma(s[a][b], scale, -tops[row]));                  \
			if (bound > 0)                                                     \
				kept = KEPT(PLACE(query_row + q0 + row, head, k0 + key))   \
					       ? factor                                    \
					       : 0.0f;                                     \
			s[a][b] = p * (kept * dp[a][b] - dots[row]);                       \
			dp[a][b] = p * kept;                                               \
		}

/* dots = dout . out, tops = saved, of the block of queries; EACH of the items of a query has
   every such column. Barriers of MULTIPLY_BLOCKS come before anybody reads them, and before what
   a round has left in local memory is written again. */
#define EACH (ITEMS / BLOCK)
#define MEASURE_QUERIES()                                                                  \
	{                                                                                  \
		int row = ITEM_X / EACH, part = ITEM_X % EACH;                             \
		float sum = 0;                                                             \
                                                                                           \
		for (int c = part; c < width && q0 + row < queries; c += EACH)             \
			sum = fma(GET(dout, query_row + q0 + row, query_at + c),               \
				  GET(out, query_row + q0 + row, query_at + c), sum);          \
		parts[row][part] = sum;                                                    \
		BARRIER();                                                                 \
		if (part == 0) {                                                           \
			for (int i = 1; i < EACH; i++)                                     \
				sum += parts[row][i];                                      \
			dots[row] = sum;                                                   \
			tops[row] = q0 + row < queries                                     \
					    ? GET(saved, query_row + q0 + row, head)       \
					    : 0.0f;                                        \
		}                                                                          \
	}

/* Scores of a block of queries and a block of keys, and products of dout with v. */
#define MULTIPLY_BLOCKS(s, dp)                                                             \
	for (int chunk = 0; chunk < width; chunk += CHUNK) {                               \
		FETCH(qs, q, CHUNK, query_row, q0, queries, query_at, chunk)                   \
		FETCH(ks, k, CHUNK, key_row, k0, keys, key_at, chunk)                        \
		FETCH(ds, dout, CHUNK, query_row, q0, queries, query_at, chunk)                \
		FETCH(vs, v, CHUNK, key_row, k0, keys, key_at, chunk)                        \
		BARRIER();                                                                 \
		MULTIPLY(s, qs, ks);                                                       \
		MULTIPLY(dp, ds, vs);                                                      \
		BARRIER();                                                                 \
	}

KERNEL(ATTENTION_ITEMS, 1)
void attention_queries(VIEW(q), VIEW(k), VIEW(v), VIEW(out), VIEW(saved), VIEW(dout), VIEW(dq),
		       SHAPE, DROPPED)
{
	LOCAL float qs[BLOCK][CHUNK + 1], ks[BLOCK][CHUNK + 1], ds[BLOCK][CHUNK + 1];
	LOCAL float vs[BLOCK][CHUNK + 1], scores[BLOCK][BLOCK + 1], slices[BLOCK][SLICE + 1];
	LOCAL float dots[BLOCK], tops[BLOCK], parts[BLOCK][EACH];
	float result[2][PARTS];
	int across = ITEM_X % HALF, down = ITEM_X / HALF;
	int head = GROUP_Y % heads, c0 = GROUP_Y / heads * SLICE;
	int q0 = GROUP_X * BLOCK, query_row = GROUP_Z * queries, key_row = GROUP_Z * keys;
	int query_at = head * width, key_at = head / (heads / kv_heads) * width;

	for (int a = 0; a < 2; a++)
		for (int j = 0; j < PARTS; j++)
			result[a][j] = 0;
	MEASURE_QUERIES()
	for (int k0 = 0; k0 < q0 + BLOCK && k0 < keys; k0 += BLOCK) {
		float s[2][2] = {{0, 0}, {0, 0}}, dp[2][2] = {{0, 0}, {0, 0}};

		MULTIPLY_BLOCKS(s, dp)
		SCORES(s, dp)
		for (int a = 0; a < 2; a++)
			for (int b = 0; b < 2; b++)
				scores[down + a * HALF][across + b * HALF] = s[a][b];
		FETCH(slices, k, SLICE, key_row, k0, keys, key_at, c0)
		BARRIER();
		for (int a = 0; a < 2; a++)
			for (int j = 0; j < PARTS; j++)
				for (int i = 0; i < BLOCK; i++)
					result[a][j] = fma(scores[down + a * HALF][i],
							   slices[i][across + j * HALF],
							   result[a][j]);
	}
	for (int a = 0; a < 2; a++)
		for (int j = 0; j < PARTS; j++) {
			int row = down + a * HALF, column = c0 + across + j * HALF;

			if (q0 + row < queries && column < width)
				PUT(dq, query_row + q0 + row, query_at + column, result[a][j] * scale);
		}
}

/* GROUP_Y: key heads; all query heads that use one are added in their order. */
KERNEL(ATTENTION_ITEMS, 1)
void attention_keys(VIEW(q), VIEW(k), VIEW(v), VIEW(out), VIEW(saved), VIEW(dout), VIEW(dk),
		    VIEW(dv), SHAPE, DROPPED)
{
	LOCAL float qs[BLOCK][CHUNK + 1], ks[BLOCK][CHUNK + 1], ds[BLOCK][CHUNK + 1];
	LOCAL float vs[BLOCK][CHUNK + 1], scores[BLOCK][BLOCK + 1], shares[BLOCK][BLOCK + 1];
	LOCAL float slices[BLOCK][SLICE + 1], dots[BLOCK], tops[BLOCK], parts[BLOCK][EACH];
	float for_k[2][PARTS], for_v[2][PARTS];
	int across = ITEM_X % HALF, down = ITEM_X / HALF, group = heads / kv_heads;
	int kv_head = GROUP_Y % kv_heads, c0 = GROUP_Y / kv_heads * SLICE;
	int k0 = GROUP_X * BLOCK, query_row = GROUP_Z * queries, key_row = GROUP_Z * keys;
	int key_at = kv_head * width;

	for (int a = 0; a < 2; a++)
		for (int j = 0; j < PARTS; j++)
			for_k[a][j] = for_v[a][j] = 0;
	for (int head = kv_head * group; head < (kv_head + 1) * group; head++)
		for (int q0 = k0; q0 < queries; q0 += BLOCK) {
			float s[2][2] = {{0, 0}, {0, 0}}, dp[2][2] = {{0, 0}, {0, 0}};
			int query_at = head * width;

			MEASURE_QUERIES()
			MULTIPLY_BLOCKS(s, dp)
			SCORES(s, dp)
			for (int a = 0; a < 2; a++)
				for (int b = 0; b < 2; b++) {
					scores[down + a * HALF][across + b * HALF] = s[a][b];
					shares[down + a * HALF][across + b * HALF] = dp[a][b];
				}
			FETCH(slices, q, SLICE, query_row, q0, queries, query_at, c0)
			BARRIER();
			for (int a = 0; a < 2; a++)
				for (int j = 0; j < PARTS; j++)
					for (int i = 0; i < BLOCK; i++)
						for_k[a][j] = fma(scores[i][down + a * HALF],
								  slices[i][across + j * HALF],
								  for_k[a][j]);
			BARRIER();
			FETCH(slices, dout, SLICE, query_row, q0, queries, query_at, c0)
			BARRIER();
			for (int a = 0; a < 2; a++)
				for (int j = 0; j < PARTS; j++)
					for (int i = 0; i < BLOCK; i++)
						for_v[a][j] = fma(shares[i][down + a * HALF],
								  slices[i][across + j * HALF],
								  for_v[a][j]);
		}
	for (int a = 0; a < 2; a++)
		for (int j = 0; j < PARTS; j++) {
			int row = down + a * HALF, column = c0 + across + j * HALF;

			if (k0 + row < keys && column < width) {
				PUT(dk, key_row + k0 + row, key_at + column, for_k[a][j] * scale);
				PUT(dv, key_row + k0 + row, key_at + column, for_v[a][j]);
			}
		}
}
