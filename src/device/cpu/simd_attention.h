/*
 * simd_attention.h - what attention's forward and backward share; part of simd.c.
 *
 * A block is up to 64 queries of a head against up to 64 keys, all as floats in the thread's
 * own memory. Its scores lie key by key with the queries side by side, so that maximum, sum
 * and exponentials of a softmax are those of lanes, and a lane never knows its neighbours:
 * a query gives the same bits alone and among others. Every product is a tile of registers,
 * one broadcast factor times vectors of the other: along the queries for scores, along the
 * elements of a head for all else.
 */
#ifndef KOLM_DEVICE_CPU_SIMD_ATTENTION_H
#define KOLM_DEVICE_CPU_SIMD_ATTENTION_H

#include "device/cpu/simd_dropout.h"
#include "device/cpu/simd_tile.h"

#if defined(KOLM_AVX512) || defined(__aarch64__) /* 32 registers */
enum { PRODUCT_VECS = 4 };
#else
enum { PRODUCT_VECS = 2 };
#endif
enum { PRODUCT_ROWS = 6, QUERIES = ATTENTION_BLOCK, KEYS = ATTENTION_BLOCK };

/* ---- products ---- */

/* c = sum over i < depth of a(row, i) * b(i, column): overwritten, or added to c, which is
   multiplied by its row's factor first if there are any. */
struct product {
	const float *a;
	size_t a_stride; /* of a's rows, or if they lie across of i */
	const float *b;
	size_t b_stride;
	float *c;
	size_t c_stride;
	const float *factors;
	int depth;
	bool first;
};

INLINE void product_tile(const struct product *p, const int rows, const int vecs,
			 const bool across)
{
	vec sum[PRODUCT_ROWS][PRODUCT_VECS];
	const float *a[PRODUCT_ROWS], *b = p->b, *factors = p->factors;
	size_t a_stride = p->a_stride, b_stride = p->b_stride;
	float *c = p->c;
	int depth = p->depth;
	bool first = p->first;

	UNROLL
	for (int r = 0; r < rows; r++) {
		a[r] = p->a + (across ? (size_t)r : (size_t)r * a_stride);
		UNROLL
		for (int j = 0; j < vecs; j++)
			sum[r][j] = (vec){0};
	}
	for (int i = 0; i < depth; i++, b += b_stride) {
		size_t at = across ? (size_t)i * a_stride : (size_t)i;
		vec side[PRODUCT_VECS];

		UNROLL
		for (int j = 0; j < vecs; j++) {
			side[j] = load(b + j * VL);
			PIN(side[j]);
		}
		UNROLL
		for (int r = 0; r < rows; r++) {
			vec value = splat(a[r][at]);

			UNROLL
			for (int j = 0; j < vecs; j++)
				sum[r][j] += value * side[j];
		}
	}
	UNROLL
	for (int r = 0; r < rows; r++) {
		vec factor = splat(factors ? factors[r] : 1);
		float *to = c + (size_t)r * p->c_stride;

		UNROLL
		for (int j = 0; j < vecs; j++)
			store(to + j * VL,
			      first ? sum[r][j] : load(to + j * VL) * factor + sum[r][j]);
	}
}

#define PRODUCT_FUNCTION(rows, name, vecs, across)                            \
	static void product_##name##_##rows##_##vecs(const struct product *p) \
	{                                                                     \
		product_tile(p, rows, vecs, across);                          \
	}
#define PRODUCT_ENTRY(rows, name, vecs, across) \
	[across][(vecs)-1][(rows)-1] = product_##name##_##rows##_##vecs,
#if defined(KOLM_AVX512) || defined(__aarch64__)
#define PRODUCT_WIDTHS(F, name, across) \
	ROWS_TO_6(F, name, 1, across)   \
	ROWS_TO_6(F, name, 2, across)   \
	ROWS_TO_6(F, name, 3, across) ROWS_TO_6(F, name, 4, across)
#else
#define PRODUCT_WIDTHS(F, name, across) \
	ROWS_TO_6(F, name, 1, across) ROWS_TO_6(F, name, 2, across)
#endif
#define PRODUCTS(F) PRODUCT_WIDTHS(F, along, 0) PRODUCT_WIDTHS(F, across, 1)
PRODUCTS(PRODUCT_FUNCTION)
static void (*const product_tiles[2][PRODUCT_VECS][PRODUCT_ROWS])(const struct product *) = {
	PRODUCTS(PRODUCT_ENTRY)};

/* A tile's rows, all of its vectors. */
static void product_rows(struct product p, int rows, int vecs, bool across)
{
	for (int n; vecs > 0; vecs -= n) {
		n = vecs > PRODUCT_VECS && vecs < 2 * PRODUCT_VECS ? vecs / 2
								   : imin(vecs, PRODUCT_VECS);
		product_tiles[across][n - 1][rows - 1](&p);
		p.b += n * VL;
		p.c += n * VL;
	}
}

/* ---- operands ---- */

