/*
 * cpu_embedding.c - rows of a table by number.
 *
 * The table is in the layout of layout.h, where the elements of a row lie a line apart and 16
 * rows share their lines. So rows are put in the order of their tokens first: a token is read
 * or written once for all rows that have it, and its neighbours find the lines in the cache.
 */
#include "base/util.h"
#include "device/cpu/cpu.h"
#include "device/cpu/layout.h"
#include "device/cpu/pieces.h"

#include <assert.h>

enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };

struct embedding_job {
	struct cpu *cpu;
	const struct embedding *e;
	const struct token_row *order; /* rows of equal tokens together, each in their order */
};

/* ---- in the order of tokens ---- */

/* One digit of the tokens; what is equal there stays in its order. */
static void sort_digit(const struct token_row *from, struct token_row *to, int rows, int shift)
{
	int begin[DIGITS + 1] = {0};

	for (int i = 0; i < rows; i++)
		begin[(from[i].token >> shift) % DIGITS + 1]++;
	for (int d = 0; d < DIGITS; d++)
		begin[d + 1] += begin[d];
	for (int i = 0; i < rows; i++)
		to[begin[(from[i].token >> shift) % DIGITS]++] = from[i];
}

/* Tokens counted from e->first; those that are not here get the number e->count, the last. */
static const struct token_row *sort_tokens(struct cpu *cpu, const struct embedding *e)
{
	struct token_row *order = cpu->order, *other = cpu->order + cpu->order_size;

	assert(e->rows <= cpu->order_size);
	for (int r = 0; r < e->rows; r++) {
		int64_t token = (int64_t)e->tokens[r] - e->first;
		bool here = token >= 0 && token < e->count;

		order[r] = (struct token_row){here ? (uint32_t)token : (uint32_t)e->count, r};
	}
	for (int shift = 0; (uint32_t)e->count >> shift > 0; shift += DIGIT_BITS) {
		struct token_row *sorted = other;

		sort_digit(order, sorted, e->rows, shift);
		other = order;
		order = sorted;
	}
	return order;
}

/* Where the rows with the token of row i end. */
static int same_until(const struct embedding_job *job, int i, int end)
{
	uint32_t token = job->order[i].token;

	while (i < end && job->order[i].token == token)
		i++;
	return i;
}

/* Where those end that share lines with it. */
static int panel_until(const struct embedding_job *job, int i, int end)
{
	uint32_t panel = job->order[i].token / PANEL;

	while (i < end && job->order[i].token / PANEL == panel &&
	       job->order[i].token < (uint32_t)job->e->count)
		i++;
	return i;
}

/* ---- the elements of a row ---- */

/* n elements of a row of the table, that is every PANELth, side by side; and back. */
static void gather(const void *table, size_t at, enum dtype type, int n, void *to)
{
	const float *floats = (const float *)table + at;
	const uint16_t *halves = (const uint16_t *)table + at;

	for (int i = 0; i < n && type == DTYPE_F32; i++)
		((float *)to)[i] = floats[i * PANEL];
	for (int i = 0; i < n && type != DTYPE_F32; i++)
		((uint16_t *)to)[i] = halves[i * PANEL];
}

static void scatter(void *table, size_t at, enum dtype type, int n, const void *from)
{
	float *floats = (float *)table + at;
	uint16_t *halves = (uint16_t *)table + at;

	for (int i = 0; i < n && type == DTYPE_F32; i++)
		floats[i * PANEL] = ((const float *)from)[i];
	for (int i = 0; i < n && type != DTYPE_F32; i++)
		halves[i * PANEL] = ((const uint16_t *)from)[i];
}

/* Columns [c, c + n) of a token's row, within a slab, as floats. */
static float *table_row(const struct embedding_job *job, uint32_t token, int c, int n,
			float *scratch)
{
	const struct embedding *e = job->e;
	float *raw = scratch, *values = scratch + SLAB;

	gather(e->table, layout_index(e->count, e->columns, (int)token, c), e->type, n, raw);
	return widen(job->cpu->kernels, raw, 0, e->type, (size_t)n, values);
}

static void put_table_row(const struct embedding_job *job, uint32_t token, int c, int n,
			  const float *values, float *scratch)
{
	const struct embedding *e = job->e;

	put(job->cpu->kernels, values, scratch, 0, e->type, (size_t)n);
	scatter(e->table, layout_index(e->count, e->columns, (int)token, c), e->type, n,
		scratch);
}

