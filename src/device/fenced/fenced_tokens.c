/* fenced_tokens.c - the kernels of language models on the fenced device, as the pairs of
   fenced_kernels.c. */
#include "device/fenced/fenced.h"

/* ---- embeddings ---- */

static void put_embedding(struct device *dev, const struct embedding *e,
			  void (*run)(struct device *, const struct work *))
{
	struct work *w = fenced_put(dev, run);

	w->embedding = *e;
	w->embedding.tokens =
		fenced_operand(dev, e->tokens, (size_t)e->rows * sizeof(*e->tokens));
	w->embedding.table = fenced_operand(dev, e->table,
					    device_matrix_size(dev, e->count, e->columns) *
						    dtype_size(e->type));
	w->embedding.y = fenced_view(dev, e->y, e->rows, e->columns);
}

static void run_embed(struct device *cpu, const struct work *w)
{
	device_embed(cpu, &w->embedding);
}

void fenced_embed(struct device *dev, const struct embedding *e)
{
	put_embedding(dev, e, run_embed);
}

static void run_embed_gradient(struct device *cpu, const struct work *w)
{
	device_embed_gradient(cpu, &w->embedding);
}

void fenced_embed_gradient(struct device *dev, const struct embedding *e)
{
	put_embedding(dev, e, run_embed_gradient);
}

/* ---- positions ---- */

static void put_positions(struct device *dev, const struct positions *p,
			  void (*run)(struct device *, const struct work *))
{
	struct work *w = fenced_put(dev, run);
	size_t elements = (size_t)p->length * (size_t)p->columns;

	w->positions = *p;
	w->positions.table = fenced_operand(dev, p->table, elements * dtype_size(p->type));
	w->positions.y = fenced_view(dev, p->y, p->rows, p->columns);
}

static void run_add_positions(struct device *cpu, const struct work *w)
{
	device_add_positions(cpu, &w->positions);
}

void fenced_add_positions(struct device *dev, const struct positions *p)
{
	put_positions(dev, p, run_add_positions);
}

static void run_positions_gradient(struct device *cpu, const struct work *w)
{
	device_positions_gradient(cpu, &w->positions);
}

void fenced_positions_gradient(struct device *dev, const struct positions *p)
{
	put_positions(dev, p, run_positions_gradient);
}

/* ---- gates ---- */

static void put_gate(struct device *dev, const struct gate *g,
		     void (*run)(struct device *, const struct work *))
{
	struct work *w = fenced_put(dev, run);

	w->gate = *g;
	w->gate.x = fenced_view(dev, g->x, g->rows, 2 * g->columns);
	w->gate.dx = fenced_view(dev, g->dx, g->rows, 2 * g->columns);
	w->gate.y = fenced_view(dev, g->y, g->rows, g->columns);
	w->gate.dy = fenced_view(dev, g->dy, g->rows, g->columns);
}

static void run_gate(struct device *cpu, const struct work *w)
{
	device_gate(cpu, &w->gate);
}

void fenced_gate(struct device *dev, const struct gate *g)
{
	put_gate(dev, g, run_gate);
}

static void run_gate_gradient(struct device *cpu, const struct work *w)
{
	device_gate_gradient(cpu, &w->gate);
}

void fenced_gate_gradient(struct device *dev, const struct gate *g)
{
	put_gate(dev, g, run_gate_gradient);
}

/* ---- classes ---- */

static struct work *put_classes(struct device *dev, const struct class_slice *c,
				void (*run)(struct device *, const struct work *))
{
	struct work *w = fenced_put(dev, run);
	size_t stats = (size_t)c->slices * (size_t)c->rows * 3;

	w->classes = *c;
	w->classes.y = fenced_view(dev, c->y, c->rows, c->columns);
	w->classes.dy = fenced_view(dev, c->dy, c->rows, c->columns);
	w->classes.labels =
		fenced_operand(dev, c->labels, (size_t)c->rows * sizeof(*c->labels));
	w->classes.stats = fenced_operand(dev, c->stats, stats * sizeof(*c->stats));
	return w;
}

static void run_class_stats(struct device *cpu, const struct work *w)
{
	device_class_stats(cpu, &w->classes);
}

void fenced_class_stats(struct device *dev, const struct class_slice *c)
{
	put_classes(dev, c, run_class_stats);
}

static void run_class_loss(struct device *cpu, const struct work *w)
{
	device_class_loss(cpu, &w->classes, w->number, w->count);
}

void fenced_class_loss(struct device *dev, const struct class_slice *c, double *sum,
		       double *correct)
{
	struct work *w = put_classes(dev, c, run_class_loss);

	w->number = fenced_operand(dev, sum, sizeof(*sum));
	w->count = fenced_operand(dev, correct, sizeof(*correct));
}
