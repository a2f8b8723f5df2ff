/* mlp.c - see mlp.h */
#include "model/mlp.h"
#include "model/block.h"
#include "model/dropout.h"
#include "model/linear.h"
#include "model/norm.h"

#include <math.h>

static bool is_last(const struct mlp *mlp, int i)
{
	return i == mlp->depth - 1;
}

/* A norm or a bridge needs them, between all layers. */
static bool has_whole_rows(const struct mlp *mlp)
{
	return mlp->norm != NORM_NONE || mlp->residual;
}

static enum linear_split split_of(const struct mlp *mlp, int i)
{
	if (has_whole_rows(mlp))
		return LINEAR_GATHERED;
	if (i % 2)
		return LINEAR_ROWS;
	return is_last(mlp, i) ? LINEAR_GATHERED : LINEAR_COLUMNS;
}

/* He's bound before a rectifier, LeCun's otherwise: the signal keeps its size. */
static struct layer *linear_at(const struct mlp *mlp, int i)
{
	bool rectified = !is_last(mlp, i) && mlp->act != ACT_NONE;
	struct linear_config c = {
		.out = mlp->widths[i + 1],
		.act = is_last(mlp, i) ? ACT_NONE : mlp->act,
		.split = split_of(mlp, i),
		.bound = sqrtf((rectified ? 6.0f : 3.0f) / (float)mlp->widths[i])};

	return layer_new(&layer_linear, &c, sizeof(c));
}

static void put(struct block_config *b, struct layer *l, const char *label)
{
	b->inner[b->count] = l;
	b->label[b->count++] = label;
}

/* A linear layer with what goes before and behind it; alone where there is nothing. */
static struct layer *layer_at(const struct mlp *mlp, int i)
{
	struct norm_config norm = {.kind = mlp->norm, .eps = 1e-5f};
	struct dropout_config dropout = {.p = mlp->dropout};
	struct block_config b = {.bridged = mlp->residual && !is_last(mlp, i) &&
					    mlp->widths[i] == mlp->widths[i + 1]};
	struct layer *l;

	if (mlp->norm != NORM_NONE && i > 0)
		put(&b, layer_new(&layer_norm, &norm, sizeof(norm)), ".norm");
	put(&b, linear_at(mlp, i), "");
	if (mlp->dropout > 0 && !is_last(mlp, i))
		put(&b, layer_new(&layer_dropout, &dropout, sizeof(dropout)), ".dropout");
	for (int k = 0; k < b.count; k++)
		if (!b.inner[k])
			goto no_memory;
	if (b.count == 1 && !b.bridged)
		return b.inner[0];
	l = layer_new(&layer_block, &b, sizeof(b));
	if (l)
		return l;
no_memory:
	for (int k = 0; k < b.count; k++)
		layer_free(b.inner[k]);
	return NULL;
}

enum status mlp_build(struct model *m, const struct mlp *mlp, struct error *err)
{
	enum status st = OK;

	for (int i = 0; i < mlp->depth && st == OK; i++) {
		st = model_add(m, layer_at(mlp, i), err);
		if (st == ERR_USAGE && is_last(mlp, i) && i > 0 && !has_whole_rows(mlp))
			HINT(err, "or use an even number of layers, which ends with one that "
				  "is split by its inputs");
	}
	return st == OK ? model_end(m, err) : st;
}
