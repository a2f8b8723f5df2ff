/* train_model.c - the model that the options ask for, and the data it is for; see training.h */
#include "base/tree.h"
#include "cmd/training.h"
#include "model/gpt.h"
#include "model/mlp.h"
#include "model/models.h"

#include <stdlib.h>

/* (depth + 1): as they are given, or --dim between the layers. */
static int *widths_of(const struct config *c, const struct data *d)
{
	int *widths = malloc(((size_t)c->depth + 1) * sizeof(*widths));
	const char *at = c->widths;

	for (int i = 0; widths && i <= c->depth; i++) {
		if (*c->widths) {
			widths[i] = (int)strtol(at, (char **)(uintptr_t)&at, 10);
			at += *at == ',';
		} else {
			widths[i] = c->dim;
		}
	}
	if (widths && !*c->widths && d) {
		widths[0] = d->in;
		widths[c->depth] = d->out;
	}
	return widths;
}

static enum status check_widths(const int *widths, int depth, const struct data *d,
				struct error *err)
{
	if (widths[0] == d->in && widths[depth] == d->out)
		return OK;
	FAIL(err, ERR_USAGE, "--widths from %d to %d, but the data has %d inputs and %d %s",
	     widths[0], widths[depth], d->in, d->out, d->labelled ? "classes" : "outputs");
	return HINT(err, "begin with %d and end with %d", d->in, d->out);
}

/* With --as-if a rank may have several shards. */
static void begin_model(struct training *t, int in)
{
	int held = tree_held(t->config.as_if_mp, t->grid.mp);

	model_init_as_if(&t->model, in, held * t->grid.mp, held);
}

static enum status build_mlp(struct training *t, struct error *err)
{
	const struct config *c = &t->config;
	struct mlp mlp = {.widths = widths_of(c, &t->data),
			  .depth = c->depth,
			  .act = (enum activation)c->activation,
			  .norm = (enum norm_kind)c->norm,
			  .residual = c->residual,
			  .dropout = c->dropout};
	enum status st;

	if (!mlp.widths)
		return FAIL(err, ERR_MEMORY, "no memory for %d layers", c->depth);
	TRY(check_widths(mlp.widths, c->depth, &t->data, err));
	begin_model(t, t->data.in);
	st = mlp_build(&t->model, &mlp, err);
	if (st == ERR_USAGE && (t->data.kind != DATA_TABLE || t->data.out % t->model.mp == 0))
		HINT(err, *c->widths ? "see --widths" : "see --dim");
out:
	free((void *)(uintptr_t)mlp.widths);
	return st;
}

enum status training_open_data(struct training *t, struct error *err)
{
	const struct config *c = &t->config;
	int *widths;
	struct data_options o = {.spec = c->data,
				 .test = c->test,
				 .table = {.task = (enum data_task)c->loss,
					   .missing = (enum data_missing)c->missing,
					   .target = c->target,
					   .ignore = c->ignore},
				 .scale_target = c->scale_target,
				 .seed = (uint64_t)c->seed,
				 .holdout = c->holdout};
	enum status st;

	if (config_is_language(c))
		return training_open_text(t, &o, err);
	widths = widths_of(c, NULL);
	if (!widths)
		return FAIL(err, ERR_MEMORY, "no memory for %d layers", c->depth);
	o.in = widths[0];
	o.out = widths[c->depth];
	st = data_open(&t->data, &o, err);
	free(widths);
	return st;
}

static enum status build_gpt(struct training *t, struct error *err)
{
	struct config *c = &t->config;
	bool llama = c->model == MODEL_LLAMA;
	struct gpt gpt = {.layers = c->layers,
			  .heads = c->heads,
			  .kv_heads = c->kv_heads ? c->kv_heads : c->heads,
			  .dim = c->dim,
			  .ffn = c->ffn ? c->ffn : gpt_usual_ffn(c->dim, c->heads, llama),
			  .context = c->context,
			  .vocabulary = t->data.out,
			  .norm = llama ? NORM_RMS : NORM_LAYER,
			  .eps = (float)c->norm_eps,
			  .act = llama			 ? ACT_SILU
				 : c->gelu == GELU_EXACT ? ACT_GELU
							 : ACT_GELU_TANH,
			  .gated = llama,
			  .biased = !llama && !c->no_bias,
			  .theta = llama ? (float)c->rope_theta : 0,
			  .tied = !llama,
			  .dropout = c->dropout,
			  .recompute = (enum recompute)c->recompute,
			  .spreads = c->sequence_parallel && t->grid.mp > 1};

	begin_model(t, 1);
	return gpt_build(&t->model, &gpt, err);
}

enum status training_build_model(struct training *t, struct error *err)
{
	enum status st = OK;

	switch ((enum model_kind)t->config.model) {
	case MODEL_MLP:
		TRY(build_mlp(t, err));
		break;
	case MODEL_GPT:
	case MODEL_LLAMA:
		TRY(build_gpt(t, err));
		break;
	}
	t->loss = t->data.labelled ? &loss_cross_entropy : &loss_mse;
out:
	return st;
}
