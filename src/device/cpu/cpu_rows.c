/*
 * cpu_rows.c - copies, activations, gates, sums and dropout of matrices whose rows may lie
 * apart: rows are cut among the threads, and each is taken a piece at a time, in fp32.
 */
#include "base/util.h"
#include "device/cpu/cpu.h"
#include "device/cpu/pieces.h"

#include <assert.h>

enum { COPY_ALONE = 128 << 10 }; /* bytes that are not worth the others' time */

struct copy_job {
	char *to;
	const char *from;
	size_t to_stride, from_stride, bytes; /* of a row */
	int rows;
};

/* Threads share the rows, or where there are too few their bytes. */
static void copy_part(void *arg, int part, int parts)
{
	const struct copy_job *job = arg;
	bool by_rows = job->rows >= parts;
	int first = by_rows ? (int)part_begin(job->rows, part, parts) : 0;
	int last = by_rows ? (int)part_begin(job->rows, part + 1, parts) : job->rows;
	size_t a = by_rows ? 0 : (size_t)part_begin((int64_t)job->bytes, part, parts);
	size_t b =
		by_rows ? job->bytes : (size_t)part_begin((int64_t)job->bytes, part + 1, parts);

	for (size_t r = (size_t)first; r < (size_t)last; r++)
		memcpy(job->to + r * job->to_stride + a, job->from + r * job->from_stride + a,
		       b - a);
}

void cpu_copy(struct device *dev, struct view to, int to_column, struct view from,
	      int from_column, int rows, int columns)
{
	struct copy_job job = {
		.to = view_at(to, to_column).data,
		.from = view_at(from, from_column).data,
		.to_stride = view_bytes(to, 1),
		.from_stride = view_bytes(from, 1),
		.bytes = (size_t)columns * dtype_size(to.type),
		.rows = rows,
	};

	assert(job.to && job.from);
	if ((size_t)rows * job.bytes < COPY_ALONE)
		copy_part(&job, 0, 1);
	else
		pool_run(cpu_of(dev)->pool, copy_part, &job);
}

struct rows_job {
	struct cpu *cpu;
	struct view to, from; /* from: what else there is, such as what was saved */
	struct view bias;     /* one row */
	int rows, columns;
	enum activation act;
	const struct dropout *dropout;
	/* Columns [c, c + n) of row r. */
	void (*piece)(const struct rows_job *job, int r, int c, int n, float *scratch);
};

static void rows_part(void *arg, int part, int parts)
{
	const struct rows_job *job = arg;
	int end = (int)part_begin(job->rows, part + 1, parts);

	for (int r = (int)part_begin(job->rows, part, parts); r < end; r++)
		for (int c = 0; c < job->columns; c += PIECE)
			job->piece(job, r, c, imin(PIECE, job->columns - c),
				   scratch_of(job->cpu, part));
}

static void run(struct rows_job *job)
{
	pool_run(job->cpu->pool, rows_part, job);
}

static void activate_piece(const struct rows_job *job, int r, int c, int n, float *scratch)
{
	const struct kernels *k = job->cpu->kernels;
	struct view y = view_from(job->to, (size_t)r), before = view_from(job->from, (size_t)r);
	size_t at = (size_t)c, count = (size_t)n;
	float *values = widen(k, y.data, at, y.type, count, scratch);
	float *bias = widen(k, job->bias.data, at, job->bias.type, count, scratch + PIECE);
	float *room = NULL;

	if (before.data)
		room = before.type == DTYPE_F32 ? (float *)before.data + c
						: scratch + 2 * PIECE;
	k->activate_row(values, bias, room, n, job->act);
	narrow(k, values, y.data, at, y.type, count);
	if (room)
		narrow(k, room, before.data, at, before.type, count);
}

void cpu_activate(struct device *dev, struct view y, struct view bias, struct view before,
		  int rows, int columns, enum activation act)
{
	struct rows_job job = {.cpu = cpu_of(dev),
			       .to = y,
			       .from = before,
			       .bias = bias,
			       .rows = rows,
			       .columns = columns,
			       .act = act,
			       .piece = activate_piece};

	run(&job);
}

static void derive_piece(const struct rows_job *job, int r, int c, int n, float *scratch)
{
	const struct kernels *k = job->cpu->kernels;
	struct view dy = view_from(job->to, (size_t)r), saved = view_from(job->from, (size_t)r);
	size_t at = (size_t)c, count = (size_t)n;
	float *values = widen(k, dy.data, at, dy.type, count, scratch);

	k->derive_row(values, widen(k, saved.data, at, saved.type, count, scratch + PIECE), n,
		      job->act);
	narrow(k, values, dy.data, at, dy.type, count);
}

void cpu_derive(struct device *dev, struct view dy, struct view saved, int rows, int columns,
		enum activation act)
{
	struct rows_job job = {.cpu = cpu_of(dev),
			       .to = dy,
			       .from = saved,
			       .rows = rows,
			       .columns = columns,
			       .act = act,
			       .piece = derive_piece};

	if (act != ACT_NONE)
		run(&job);
}

