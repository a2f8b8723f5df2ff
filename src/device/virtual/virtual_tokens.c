/* virtual_tokens.c - what the kernels of language models cost on a virtual device: the bytes
   that they move. */
#include "device/virtual/virtual.h"

static void tell(struct device *dev, enum operation_kind kind, int rows, int columns)
{
	virtual_tell(dev, (struct operation){.kind = kind, .rows = rows, .columns = columns});
}

/* The rows of the table that are read, and y. */
void virtual_embed(struct device *dev, const struct embedding *e)
{
	double elements = (double)e->rows * e->columns;

	tell(dev, OPERATION_EMBED, e->rows, e->columns);
	virtual_take_time(dev, 0,
			  elements * (double)(dtype_size(e->type) + dtype_size(e->y.type)));
}

/* dy and the rows that change, also where the rest becomes 0: as with products, every
   micro-batch takes the same time. */
void virtual_embed_gradient(struct device *dev, const struct embedding *e)
{
	double elements = (double)e->rows * e->columns;

	tell(dev, OPERATION_EMBED_WEIGHT, e->rows, e->columns);
	virtual_take_time(dev, 0,
			  elements * (double)(dtype_size(e->y.type) + 2 * dtype_size(e->type)));
}

void virtual_add_positions(struct device *dev, const struct positions *p)
{
	tell(dev, OPERATION_POSITIONS, p->rows, p->columns);
	virtual_move(dev, (double)p->rows * p->columns, p->y.type, 3);
}

void virtual_positions_gradient(struct device *dev, const struct positions *p)
{
	tell(dev, OPERATION_POSITIONS_WEIGHT, p->rows, p->columns);
	virtual_take_time(dev, 0,
			  (double)p->rows * p->columns * (double)dtype_size(p->y.type) +
				  2 * (double)p->length * p->columns *
					  (double)dtype_size(p->type));
}

void virtual_gate(struct device *dev, const struct gate *g)
{
	tell(dev, OPERATION_GATE, g->rows, g->columns);
	virtual_move(dev, (double)g->rows * g->columns, g->x.type, 3);
}

void virtual_gate_gradient(struct device *dev, const struct gate *g)
{
	tell(dev, OPERATION_GATE_INPUT, g->rows, g->columns);
	virtual_move(dev, (double)g->rows * g->columns, g->x.type, 5);
}

void virtual_class_stats(struct device *dev, const struct class_slice *c)
{
	tell(dev, OPERATION_CLASS_STATS, c->rows, c->columns);
	virtual_move(dev, (double)c->rows * c->columns, c->y.type, 1);
}

void virtual_class_loss(struct device *dev, const struct class_slice *c, double *sum,
			double *correct)
{
	(void)sum, (void)correct;
	tell(dev, OPERATION_CLASS_LOSS, c->rows, c->columns);
	virtual_move(dev, (double)c->rows * c->columns, c->y.type, 2);
}