/* Elements of a head's row, with the zeros behind it. */
INLINE int padded(int width)
{
	return (int)round_up(width, PANEL);
}

/* Whole vectors of a row, and what is behind them. */
INLINE void load_row(const void *from, size_t at, int width, float factor, float *to,
		     const enum dtype type)
{
	int i = 0;

	for (; i + VL <= width; i += VL)
		store(to + i, load_as(from, at + (size_t)i, type) * factor);
	for (; i < width; i++)
		to[i] = float_from(from, at + (size_t)i, type) * factor;
	for (; i < padded(width); i++)
		to[i] = 0;
}

/* Up to 64 rows of a head from a row on, as floats times a factor, zero-filled; so are rows up
   to a multiple of VL. */
static void load_block(struct view from, size_t row, int head, int n, int width, float factor,
		       float *to)
{
	size_t at = row * from.stride + (size_t)head * (size_t)width;
	int row_size = padded(width), rows = (int)round_up(n, VL);

	for (int r = 0; r < n; r++, at += from.stride, to += row_size) {
		if (from.type == DTYPE_F32)
			load_row(from.data, at, width, factor, to, DTYPE_F32);
		else if (from.type == DTYPE_F16)
			load_row(from.data, at, width, factor, to, DTYPE_F16);
		else
			load_row(from.data, at, width, factor, to, DTYPE_BF16);
	}
	memset(to, 0, (size_t)(rows - n) * (size_t)row_size * sizeof(float));
}

/* Rows of a head that will be loaded, or written, soon. */
struct coming {
	const char *at;
	size_t stride, bytes;
	int rows;
};

static struct coming coming_of(struct view v, size_t row, int head, int n, int width)
{
	size_t size = dtype_size(v.type);

	return (struct coming){(const char *)v.data +
				       (row * v.stride + (size_t)head * (size_t)width) * size,
			       v.stride * size, (size_t)width * size, imax(0, n)};
}

/* Those of two that one tile of products has the time for. */
static void fetch(const struct coming *c, int tile)
{
	for (const struct coming *last = c + 1; c <= last; c++) {
		int end = imin((tile + 1) * PRODUCT_ROWS, c->rows);

		for (int r = tile * PRODUCT_ROWS; r < end; r++)
			for (size_t i = 0; i < c->bytes; i += LINE)
				__builtin_prefetch(c->at + (size_t)r * c->stride + i, 0, 2);
	}
}

/* to[column][row] = from[row][column], of multiples of 4; to has rows of QUERIES. */
static void transpose(const float *from, int rows, int columns, float *to)
{
	for (int r = 0; r < rows; r += 4)
		for (int c = 0; c < columns; c += 4) {
			const float *at = from + (size_t)r * (size_t)columns + c;
			vec4 a = *(const vec4_any *)at;
			vec4 b = *(const vec4_any *)(at + columns);
			vec4 d = *(const vec4_any *)(at + 2 * columns);
			vec4 e = *(const vec4_any *)(at + 3 * columns);
			vec4 ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
			vec4 ab2 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
			vec4 de = __builtin_shufflevector(d, e, 0, 4, 1, 5);
			vec4 de2 = __builtin_shufflevector(d, e, 2, 6, 3, 7);
			float *out = to + (size_t)c * QUERIES + r;

			*(vec4_any *)out = __builtin_shufflevector(ab, de, 0, 1, 4, 5);
			*(vec4_any *)(out + QUERIES) =
				__builtin_shufflevector(ab, de, 2, 3, 6, 7);
			*(vec4_any *)(out + 2 * QUERIES) =
				__builtin_shufflevector(ab2, de2, 0, 1, 4, 5);
			*(vec4_any *)(out + 3 * QUERIES) =
				__builtin_shufflevector(ab2, de2, 2, 3, 6, 7);
		}
}

/* ---- a block of queries against a block of keys ---- */

struct pairing {
	const struct attention *a;
	const struct attention_block *b;
	int key, keys; /* so many from there on; none that no query looks at */
	int vecs;      /* of queries */
	int ahead;     /* query i looks at key k of the block if i >= k + ahead */
	int width, row_size;
	struct coming coming[3][2]; /* fetched while products are computed, two with each */
};

static struct pairing pairing_of(const struct attention *a, const struct attention_block *b,
				 int key)
{
	int seen = a->first + b->query + b->n; /* keys of the last query */

	return (struct pairing){.a = a,
				.b = b,
				.key = key,
				.keys = imin(KEYS, seen - key),
				.vecs = (int)ceil_div(b->n, VL),
				.ahead = key - a->first - b->query,
				.width = a->width,
				.row_size = padded(a->width)};
}

/* Keys of the block that query i looks at. */
INLINE int keys_seen(const struct pairing *p, int i)
{
	return imax(0, imin(p->keys, i - p->ahead + 1));
}

/* The first vector of queries of which one looks at key k. */
INLINE int first_vector(const struct pairing *p, int k)
{
	return imax(0, k + p->ahead) / VL;
}

