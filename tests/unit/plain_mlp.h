/*
 * plain_mlp.h - the stack of model/mlp.h as its definition reads, in double, a row at a time:
 * slow and obvious, to hold the engine's numbers against.
 */
#ifndef KOLM_TESTS_PLAIN_MLP_H
#define KOLM_TESTS_PLAIN_MLP_H

#include "engines.h"

#include "model/block.h"
#include "model/dropout.h"

enum { PLAIN_WIDTH = 64 };

struct plain {
	const struct mlp *mlp;
	const struct model *model;
	double *params;	 /* of all tensors one behind the other, row by row */
	struct batch in; /* whose rows go through */
	int rows;
	bool labelled;
	uint64_t seed; /* of what is dropped, in step 0 */
	double kink;   /* how near a rectifier has come to its kink so far */
};

/* A tensor by its name; NULL: there is none. */
static inline const double *plain_tensor(const struct plain *p, int layer, const char *what)
{
	const double *at = p->params;
	char name[TENSOR_NAME];

	snprintf(name, sizeof(name), "layers.%d.%s", layer, what);
	for (int i = 0; i < p->model->n_tensors; i++) {
		if (!strcmp(p->model->tensors[i].name, name))
			return at;
		at += tensor_elements(&p->model->tensors[i]);
	}
	return NULL;
}

static inline double plain_activation(struct plain *p, double z)
{
	switch (p->mlp->act) {
	case ACT_NONE:
		return z;
	case ACT_RELU:
		p->kink = fmin(p->kink, fabs(z));
		return fmax(z, 0);
	case ACT_GELU:
		return z * 0.5 * erfc(-z * M_SQRT1_2);
	case ACT_TANH:
		return tanh(z);
	case ACT_SILU:
		return z / (1 + exp(-z));
	}
	return NAN;
}

static inline void plain_norm(const struct plain *p, int layer, int n, const double *x,
			      double *y)
{
	const double *weight = plain_tensor(p, layer, "norm.weight");
	const double *bias = plain_tensor(p, layer, "norm.bias");
	double mean = 0, squares = 0;

	assert_true((bias != NULL) == (p->mlp->norm == NORM_LAYER));
	for (int i = 0; i < n && p->mlp->norm == NORM_LAYER; i++)
		mean += x[i] / n;
	for (int i = 0; i < n; i++)
		squares += (x[i] - mean) * (x[i] - mean) / n;
	for (int i = 0; i < n; i++)
		y[i] = (x[i] - mean) / sqrt(squares + (double)1e-5f) * weight[i] +
		       (bias ? bias[i] : 0);
}

static inline void plain_product(const struct plain *p, int layer, const double *x, double *y)
{
	const double *weight = plain_tensor(p, layer, "weight");
	const double *bias = plain_tensor(p, layer, "bias");
	int in = p->mlp->widths[layer], out = p->mlp->widths[layer + 1];

	for (int o = 0; o < out; o++) {
		y[o] = bias[o];
		for (int i = 0; i < in; i++)
			y[o] += x[i] * weight[o * in + i];
	}
}

/* The model's own layer that drops, behind the linear one. */
static inline const struct layer *plain_dropout_layer(const struct plain *p, int layer)
{
	const struct layer *l = p->model->layers[layer];
	const struct block_config *block = l->config;

	assert_ptr_equal(l->ops, &layer_block);
	l = block->inner[block->count - 1];
	assert_ptr_equal(l->ops, &layer_dropout);
	return l;
}

static inline void plain_drop(const struct plain *p, int layer, int row, double *y)
{
	struct dropout d = dropout_of(plain_dropout_layer(p, layer), p->seed, 0, 0, 0);

	for (int o = 0; o < p->mlp->widths[layer + 1]; o++)
		y[o] = dropout_keeps(&d, row, o) ? y[o] / (1 - d.p) : 0;
}

/* x becomes what the layer makes of it. */
static inline void plain_layer(struct plain *p, int layer, int row, double *x)
{
	int in = p->mlp->widths[layer], out = p->mlp->widths[layer + 1];
	bool last = layer == p->mlp->depth - 1;
	double normed[PLAIN_WIDTH], y[PLAIN_WIDTH];

	memcpy(normed, x, sizeof(normed));
	if (p->mlp->norm != NORM_NONE && layer > 0)
		plain_norm(p, layer, in, x, normed);
	plain_product(p, layer, normed, y);
	for (int o = 0; o < out && !last; o++)
		y[o] = plain_activation(p, y[o]);
	if (p->mlp->dropout > 0 && !last)
		plain_drop(p, layer, row, y);
	for (int o = 0; o < out; o++)
		x[o] = y[o] + (p->mlp->residual && !last && in == out ? x[o] : 0);
}

static inline double plain_row_loss(const struct plain *p, int row, const double *y)
{
	int out = p->model->out;
	double sum = 0;

	for (int o = 0; o < out; o++)
		sum += p->labelled ? exp(y[o])
				   : pow(y[o] - (double)row_of(p->in.target, row)[o], 2) / out;
	return (p->labelled ? log(sum) - y[p->in.labels[row]] : sum) / p->rows;
}

/* The mean over the rows. */
static inline double plain_loss(struct plain *p)
{
	double loss = 0, x[PLAIN_WIDTH] = {0};

	p->kink = INFINITY;
	for (int r = 0; r < p->rows; r++) {
		for (int i = 0; i < p->model->in; i++)
			x[i] = (double)row_of(p->in.x, r)[i];
		for (int layer = 0; layer < p->mlp->depth; layer++)
			plain_layer(p, layer, r, x);
		loss += plain_row_loss(p, r, x);
	}
	return loss;
}

/* How steeply the loss rises along a parameter. In double the step can be so small that no
   rectifier which is clear of its kink reaches it. */
static inline double plain_slope(struct plain *p, size_t parameter)
{
	const double h = 0x1p-22;
	double was = p->params[parameter], up, down;

	p->params[parameter] = was + h;
	up = plain_loss(p);
	p->params[parameter] = was - h;
	down = plain_loss(p);
	p->params[parameter] = was;
	return (up - down) / (2 * h);
}

#endif
