/* virtual_attention.c - attention takes the time of its operations, or of its bytes. */
#include "device/virtual/virtual.h"

/* Of queries and their results, of keys and values; each so many times. */
static double bytes_of(const struct attention *a, int times)
{
	double queries = (double)a->sequences * a->queries * a->heads;
	double keys = (double)a->sequences * a->keys * a->kv_heads;

	return times * 2 * (queries + keys) * a->width * (double)dtype_size(a->q.type);
}

/* Two products per pair of a query and a key that it looks at. */
static double flops_of(const struct attention *a)
{
	double pairs = (double)a->queries * (a->first + (a->queries + 1) / 2.0);

	return 4 * a->sequences * pairs * a->heads * a->width;
}

static void tell(struct device *dev, enum operation_kind kind, const struct attention *a)
{
	virtual_tell(dev, (struct operation){.kind = kind,
					     .rows = a->sequences * a->queries,
					     .columns = a->heads * a->width,
					     .heads = a->heads,
					     .kv_heads = a->kv_heads,
					     .width = a->width,
					     .length = a->keys,
					     .dropped = a->drop.p > 0});
}

void virtual_attention_forward(struct device *dev, const struct attention *a)
{
	tell(dev, OPERATION_ATTENTION, a);
	virtual_take_time(dev, flops_of(a) / virtual_speed(dev, a->q.type), bytes_of(a, 1));
}

/* Five products; every operand and its gradient. */
void virtual_attention_backward(struct device *dev, const struct attention *a)
{
	tell(dev, OPERATION_ATTENTION_INPUT, a);
	virtual_take_time(dev, 2.5 * flops_of(a) / virtual_speed(dev, a->q.type),
			  bytes_of(a, 2));
}

void virtual_rotate(struct device *dev, const struct rotary *r)
{
	virtual_tell(dev, (struct operation){.kind = OPERATION_ROTATION,
					     .rows = r->rows,
					     .columns = r->heads * r->width});
	virtual_take_time(dev, 0,
			  2.0 * r->rows * r->heads * r->width * (double)dtype_size(r->x.type));
}
