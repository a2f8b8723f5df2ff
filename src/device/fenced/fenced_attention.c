/* fenced_attention.c - attention and rotary positions of the fenced device; see
   fenced_kernels.c. */
#include "device/fenced/fenced.h"

static void put_attention(struct device *dev, const struct attention *a,
			  void (*run)(struct device *, const struct work *))
{
	struct work *w = fenced_put(dev, run);
	int queries = a->sequences * a->queries, keys = a->sequences * a->keys;
	int wide = a->heads * a->width, kv_wide = a->kv_heads * a->width;

	w->attention = *a;
	w->attention.q = fenced_view(dev, a->q, queries, wide);
	w->attention.k = fenced_view(dev, a->k, keys, kv_wide);
	w->attention.v = fenced_view(dev, a->v, keys, kv_wide);
	w->attention.out = fenced_view(dev, a->out, queries, wide);
	w->attention.saved = fenced_view(dev, a->saved, queries, a->heads);
	w->attention.dout = fenced_view(dev, a->dout, queries, wide);
	w->attention.dq = fenced_view(dev, a->dq, queries, wide);
	w->attention.dk = fenced_view(dev, a->dk, keys, kv_wide);
	w->attention.dv = fenced_view(dev, a->dv, keys, kv_wide);
}

static void run_attention_forward(struct device *cpu, const struct work *w)
{
	device_attention_forward(cpu, &w->attention);
}

void fenced_attention_forward(struct device *dev, const struct attention *a)
{
	put_attention(dev, a, run_attention_forward);
}

static void run_attention_backward(struct device *cpu, const struct work *w)
{
	device_attention_backward(cpu, &w->attention);
}

void fenced_attention_backward(struct device *dev, const struct attention *a)
{
	put_attention(dev, a, run_attention_backward);
}

static void run_rotate(struct device *cpu, const struct work *w)
{
	device_rotate(cpu, &w->rotary);
}

void fenced_rotate(struct device *dev, const struct rotary *r)
{
	struct work *w = fenced_put(dev, run_rotate);

	w->rotary = *r;
	w->rotary.x = fenced_view(dev, r->x, r->rows, r->heads * r->width);
}
