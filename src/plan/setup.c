/* setup.c - see setup.h */
#include "plan/setup.h"
#include "base/util.h"

const char *const setup_recompute_names[] = {NAMES_OF(SETUP_RECOMPUTES)};

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

/* Matrices and biases are cut into tp parts; norms, and the biases behind a sum, are not. */
static double block_parameters(const struct setup *s, int tp)
{
	double h = s->hidden;

	return (12 * h * h + 7 * h) / tp + 6 * h;
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

double setup_parameters(const struct setup *s, int stage)
{
	double sum = setup_layers(s, stage) * block_parameters(s, s->tp);
	bool first = stage == 0, last = stage == s->pp - 1;

	if (first || last)
		sum += table_parameters(s);
	if (first)
		sum += (double)s->context * s->hidden;
	if (last)
		sum += 2.0 * s->hidden;
	return sum;
}

double setup_all_parameters(const struct setup *s)
{
	double h = s->hidden;

	return s->layers * block_parameters(s, 1) + h * ((double)s->vocab + s->context + 2);
}

double setup_flops(const struct setup *s)
{
	double h = s->hidden, rows = (double)s->global_batch * s->context;

	return 6 * rows * (s->layers * (12 * h * h + 2 * h * s->context) + h * s->vocab);
}
