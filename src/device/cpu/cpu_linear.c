/*
 * cpu_linear.c - the products of a linear layer, cut in parts for the threads. A part
 * is computed the same way whoever does it, so cuts never change a result's bits.
 */
#include "device/cpu/cpu.h"
#include "device/cpu/layout.h"

#include <assert.h>
#include <stdatomic.h>

struct linear_job {
	struct cpu *cpu;
	struct linear l;
	struct packed packed;
	/* Of many rows: chunks that every thread has for itself, and all of them. */
	int own, chunks;
	_Atomic int next; /* of the others: whoever is done takes the next one */
};

static float *scratch_of(const struct linear_job *job, int part)
{
	return job->cpu->scratch + (size_t)part * SCRATCH;
}

/*
 * Gradients of many outputs are packed a span at a time, so that they are still in a cache when
 * they are multiplied, slab by slab. What the spans before gave is kept behind them; where
 * there is no room for that, all outputs are one span.
 */
static struct packed first_span(const struct linear_job *job, int part)
{
	const struct linear *l = &job->l;
	struct packed p = {.dy = (float *)job->cpu->packed +
				 (size_t)part * job->cpu->packed_size,
			   .o1 = l->out};
	size_t span = kernels_packed_size(l->rows, SPAN);

	if (l->out > SPAN &&
	    span + (size_t)l->rows * (size_t)l->in <= kernels_packed_size(l->rows, l->out)) {
		p.sums = (float *)p.dy + span;
		p.o1 = SPAN;
	}
	return p;
}

/* Returns false after the last. */
static bool next_span(const struct linear *l, struct packed *p)
{
	p->o0 = p->o1;
	p->o1 = imin(p->o1 + SPAN, l->out);
	return p->o0 < l->out;
}

static void forward_part(void *arg, int part, int parts)
{
	struct linear_job *job = arg;
	int panels = layout_panels(job->l.out);
	int a = (int)part_begin(panels, part, parts);
	int b = (int)part_begin(panels, part + 1, parts);

	if (a < b)
		job->cpu->kernels->forward(&job->l, a, b, scratch_of(job, part));
}

static void pack_part(void *arg, int part, int parts)
{
	struct linear_job *job = arg;

	job->cpu->kernels->pack_dy(&job->l, (int)part_begin(job->l.rows, part, parts),
				   (int)part_begin(job->l.rows, part + 1, parts), &job->packed);
}

/* Whole slabs where there are enough of them, otherwise as fine as the kernel allows. */
static void backward_input_part(void *arg, int part, int parts)
{
	struct linear_job *job = arg;
	int in = job->l.in, grain = layout_slabs(in) % parts ? PANEL : SLAB;
	int64_t grains = ceil_div(in, grain);
	int a = (int)part_begin(grains, part, parts) * grain;
	int b = imin((int)part_begin(grains, part + 1, parts) * grain, in);

	if (a < b)
		job->cpu->kernels->backward_input(&job->l, &job->packed, a, b,
						  scratch_of(job, part));
}

/* Near-equal chunks of some rows each: one of them. */
static struct linear chunk_of(const struct linear *l, int i, int chunks)
{
	int r0 = (int)part_begin(l->rows, i, chunks);
	int r1 = (int)part_begin(l->rows, i + 1, chunks);
	struct linear chunk = *l;

	chunk.rows = r1 - r0;
	chunk.x = view_from(l->x, (size_t)r0);
	chunk.y = view_from(l->y, (size_t)r0);
	chunk.saved = view_from(l->saved, (size_t)r0);
	chunk.accumulate = l->accumulate || r0 > 0;
	return chunk;
}

/* Pack and multiply, span by span. */
static void backward_input_parts(struct linear_job *job)
{
	job->packed = first_span(job, 0);
	do {
		pool_run(job->cpu->pool, pack_part, job);
		pool_run(job->cpu->pool, backward_input_part, job);
	} while (next_span(&job->l, &job->packed));
}

static void forward_parts(struct linear_job *job)
{
	pool_run(job->cpu->pool, forward_part, job);
}

/*
 * Run the kernels over chunks of at most ROWS_MAX rows. Here as in run_rows, a product of
 * MANY_ROWS or more has no chunk of fewer: which order a sum has does not depend on the cut.
 */