static void add_piece(const struct rows_job *job, int r, int c, int n, float *scratch)
{
	const struct kernels *k = job->cpu->kernels;
	struct view to = view_from(job->to, (size_t)r), from = view_from(job->from, (size_t)r);
	size_t at = (size_t)c, count = (size_t)n;
	float *values = widen(k, to.data, at, to.type, count, scratch);

	k->add(values, widen(k, from.data, at, from.type, count, scratch + PIECE), n);
	narrow(k, values, to.data, at, to.type, count);
}

void cpu_add(struct device *dev, struct view to, struct view from, int rows, int columns)
{
	struct rows_job job = {.cpu = cpu_of(dev),
			       .to = to,
			       .from = from,
			       .rows = rows,
			       .columns = columns,
			       .piece = add_piece};

	run(&job);
}

static void dropout_piece(const struct rows_job *job, int r, int c, int n, float *scratch)
{
	const struct kernels *k = job->cpu->kernels;
	const struct dropout *d = job->dropout;
	struct view to = view_from(job->to, (size_t)r), from = view_from(job->from, (size_t)r);
	size_t at = (size_t)c, count = (size_t)n;
	float *room = to.type == DTYPE_F32 ? (float *)to.data + c : scratch;

	k->dropout(room, widen(k, from.data, at, from.type, count, scratch), n, d,
		   (uint64_t)((d->row + r) * d->columns + d->column + c));
	narrow(k, room, to.data, at, to.type, count);
}

void cpu_dropout(struct device *dev, struct view to, struct view from, int rows, int columns,
		 const struct dropout *d)
{
	struct rows_job job = {.cpu = cpu_of(dev),
			       .to = to,
			       .from = from,
			       .rows = rows,
			       .columns = columns,
			       .dropout = d,
			       .piece = dropout_piece};

	run(&job);
}

struct gate_job {
	struct cpu *cpu;
	const struct gate *g;
	/* Columns [c, c + n) of row r. */
	void (*compute)(const struct gate_job *job, int r, int c, int n, float *scratch);
};

/* Both halves of columns [c, c + n) of x. */
struct gate_piece {
	float *gate, *up;
};

static struct gate_piece gate_piece(const struct gate_job *job, int r, int c, int n,
				    float *scratch)
{
	const struct kernels *k = job->cpu->kernels;
	struct view x = view_from(job->g->x, (size_t)r);

	return (struct gate_piece){
		widen(k, x.data, (size_t)c, x.type, (size_t)n, scratch),
		widen(k, x.data, (size_t)(job->g->columns + c), x.type, (size_t)n,
		      scratch + PIECE),
	};
}

/* Where a result is computed. */
static float *room_for(struct view to, int c, float *room)
{
	return to.type == DTYPE_F32 ? (float *)to.data + c : room;
}

static void gate_columns(const struct gate_job *job, int r, int c, int n, float *scratch)
{
	const struct gate *g = job->g;
	const struct kernels *k = job->cpu->kernels;
	struct gate_piece x = gate_piece(job, r, c, n, scratch);
	struct view y = view_from(g->y, (size_t)r);
	float *room = room_for(y, c, scratch + 2 * PIECE);

	k->gate_row(x.gate, x.up, room, n, g->act);
	narrow(k, room, y.data, (size_t)c, y.type, (size_t)n);
}

static void gradient_columns(const struct gate_job *job, int r, int c, int n, float *scratch)
{
	const struct gate *g = job->g;
	const struct kernels *k = job->cpu->kernels;
	struct gate_piece x = gate_piece(job, r, c, n, scratch);
	struct view dx = view_from(g->dx, (size_t)r), dy = view_from(g->dy, (size_t)r);
	float *dgate = room_for(dx, c, scratch + 2 * PIECE);
	float *dup = room_for(dx, g->columns + c, scratch + 3 * PIECE);

	k->gate_gradient_row(
		x.gate, x.up,
		widen(k, dy.data, (size_t)c, dy.type, (size_t)n, scratch + 4 * PIECE), dgate,
		dup, n, g->act);
	narrow(k, dgate, dx.data, (size_t)c, dx.type, (size_t)n);
	narrow(k, dup, dx.data, (size_t)(g->columns + c), dx.type, (size_t)n);
}

static void gate_part(void *arg, int part, int parts)
{
	const struct gate_job *job = arg;
	float *scratch = scratch_of(job->cpu, part);
	int end = (int)part_begin(job->g->rows, part + 1, parts);

	for (int r = (int)part_begin(job->g->rows, part, parts); r < end; r++)
		for (int c = 0; c < job->g->columns; c += PIECE)
			job->compute(job, r, c, imin(PIECE, job->g->columns - c), scratch);
}

void cpu_gate(struct device *dev, const struct gate *g)
{
	struct gate_job job = {cpu_of(dev), g, gate_columns};

	pool_run(job.cpu->pool, gate_part, &job);
}

void cpu_gate_gradient(struct device *dev, const struct gate *g)
{
	struct gate_job job = {cpu_of(dev), g, gradient_columns};

	pool_run(job.cpu->pool, gate_part, &job);
}
