/* model.c - see include/kolm.h */
#include "lib/impl.h"
#include "model/dropout.h"
#include "model/linear.h"
#include "model/norm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum kolm_status kolm_model_new(struct kolm_model **out, int inputs, struct kolm_error *err)
{
	struct error own = {0};
	struct kolm_model *m = calloc(1, sizeof(*m));

	if (!m)
		FAIL(&own, ERR_MEMORY, "no memory for a model");
	else if (inputs < 1)
		FAIL(&own, ERR_USAGE, "a model of %d inputs", inputs);
	if (own.code != OK) {
		free(m);
		return lib_error_out(&own, err);
	}
	m->inputs = inputs;
	*out = m;
	return KOLM_OK;
}

void kolm_model_free(struct kolm_model *model)
{
	if (!model)
		return;
	for (int i = 0; i < model->count; i++)
		free(model->layers[i].config);
	free(model->layers);
	free(model);
}

static enum status append(struct kolm_model *m, struct wanted_layer w, struct error *err)
{
	struct wanted_layer *all;

	if (m->language)
		return FAIL(err, ERR_USAGE, "a language model has its layers");
	all = realloc(m->layers, ((size_t)m->count + 1) * sizeof(*m->layers));
	if (!all)
		return FAIL(err, ERR_MEMORY, "no memory for %d layers", m->count + 1);
	m->layers = all;
	m->layers[m->count++] = w;
	return OK;
}

enum kolm_status kolm_model_linear(struct kolm_model *model, int outputs,
				   const char *activation, struct kolm_error *err)
{
	struct error own = {0};
	int act;

	if (outputs < 1)
		FAIL(&own, ERR_USAGE, "a linear layer of %d outputs", outputs);
	else if (lib_find_name("activation", activation, activation_names, &act, &own))
		append(model,
		       (struct wanted_layer){.what = WANTED_LINEAR,
					     .outputs = outputs,
					     .act = (enum activation)act},
		       &own);
	return own.code == OK ? KOLM_OK : lib_error_out(&own, err);
}

enum kolm_status kolm_model_norm(struct kolm_model *model, const char *norm,
				 struct kolm_error *err)
{
	struct error own = {0};
	int kind;

	if (lib_find_name("norm", norm, norm_names, &kind, &own) && kind != NORM_NONE)
		append(model,
		       (struct wanted_layer){.what = WANTED_NORM, .norm = (enum norm_kind)kind},
		       &own);
	return own.code == OK ? KOLM_OK : lib_error_out(&own, err);
}

enum kolm_status kolm_model_dropout(struct kolm_model *model, double dropout,
				    struct kolm_error *err)
{
	struct error own = {0};

	if (!(dropout >= 0 && dropout < 1))
		FAIL(&own, ERR_USAGE, "dropout of %g is no share from 0 to below 1", dropout);
	else if (dropout > 0)
		append(model, (struct wanted_layer){.what = WANTED_DROPOUT, .dropout = dropout},
		       &own);
	return own.code == OK ? KOLM_OK : lib_error_out(&own, err);
}

enum kolm_status kolm_model_layer(struct kolm_model *model, const struct kolm_layer_kind *kind,
				  const void *config, size_t size, struct kolm_error *err)
{
	struct wanted_layer w = {.what = WANTED_OWN, .kind = kind, .size = size};
	struct error own = {0};

	w.config = malloc(size ? size : 1);
	if (!w.config || !kind || !kind->describe || !kind->forward || !kind->backward_input) {
		FAIL(&own, w.config ? ERR_USAGE : ERR_MEMORY,
		     w.config ? "a kind of layers without describe, forward or backward_input"
			      : "no memory for a layer");
	} else {
		if (size)
			memcpy(w.config, config, size);
		append(model, w, &own);
	}
	if (own.code == OK)
		return KOLM_OK;
	free(w.config);
	return lib_error_out(&own, err);
}

/* ---- for a grid ---- */

/* Does something behind layer i need whole rows before a linear layer takes slices again? */
static bool needs_whole_rows(const struct kolm_model *m, int i)
{
	for (i++; i < m->count; i++) {
		const struct wanted_layer *w = &m->layers[i];

		if (w->what == WANTED_LINEAR)
			return false;
		if (w->what == WANTED_NORM || (w->what == WANTED_OWN && !w->kind->slices))
			return true;
	}
	return true;
}

static struct layer *linear_of(const struct kolm_model *m, int i, int in, bool in_sliced)
{
	const struct wanted_layer *w = &m->layers[i];
	struct linear_config c = {.out = w->outputs,
				  .act = w->act,
				  .bound =
					  sqrtf((w->act != ACT_NONE ? 6.0f : 3.0f) / (float)in),
				  .split = in_sliced		    ? LINEAR_ROWS
					   : needs_whole_rows(m, i) ? LINEAR_GATHERED
								    : LINEAR_COLUMNS};

	return layer_new(&layer_linear, &c, sizeof(c));
}

static struct layer *layer_of(const struct kolm_model *m, int i, int in, bool in_sliced)
{
	const struct wanted_layer *w = &m->layers[i];
	struct norm_config norm = {.kind = w->norm, .eps = 1e-5f};
	struct dropout_config dropout = {.p = w->dropout};

	switch (w->what) {
	case WANTED_LINEAR:
		return linear_of(m, i, in, in_sliced);
	case WANTED_NORM:
		return layer_new(&layer_norm, &norm, sizeof(norm));
	case WANTED_DROPOUT:
		return layer_new(&layer_dropout, &dropout, sizeof(dropout));
	case WANTED_OWN:
		break;
	}
	return layer_own_new(w);
}

enum status lib_build_model(const struct kolm_model *model, int mp, struct model *out,
			    struct error *err)
{
	enum status st = OK;

	if (model->language) {
		st = lib_build_language(model, mp, out, err);
		goto out;
	}
	model_init(out, model->inputs, mp);
	for (int i = 0; i < model->count; i++) {
		const struct layer *last = i ? out->layers[i - 1] : NULL;

		TRY(model_add(out,
			      layer_of(model, i, last ? last->out : model->inputs,
				       last && last->out_sliced),
			      err));
	}
	TRY(model_end(out, err));
out:
	if (st != OK)
		model_release(out);
	return st;
}
