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

enum { ROOM_TREE = 0 }; /* of a sum over shards: rows are not spread then */

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
		FAIL(err, ERR_USAGE, "%d tokens are too few for %s%d", c->vocabulary,
		     layer_split_option(l->held), l->mp);
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
	layer_borrow_tree(l, c->columns, IN_FORWARD);
out:
	return st;
}

static double flops(const struct layer *l)
{
	return 2.0 * l->out;
}

/* Tokens of one of our shards of the table, for all rows of a view. */
static struct embedding lookup(const struct layer *l, const struct pass *p, int held,
			       struct view rows)
{
	struct tensor_piece own = tensor_piece(&p->weights->model->tensors[l->tensor + TOKENS],
					       l->mp, pass_shard(p, l, held), 0);

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
	struct view all = spreads(l) ? p->kept[0] : p->y;
	struct positions at = places(l, p, p->y);
	struct pass_sum sum;
	enum status st = OK;

	at.type = p->weights->type;
	for (int h = 0; h < l->held; h++) {
		struct embedding e = lookup(l, p, h, pass_tree(p, all, ROOM_TREE, h));

		e.table = pass_param(p, l, TOKENS, h);
		e.type = p->weights->type;
		device_embed(p->dev, &e);
		pass_tree_add(p, all, ROOM_TREE, h, l->out);
	}
	if (l->mp > 1 && p->slices) {
		pass_sum_begin(p, all, spreads(l) ? p->y : (struct view){0}, l->out, &sum);
		TRY(pass_sum_end(p, &sum, err));
	}
	if (config_of(l)->positions) {
		at.table = pass_param(p, l, POSITIONS, 0);
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
	struct view all = spreads(l) ? p->kept[0] : p->dy;
	bool accumulate = pass_adds_to(p, l->tensor + TOKENS);
	struct positions at = places(l, p, p->dy);
	enum status st = OK;

	at.type = p->weights->grad_type;
	if (spreads(l))
		TRY(pass_collect(p, all, p->dy, l->out, err));
	for (int h = 0; h < l->held; h++) {
		struct embedding e = lookup(l, p, h, all);

		e.table = pass_grad(p, l, TOKENS, h);
		e.type = p->weights->grad_type;
		e.accumulate = accumulate;
		device_embed_gradient(p->dev, &e);
	}
	if (config_of(l)->positions) {
		at.table = pass_grad(p, l, POSITIONS, 0);
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
