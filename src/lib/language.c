/* language.c - models that continue a text; see include/kolm.h */
#include "base/names.h"
#include "lib/impl.h"

#include <stdlib.h>
#include <string.h>

static const char *const gelu_names[] = {"tanh", "exact", NULL};
static const char *const recompute_names[] = {NAMES_OF(RECOMPUTES)};

static enum status check_sizes(const struct kolm_language *l, int kv, bool llama,
			       struct error *err)
{
	if (l->layers < 1 || l->heads < 1 || l->dim < 1 || l->context < 1 || l->vocabulary < 2)
		return FAIL(err, ERR_USAGE,
			    "a language model of %d layers, %d heads, dim %d, context %d and "
			    "%d tokens",
			    l->layers, l->heads, l->dim, l->context, l->vocabulary);
	if (l->dim % l->heads)
		return FAIL(err, ERR_USAGE, "dim %d does not divide by %d heads", l->dim,
			    l->heads);
	if (kv < 1 || l->heads % kv || (!llama && kv != l->heads))
		return FAIL(err, ERR_USAGE, "%d heads, of which %d have keys", l->heads, kv);
	if (llama && l->dim / l->heads % 2)
		return FAIL(err, ERR_USAGE,
			    "heads of width %d: rotary positions turn pairs of columns",
			    l->dim / l->heads);
	if (l->ffn < 0 || !(l->dropout >= 0 && l->dropout < 1) || !(l->rope_theta > 0) ||
	    !(l->norm_eps > 0))
		return FAIL(err, ERR_USAGE,
			    "a language model with ffn %d, dropout %g, rope_theta %g and "
			    "norm_eps %g",
			    l->ffn, l->dropout, l->rope_theta, l->norm_eps);
	return OK;
}

/* What a program was compiled with may be shorter than ours: the rest is as by default. */
static enum status take(const struct kolm_language *from, struct kolm_language *to,
			struct error *err)
{
	*to = (struct kolm_language)KOLM_LANGUAGE;
	if (from->size < offsetof(struct kolm_language, rope_theta) ||
	    from->size > sizeof(*to)) {
		FAIL(err, ERR_USAGE, "a language model of %zu bytes, not %zu", from->size,
		     sizeof(*to));
		return HINT(err, "begin with struct kolm_language l = KOLM_LANGUAGE");
	}
	memcpy(to, from, from->size);
	return OK;
}

static enum status read(const struct kolm_language *given, bool llama, struct gpt *out,
			struct error *err)
{
	struct kolm_language l;
	int gelu, recompute, kv;
	enum status st;

	TRY(take(given, &l, err));
	kv = l.kv_heads ? l.kv_heads : l.heads;
	TRY(check_sizes(&l, kv, llama, err));
	if (!lib_find_name("gelu", l.gelu, gelu_names, &gelu, err) ||
	    !lib_find_name("recompute", l.recompute, recompute_names, &recompute, err))
		return err->code;
	*out = (struct gpt){.layers = l.layers,
			    .heads = l.heads,
			    .kv_heads = kv,
			    .dim = l.dim,
			    .ffn = l.ffn ? l.ffn : gpt_usual_ffn(l.dim, l.heads, llama),
			    .context = l.context,
			    .vocabulary = l.vocabulary,
			    .norm = llama ? NORM_RMS : NORM_LAYER,
			    .eps = (float)l.norm_eps,
			    .act = llama  ? ACT_SILU
				   : gelu ? ACT_GELU
					  : ACT_GELU_TANH,
			    .gated = llama,
			    .biased = !llama && !l.no_bias,
			    .theta = llama ? (float)l.rope_theta : 0,
			    .tied = !llama,
			    .dropout = l.dropout,
			    .recompute = (enum recompute)recompute,
			    .spreads = l.sequence_parallel != 0};
out:
	return st;
}

static enum kolm_status build(struct kolm_model **out, const struct kolm_language *given,
			      bool llama, struct kolm_error *err)
{
	struct error own = {0};
	struct kolm_model *m = calloc(1, sizeof(*m));

	if (!m)
		FAIL(&own, ERR_MEMORY, "no memory for a model");
	else
		read(given, llama, &m->gpt, &own);
	if (own.code != OK) {
		free(m);
		return lib_error_out(&own, err);
	}
	m->language = true;
	*out = m;
	return KOLM_OK;
}

enum kolm_status kolm_model_gpt(struct kolm_model **out, const struct kolm_language *language,
				struct kolm_error *err)
{
	return build(out, language, false, err);
}

enum kolm_status kolm_model_llama(struct kolm_model **out, const struct kolm_language *language,
				  struct kolm_error *err)
{
	return build(out, language, true, err);
}

enum status lib_build_language(const struct kolm_model *model, int mp, struct model *out,
			       struct error *err)
{
	struct gpt gpt = model->gpt;

	gpt.spreads = gpt.spreads && mp > 1;
	model_init(out, 1, mp);
	return gpt_build(out, &gpt, err);
}
