/* kept.c - what layers keep for their backward; see block.h. Inputs have 16 bits, masks a byte,
   and rows that are gathered from the ranks are kept where they are. */
#include "plan/block.h"

/* What the backward of an operation needs, of a sample. */
static double operation_kept(const struct outline_operation *op, const struct setup *s)
{
	const struct operation *is = &op->is;
	double out = (double)is->rows * is->columns, in = (double)is->rows * is->inner;

	switch (is->kind) {
	case OPERATION_PRODUCT:
		return 2 * in / (op->gathered ? s->tp : 1) +
		       (is->act != ACT_NONE ? 2 * out : 0);
	case OPERATION_ATTENTION: /* what comes out is what a product gets */
		return 2 * (double)is->rows * (is->heads + 2 * is->kv_heads) * is->width;
	case OPERATION_NORM:
		return 2 * out;
	case OPERATION_GATE: /* both that it multiplies */
		return 4 * out;
	case OPERATION_DROPOUT:
		return out;
	case OPERATION_ACTIVATION:
	case OPERATION_ADD:
	case OPERATION_EMBED:
	case OPERATION_POSITIONS:
	case OPERATION_ROTATION:
	case OPERATION_CLASS_STATS:
	case OPERATION_CLASS_LOSS:
	case OPERATION_PRODUCT_INPUT:
	case OPERATION_PRODUCT_WEIGHT:
	case OPERATION_DERIVATIVE:
	case OPERATION_NORM_INPUT:
	case OPERATION_NORM_WEIGHT:
	case OPERATION_EMBED_WEIGHT:
	case OPERATION_POSITIONS_WEIGHT:
	case OPERATION_GATE_INPUT:
	case OPERATION_ATTENTION_INPUT:
		break;
	}
	return 0;
}

static double all_kept(const struct outline_layer *l, const struct setup *s)
{
	double sum = 0;

	for (int i = 0; i < l->forward.operation_count; i++)
		sum += operation_kept(&l->forward.operations[i], s);
	return sum;
}

static const struct outline_operation *first_of(const struct outline_layer *l,
						enum operation_kind kind)
{
	const struct outline_operation *op = l->forward.operations;

	while (op->is.kind != kind)
		op++;
	return op;
}

/* What went into the block: the first norm has it. */
static double input_kept(const struct outline *o, const struct setup *s)
{
	return operation_kept(first_of(&o->block, OPERATION_NORM), s);
}

/* torchtitan's selective recomputation: the input, what attention yields, and every other of
   what the products do. */
static double half_kept(const struct outline *o, const struct setup *s)
{
	const struct outline_pass *p = &o->block.forward;
	const struct operation *a = &first_of(&o->block, OPERATION_ATTENTION)->is;
	double sum = input_kept(o, s) + 2 * (double)a->rows * a->columns;

	for (int i = 0; i < p->operation_count; i++) {
		const struct outline_operation *op = &p->operations[i];

		if (op->is.kind == OPERATION_PRODUCT)
			sum += (double)op->is.rows * op->is.columns /
			       (op->scattered ? s->tp : 1);
	}
	return sum;
}

/* Softmax's result, dropout's, and its mask. */
static double scores_kept(const struct outline *o)
{
	const struct operation *a = &first_of(&o->block, OPERATION_ATTENTION)->is;

	return 5 * (double)a->rows * a->length * a->heads;
}

static double of_a_sample(const struct outline *o, const struct setup *s,
			  enum setup_recompute recompute)
{
	switch (recompute) {
	case SETUP_FULL:
		return input_kept(o, s);
	case SETUP_SELECTIVE:
		return setup_is_flash(s) ? half_kept(o, s) : all_kept(&o->block, s);
	case SETUP_NONE:
		break;
	}
	return all_kept(&o->block, s) + (setup_is_flash(s) ? 0 : scores_kept(o));
}

double block_kept(const struct outline *o, const struct setup *s,
		  enum setup_recompute recompute)
{
	return s->micro_batch * of_a_sample(o, s, recompute);
}

double embedding_kept(const struct outline *o, const struct setup *s)
{
	return s->micro_batch * all_kept(&o->embedding, s);
}

double head_kept(const struct outline *o, const struct setup *s)
{
	return s->micro_batch * all_kept(&o->head, s);
}

double head_logits(const struct outline *o, const struct setup *s)
{
	const struct operation *l = &first_of(&o->head, OPERATION_CLASS_STATS)->is;

	return (double)s->micro_batch * l->rows * l->columns;
}