static void over_rows(struct device *dev, const struct linear *l,
		      void (*run)(struct linear_job *job))
{
	struct cpu *cpu = cpu_of(dev);
	int chunks = (int)ceil_div(l->rows, ROWS_MAX);

	assert(cpu->scratch);
	for (int i = 0; i < chunks; i++) {
		struct linear_job job = {.cpu = cpu, .l = chunk_of(l, i, chunks)};

		run(&job);
	}
}

/*
 * Many rows are shared by the threads instead, each with outputs of its own: no line of the
 * result is written by two, and nobody waits for the others in between. A thread has the same
 * rows every time, which may be in its caches, but for the last ones: those make up for a core
 * that is slower than the others.
 */
static bool share_rows(struct device *dev, const struct linear *l)
{
	return dev->threads > 1 && l->rows >= dev->threads * ROWS_MAX;
}

static void run_chunk(const struct linear_job *job, int i, int part,
		      void (*run)(const struct linear_job *chunk, int part))
{
	struct linear_job chunk = {.cpu = job->cpu, .l = chunk_of(&job->l, i, job->chunks)};

	run(&chunk, part);
}

static void over_own_rows(struct linear_job *job, int part, int parts,
			  void (*run)(const struct linear_job *chunk, int part))
{
	int others = job->chunks - parts * job->own, i;

	for (i = 0; i < job->own; i++)
		run_chunk(job, part * job->own + i, part, run);
	while ((i = atomic_fetch_add(&job->next, 1)) < others)
		run_chunk(job, parts * job->own + i, part, run);
}

static void forward_chunk(const struct linear_job *chunk, int part)
{
	chunk->cpu->kernels->forward(&chunk->l, 0, layout_panels(chunk->l.out),
				     scratch_of(chunk, part));
}

static void forward_rows(void *arg, int part, int parts)
{
	over_own_rows(arg, part, parts, forward_chunk);
}

static void backward_input_chunk(const struct linear_job *chunk, int part)
{
	const struct kernels *k = chunk->cpu->kernels;
	struct packed p = first_span(chunk, part);

	do {
		k->pack_dy(&chunk->l, 0, chunk->l.rows, &p);
		k->backward_input(&chunk->l, &p, 0, chunk->l.in, scratch_of(chunk, part));
	} while (next_span(&chunk->l, &p));
}

static void backward_input_rows(void *arg, int part, int parts)
{
	over_own_rows(arg, part, parts, backward_input_chunk);
}

static void run_rows(struct device *dev, const struct linear *l, void (*run)(void *, int, int))
{
	int each = (int)ceil_div(l->rows, dev->threads * ROWS_MAX);
	struct linear_job job = {.cpu = cpu_of(dev),
				 .l = *l,
				 .own = imax(1, each - 1),
				 .chunks = each * dev->threads};

	assert(job.cpu->scratch);
	pool_run(job.cpu->pool, run, &job);
}

/* Outputs of the thread's own, chunk by chunk of all rows: nobody waits in between. */
static void backward_weight_part(void *arg, int part, int parts)
{
	struct linear_job *job = arg;
	int panels = layout_panels(job->l.out);
	int a = (int)part_begin(panels, part, parts);
	int b = (int)part_begin(panels, part + 1, parts);
	int chunks = (int)ceil_div(job->l.rows, ROWS_MAX);

	for (int i = 0; i < chunks && a < b; i++) {
		struct linear chunk = chunk_of(&job->l, i, chunks);

		job->cpu->kernels->backward_weight(&chunk, a, b, scratch_of(job, part));
	}
}

void cpu_forward(struct device *dev, const struct linear *l)
{
	if (share_rows(dev, l))
		run_rows(dev, l, forward_rows);
	else
		over_rows(dev, l, forward_parts);
}

void cpu_backward_input(struct device *dev, const struct linear *l)
{
	assert(kernels_packed_size(imin(l->rows, ROWS_MAX), l->out) <=
	       cpu_of(dev)->packed_size);
	if (share_rows(dev, l))
		run_rows(dev, l, backward_input_rows);
	else
		over_rows(dev, l, backward_input_parts);
}

void cpu_backward_weight(struct device *dev, const struct linear *l)
{
	run_rows(dev, l, backward_weight_part);
}
