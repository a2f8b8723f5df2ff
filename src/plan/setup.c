/* setup.c - see setup.h */
#include "plan/setup.h"
#include "base/util.h"

const char *const setup_recompute_names[] = {NAMES_OF(SETUP_RECOMPUTES)};
const char *const setup_model_names[] = {NAMES_OF(SETUP_MODELS)};

enum { FFN_MULTIPLE = 256 };

int setup_ffn(const struct setup *s)
{
	if (s->ffn)
		return s->ffn;
	if (s->model != SETUP_LLAMA)
		return 4 * s->hidden;
	return (int)ceil_div(ceil_div(8 * (int64_t)s->hidden, 3), FFN_MULTIPLE) * FFN_MULTIPLE;
}

int setup_kv_heads(const struct setup *s)
{
	return s->kv_heads ? s->kv_heads : s->heads;
}

static enum status divides(int64_t parts, const char *part, int64_t whole, const char *what,
			   struct error *err)
{
	if (whole % parts == 0)
		return OK;
	return FAIL(err, ERR_USAGE, "%s %lld does not divide %s %lld", part, (long long)parts,
		    what, (long long)whole);
}

static enum status check_schedule(const struct setup *s, struct error *err)
{
	enum status st = OK;

	if (s->pp > 1)
		TRY(schedule_check_chunks(s->schedule, s->chunks, err));
	else if (s->chunks != 1)
		return FAIL(err, ERR_USAGE, "chunks %d with one stage", s->chunks);
	if (s->layers < s->pp * s->chunks)
		return FAIL(err, ERR_USAGE, "layers %d are fewer than pp %d times chunks %d",
			    s->layers, s->pp, s->chunks);
out:
	return st;
}

enum status setup_check(const struct setup *s, struct error *err)
{
	enum status st = OK;

	if ((int64_t)s->dp * s->tp * s->pp != s->gpus)
		return FAIL(err, ERR_USAGE, "dp %d times tp %d times pp %d is not gpus %d",
			    s->dp, s->tp, s->pp, s->gpus);
	TRY(divides(s->heads, "heads", s->hidden, "hidden", err));
	TRY(divides(s->tp, "tp", s->heads, "heads", err));
	TRY(divides(setup_kv_heads(s), "kv_heads", s->heads, "heads", err));
	TRY(divides((int64_t)s->dp * s->micro_batch, "dp times micro_batch", s->global_batch,
		    "global_batch", err));
	if (s->sequence_parallel)
		TRY(divides(s->tp, "tp", s->context, "seq", err));
	TRY(check_schedule(s, err));
out:
	return st;
}

int setup_layers(const struct setup *s, int stage)
{
	int parts = s->pp * s->chunks, rest = s->layers % parts;

	return s->layers / parts * s->chunks + rest / s->pp + (stage < rest % s->pp);
}

/* Elements of the matrices of a block: queries, keys, values, result, feed-forward. */
static double block_matrices(const struct setup *s)
{
	double h = s->hidden, keys = (double)setup_kv_heads(s) / s->heads;
	double products = s->model == SETUP_LLAMA ? 3 : 2;

	return h * h * (2 + 2 * keys) + products * h * setup_ffn(s);
}

/* Matrices and biases are cut into tp parts; norms, and the biases behind a sum, are not. */
static double block_parameters(const struct setup *s, int tp)
{
	double h = s->hidden;

	if (s->model == SETUP_GPT)
		return (block_matrices(s) + 3 * h + setup_ffn(s)) / tp + 6 * h;
	return block_matrices(s) / tp + 2 * h;
}

double setup_block_parameters(const struct setup *s)
{
	return block_parameters(s, s->tp);
}

/* The vocabulary is filled up so that tp divides it. */
static double table_parameters(const struct setup *s)
{
	return (double)ceil_div(s->vocab, s->tp) * s->hidden;
}

/* Beside the table: the last norm, learned positions. */
static double norm_parameters(const struct setup *s)
{
	return (s->model == SETUP_GPT ? 2.0 : 1.0) * s->hidden;
}

static double position_parameters(const struct setup *s)
{
	return s->model == SETUP_GPT ? (double)s->context * s->hidden : 0;
}

bool setup_is_tied(const struct setup *s)
{
	return s->model != SETUP_LLAMA;
}

double setup_parameters(const struct setup *s, int stage)
{
	double sum = setup_layers(s, stage) * block_parameters(s, s->tp);
	bool first = stage == 0, last = stage == s->pp - 1;

	if (first || last)
		sum += table_parameters(s) * (first && last && !setup_is_tied(s) ? 2 : 1);
	if (first)
		sum += position_parameters(s);
	if (last)
		sum += norm_parameters(s);
	return sum;
}

double setup_all_parameters(const struct setup *s)
{
	return s->layers * block_parameters(s, 1) +
	       (setup_is_tied(s) ? 1.0 : 2.0) * s->hidden * s->vocab + position_parameters(s) +
	       norm_parameters(s);
}

double setup_flops(const struct setup *s)
{
	double h = s->hidden, rows = (double)s->global_batch * s->context;

	return 6 * rows * (s->layers * (block_matrices(s) + 2 * h * s->context) + h * s->vocab);
}
