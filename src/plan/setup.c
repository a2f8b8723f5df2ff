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

/* Of fewer heads of keys than ranks several have the same. */
enum status setup_check_split(const struct setup *s, struct error *err)
{
	int keys = setup_kv_heads(s);
	enum status st;

	TRY(divides(s->heads, "heads", s->hidden, "hidden", err));
	if (s->model == SETUP_LLAMA && s->hidden / s->heads % 2)
		return FAIL(err, ERR_USAGE,
			    "heads of llama have an even width, not hidden %d / heads %d",
			    s->hidden, s->heads);
	TRY(divides(s->tp, "tp", s->heads, "heads", err));
	TRY(divides(keys, "kv_heads", s->heads, "heads", err));
	if (keys > s->tp)
		TRY(divides(s->tp, "tp", keys, "kv_heads", err));
	TRY(divides(s->tp, "tp", setup_ffn(s), "ffn", err));
	if (s->vocab < s->tp)
		return FAIL(err, ERR_USAGE, "vocab %d is less than tp %d", s->vocab, s->tp);
out:
	return st;
}

enum status setup_check(const struct setup *s, struct error *err)
{
	enum status st = OK;

	if ((int64_t)s->dp * s->tp * s->pp != s->gpus)
		return FAIL(err, ERR_USAGE, "dp %d times tp %d times pp %d is not gpus %d",
			    s->dp, s->tp, s->pp, s->gpus);
	TRY(setup_check_split(s, err));
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

bool setup_is_tied(const struct setup *s)
{
	return s->model != SETUP_LLAMA;
}
