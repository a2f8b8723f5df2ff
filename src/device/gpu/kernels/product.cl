/*
 * product.cl - C (m, n) = A (m, k) * B (k, n), with what comes behind it.
 *
 * A group has TILE_M x TILE_N of C, an item ITEM_M x ITEM_N of that in registers; TILE_K
 * columns of A and rows of B are in local memory at a time. Every element is one chain of
 * multiply-adds from the first k to the last: the sizes change no bit of it.
 *
 * Built with TILE_M, TILE_N, TILE_K, ITEM_M, ITEM_N; A_FAST and B_FAST: 1 where the elements
 * along k lie side by side, so that neighbours read neighbours; and, unless operands may be
 * of any type, TYPE.
 */
#define ACROSS (TILE_N / ITEM_N)
#define DOWN (TILE_M / ITEM_M)
#define ITEMS (ACROSS * DOWN)
#ifdef TYPE
#define TYPE_OF(v) TYPE
#else
#define TYPE_OF(v) v##_type
#endif

/* C = act(A * B + bias), saved takes what goes into the activation; or C += A * B. */
KERNEL(ITEMS, 1)
void product(VECTOR(a), u64 a_m, u64 a_k, VECTOR(b), u64 b_k, u64 b_n, VIEW(c), VECTOR(bias),
	     VIEW(saved), int m, int n, int k, int act, int accumulate)
{
	LOCAL float as[TILE_K][TILE_M + 1];
	LOCAL float bs[TILE_K][TILE_N + 1];
	float sum[ITEM_M][ITEM_N], x[ITEM_M], y[ITEM_N];
	int across = ITEM_X % ACROSS, down = ITEM_X / ACROSS;
	int m0 = GROUP_Y * TILE_M, n0 = GROUP_X * TILE_N;

	UNROLL
	for (int i = 0; i < ITEM_M; i++)
		UNROLL
		for (int j = 0; j < ITEM_N; j++)
			sum[i][j] = 0;
	for (int k0 = 0; k0 < k; k0 += TILE_K) {
		for (int i = ITEM_X; i < TILE_M * TILE_K; i += ITEMS) {
			int kk = A_FAST ? i % TILE_K : i / TILE_M;
			int mm = A_FAST ? i / TILE_K : i % TILE_M;
			u64 at = a_at + (u64)(m0 + mm) * a_m + (u64)(k0 + kk) * a_k;

			as[kk][mm] =
				m0 + mm < m && k0 + kk < k ? load(a, at, TYPE_OF(a)) : 0.0f;
		}
		for (int i = ITEM_X; i < TILE_N * TILE_K; i += ITEMS) {
			int kk = B_FAST ? i % TILE_K : i / TILE_N;
			int nn = B_FAST ? i / TILE_K : i % TILE_N;
			u64 at = b_at + (u64)(n0 + nn) * b_n + (u64)(k0 + kk) * b_k;

			bs[kk][nn] =
				n0 + nn < n && k0 + kk < k ? load(b, at, TYPE_OF(b)) : 0.0f;
		}
		BARRIER();
		UNROLL
		for (int kk = 0; kk < TILE_K; kk++) {
			UNROLL
			for (int i = 0; i < ITEM_M; i++)
				x[i] = as[kk][down + i * DOWN];
			UNROLL
			for (int j = 0; j < ITEM_N; j++)
				y[j] = bs[kk][across + j * ACROSS];
			UNROLL
			for (int i = 0; i < ITEM_M; i++)
				UNROLL
				for (int j = 0; j < ITEM_N; j++)
					sum[i][j] = fma(x[i], y[j], sum[i][j]);
		}
		BARRIER();
	}
	UNROLL
	for (int i = 0; i < ITEM_M; i++)
		UNROLL
		for (int j = 0; j < ITEM_N; j++) {
			int row = m0 + down + i * DOWN, column = n0 + across + j * ACROSS;
			float z = sum[i][j];

			if (row >= m || column >= n)
				continue;
			if (HAS(bias))
				z += GET_AT(bias, column);
			if (accumulate)
				z += GET(c, row, column);
			if (HAS(saved))
				PUT(saved, row, column, z);
			PUT(c, row, column, activation(z, act));
		}
}