/* ---- forward: threads share the rows ---- */

static void copy_token(const struct embedding_job *job, int i, int end, int c, int n,
		       float *scratch)
{
	const struct embedding *e = job->e;
	const float *values = table_row(job, job->order[i].token, c, n, scratch);

	for (; i < end; i++)
		put(job->cpu->kernels, values, view_from(e->y, (size_t)job->order[i].row).data,
		    (size_t)c, e->y.type, (size_t)n);
}

static void embed_part(void *arg, int part, int parts)
{
	const struct embedding_job *job = arg;
	const struct embedding *e = job->e;
	float *scratch = scratch_of(job->cpu, part);
	int i = (int)part_begin(e->rows, part, parts), next;
	int end = (int)part_begin(e->rows, part + 1, parts);

	for (; i < end && job->order[i].token < (uint32_t)e->count; i = next) {
		next = panel_until(job, i, end);
		for (int c = 0; c < e->columns; c += SLAB)
			for (int t = i, after; t < next; t = after) {
				after = same_until(job, t, next);
				copy_token(job, t, after, c, imin(SLAB, e->columns - c),
					   scratch);
			}
	}
	for (; i < end; i++) /* somebody else's */
		memset(view_from(e->y, (size_t)job->order[i].row).data, 0,
		       (size_t)e->columns * dtype_size(e->y.type));
}

static struct embedding_job job_of(struct device *dev, const struct embedding *e)
{
	struct cpu *cpu = cpu_of(dev);

	assert(cpu->scratch);
	return (struct embedding_job){cpu, e, sort_tokens(cpu, e)};
}

void cpu_embed(struct device *dev, const struct embedding *e)
{
	struct embedding_job job = job_of(dev, e);

	pool_run(job.cpu->pool, embed_part, &job);
}

/* ---- gradient: threads share the columns ---- */

static void clear_part(void *arg, int part, int parts)
{
	const struct embedding *e = ((struct embedding_job *)arg)->e;
	int64_t bytes = (int64_t)(layout_size(e->count, e->columns) * dtype_size(e->type));
	int64_t a = part_begin(bytes, part, parts), b = part_begin(bytes, part + 1, parts);

	memset((char *)e->table + a, 0, (size_t)(b - a));
}

static void add_token(const struct embedding_job *job, int i, int end, int c, int n,
		      float *scratch)
{
	const struct embedding *e = job->e;
	const struct kernels *k = job->cpu->kernels;
	float *sum = scratch, *row = scratch + SLAB, *room = scratch + (size_t)(2 * SLAB);
	uint32_t token = job->order[i].token;

	memset(sum, 0, (size_t)n * sizeof(*sum));
	for (; i < end; i++)
		k->add(sum,
		       widen(k, view_from(e->y, (size_t)job->order[i].row).data, (size_t)c,
			     e->y.type, (size_t)n, row),
		       n);
	k->add(sum, table_row(job, token, c, n, room), n);
	put_table_row(job, token, c, n, sum, room);
}

static void gradient_part(void *arg, int part, int parts)
{
	const struct embedding_job *job = arg;
	const struct embedding *e = job->e;
	int64_t grains = ceil_div(e->columns, PANEL);
	int begin = (int)part_begin(grains, part, parts) * PANEL;
	int end = imin((int)part_begin(grains, part + 1, parts) * PANEL, e->columns);

	for (int i = 0, next; i < e->rows && job->order[i].token < (uint32_t)e->count;
	     i = next) {
		next = panel_until(job, i, e->rows);
		for (int c = begin, n; c < end; c += n) {
			n = imin(end, (c / SLAB + 1) * SLAB) - c;
			for (int t = i, after; t < next; t = after) {
				after = same_until(job, t, next);
				add_token(job, t, after, c, n, scratch_of(job->cpu, part));
			}
		}
	}
}

void cpu_embed_gradient(struct device *dev, const struct embedding *e)
{
	struct embedding_job job = job_of(dev, e);

	if (!e->accumulate)
		pool_run(job.cpu->pool, clear_part, &job);
	pool_run(job.cpu->pool, gradient_part, &job);
}