/* (keys, queries) of rows of k times columns of q; what no query of a vector looks at is not
   computed. */
static void multiply_scores(const struct pairing *p, const float *k, const float *q,
			    float *scores, const struct coming *coming)
{
	struct tiling tiling = tile_rows(p->keys, PRODUCT_ROWS);

	for (int t = 0, r = 0, n; t < tiling.tiles; t++, r += n) {
		int skipped = first_vector(p, r) * VL;

		n = tiling.size + (t < tiling.larger);
		fetch(coming, t);
		product_rows((struct product){.a = k + r * p->row_size,
					      .a_stride = (size_t)p->row_size,
					      .b = q + skipped,
					      .b_stride = QUERIES,
					      .c = scores + r * QUERIES + skipped,
					      .c_stride = QUERIES,
					      .depth = p->width,
					      .first = true},
			     n, p->vecs - skipped / VL, false);
	}
}

/* (queries, elements) += of probabilities times rows of v; scaled by factors first, if any. */
static void multiply_queries(const struct pairing *p, const float *probabilities,
			     const float *v, const float *factors, bool first, float *out)
{
	struct tiling tiling = tile_rows(p->b->n, PRODUCT_ROWS);

	for (int t = 0, r = 0, n; t < tiling.tiles; t++, r += n) {
		n = tiling.size + (t < tiling.larger);
		fetch(p->coming[2], t);
		product_rows((struct product){.a = probabilities + r,
					      .a_stride = QUERIES,
					      .b = v,
					      .b_stride = (size_t)p->row_size,
					      .c = out + r * p->row_size,
					      .c_stride = (size_t)p->row_size,
					      .factors = factors ? factors + r : NULL,
					      .depth = keys_seen(p, r + n - 1),
					      .first = first},
			     n, (int)ceil_div(p->width, VL), true);
	}
}

/* Which lanes from query i on look at key k? */
INLINE ivec lanes_seeing(const struct pairing *p, int i, int k)
{
	static const int32_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
	typedef int32_t ivec_any __attribute__((vector_size(VL * 4), aligned(4), may_alias));

	return *(const ivec_any *)numbers >= k + p->ahead - i;
}

/*
 * 2^x for x <= 0 (tiny below -126), of what is no number no number: scores are in units of
 * ln 2, which saves their conversion. Relative error < 2e-7.
 */
INLINE vec vec_exp2(vec x)
{
	const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
	vec shifted, f, p;

	x = vec_max(splat(-126.0f), x);
	shifted = x + magic;
	f = x - (shifted - magic);
	p = f * 1.3276472e-3f + 9.6755413e-3f;
	p = p * f + 5.5507133e-2f;
	p = p * f + 2.4022120e-1f;
	p = p * f + 6.9314697e-1f;
	p = p * f + 1.0f;
	return (vec)((ivec)p + ((ivec)shifted << 23));
}

static const float LOG2_E = 1.44269504f, LN_2 = 0.693147181f;

/* ---- dropout ---- */

/* Those of a query for its first n keys. */
INLINE void draw_row(const struct dropout *d, uint64_t at, int n, uint32_t *to)
{
	uint32_t row[KEYS + RNG_WORDS + RNG_BLOCKS * RNG_WORDS];
	int skipped = (int)(at % RNG_WORDS), end = skipped + n;
	uint32_t *words = skipped ? row : to;

	for (int i = 0; i < end; i += RNG_BLOCKS * RNG_WORDS)
		random_words(d, (at + (uint64_t)i) / RNG_WORDS, words + i);
	if (skipped)
		memcpy(to, row + skipped, (size_t)n * sizeof(*row));
}

/* The generator's words, (keys, queries), where a query looks at a key; rows is room for them
   query by query. */
static void draw_words(const struct pairing *p, float *rows, float *words)
{
	const struct attention *a = p->a;
	int64_t first = a->first_row + (int64_t)p->b->sequence * a->queries + p->b->query;

	for (int i = 0; i < p->b->n; i++) {
		int64_t row = (first + i) * a->all_heads + a->first_head + p->b->head;

		draw_row(&a->drop, (uint64_t)(row * a->keys + p->key), keys_seen(p, i),
			 (uint32_t *)rows + i * KEYS);
	}
	transpose(rows, (int)round_up(p->b->n, 4), KEYS, words);
}

/* What is kept, and what it is multiplied by; where nothing is kept, all by 0. */
struct keeping {
	uint32_t bound;
	float factor;
};

static struct keeping keeping_of(const struct dropout *d)
{
	uint64_t bound = dropout_bound(d);

	if (bound > UINT32_MAX)
		return (struct keeping){0, 0};
	return (struct keeping){(uint32_t)bound, dropout_factor(d)};
}

INLINE vec keep_lanes(struct keeping keeping, const float *words, vec values)
{
	ivec keep = *(const uvec_any *)words >= keeping.bound;

	return vec_select(keep, values * keeping.factor, (vec){0});
}

#endif
