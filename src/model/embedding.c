/*
 * embedding.c - see embedding.h
 *
 * A rank writes the rows of its own tokens and zeros for the others; the sum over the ranks is
 * exact. Positions are added once, after it.
 */
#include "model/embedding.h"
#include "model/model.h"
#include "model/weights.h"

enum { TOKENS, POSITIONS }; /* its tensors */

static const struct embedding_config *config_of(const struct layer *l)
{
	return l->config;
}

static bool spreads(const struct layer *l)
{
	return l->mp > 1 && config_of(l)->spreads;
}

static enum status describe(struct layer *l, struct model *m, struct error *err)
{
	const struct embedding_config *c = config_of(l);
	struct tensor tokens = {.rows = c->vocabulary,
				.columns = c->columns,
				.matrix = true,
				.split = l->mp > 1 ? SPLIT_ROWS : SPLIT_NONE,
				.deviation = c->deviation};
	struct tensor positions = {.rows = l->sequence,
				   .columns = c->columns,
				   .deviation = c->deviation,
				   .partial = spreads(l)};
	enum status st;

	if (c->vocabulary < l->mp) {
		FAIL(err, ERR_USAGE, "%d tokens are too few for --mp %d", c->vocabulary, l->mp);
		return HINT(err, "every rank needs one at least");
	}
	l->out = c->columns;
	l->out_spread = spreads(l);
	TRY(layer_add_tensor(l, m, EMBEDDING_TOKENS, tokens, err));
	if (c->positions)
		TRY(layer_add_tensor(l, m, "positions.weight", positions, err));
	if (spreads(l)) /* all rows of what comes out, and of its gradient */
		layer_borrow(l, c->columns, IN_FORWARD | IN_WEIGHT);
	l->lean = spreads(l);
out:
	return st;
}

static double flops(const struct layer *l)
{
	return 2.0 * l->out;
}

/* Our tokens of the table, for all rows of a view. */
static struct embedding lookup(const struct layer *l, const struct pass *p, struct view rows)
{
	struct tensor_piece own = tensor_piece(&p->weights->model->tensors[l->tensor + TOKENS],
					       l->mp, p->shard, 0);

	return (struct embedding){.rows = p->rows,
				  .columns = l->out,
				  .first = own.row,
				  .count = own.rows,
				  .tokens = p->x.data,
				  .y = rows};
}

static struct positions places(const struct layer *l, const struct pass *p, struct view rows)
{
	return (struct positions){.rows = pass_rows(p, l, l->out_spread),
				  .columns = l->out,
				  .length = l->sequence,
				  .first = p->position + pass_first(p, l, l->out_spread),
				  .y = rows};
}

static enum status forward(const struct layer *l, struct pass *p, struct error *err)
{
	struct embedding e = lookup(l, p, spreads(l) ? p->kept[0] : p->y);
	struct positions at = places(l, p, p->y);
	struct pass_sum sum;
	enum status st = OK;

	e.table = pass_param(p, l, TOKENS);
	e.type = at.type = p->weights->type;
	device_embed(p->dev, &e);
	if (l->mp > 1) {
		pass_sum_begin(p, e.y, spreads(l) ? p->y : (struct view){0}, l->out, &sum);
		TRY(pass_sum_end(p, &sum, err));
	}
	if (config_of(l)->positions) {
		at.table = pass_param(p, l, POSITIONS);
		device_add_positions(p->dev, &at);
	}
out:
	return st;
}

/* Nobody wants the gradient of a token. */
static enum status backward_input(const struct layer *l, struct pass *p, struct error *err)
{
	(void)l, (void)p, (void)err;
	return OK;
}

static enum status backward_weight(const struct layer *l, struct pass *p, struct error *err)
{
	struct embedding e = lookup(l, p, spreads(l) ? p->kept[0] : p->dy);
	struct positions at = places(l, p, p->dy);
	enum status st = OK;

	e.table = pass_grad(p, l, TOKENS);
	e.type = at.type = p->weights->grad_type;
	e.accumulate = pass_adds_to(p, l->tensor + TOKENS);
	if (spreads(l))
		TRY(pass_collect(p, e.y, p->dy, l->out, err));
	device_embed_gradient(p->dev, &e);
	if (config_of(l)->positions) {
		at.table = pass_grad(p, l, POSITIONS);
		at.accumulate = p->accumulate;
		device_positions_gradient(p->dev, &at);
	}
out:
	return st;
}

const struct layer_ops layer_embedding = {
	.name = "embedding",
	.describe = describe,
	.flops = flops,
	.forward = forward,
	.backward_input = backward_input,
	.backward_weight = backward_weight,
};
