/*
 * language.c - models of language: what presets stand for, what is usual for such models where
 * nobody says otherwise, and what must hold between their sizes; see config.h
 */
#include "base/util.h"
#include "config/config.h"
#include "model/models.h"

#include <stdio.h>
#include <string.h>

struct setting {
	const char *option, *value;
};

/* nanoGPT's settings for characters have the course of their training too. */
#define CHARACTERS                                                                             \
	{"no-bias", "true"}, {"lr", "0.001"}, {"lr-schedule", "cosine"}, {"lr-min", "0.0001"}, \
		{"lr-warmup", "100"}, {"beta2", "0.99"}, {"weight-decay", "0.1"},              \
		{"tokenizer", "char"},                                                         \
	{                                                                                      \
		"eval-every", "250"                                                            \
	}

static const struct setting gpt2[] = {{"layers", "12"},	   {"heads", "12"},    {"dim", "768"},
				      {"context", "1024"}, {"vocab", "50257"}, {0}};
static const struct setting gpt2_medium[] = {{"layers", "24"},	 {"heads", "16"},
					     {"dim", "1024"},	 {"context", "1024"},
					     {"vocab", "50257"}, {0}};
/* So few steps want a larger rate than nanoGPT gives them. */
static const struct setting nano[] = {{"layers", "4"},	 {"heads", "4"},  {"dim", "128"},
				      {"context", "64"}, {"batch", "12"}, {"steps", "2000"},
				      CHARACTERS,	 {"lr", "0.002"}, {0}};
static const struct setting character[] = {
	{"layers", "6"},    {"heads", "6"},  {"dim", "384"},
	{"context", "256"}, {"batch", "64"}, {"steps", "5000"},
	{"dropout", "0.2"}, CHARACTERS,	     {0}};

static const struct setting *settings_of(enum config_preset preset)
{
	switch (preset) {
	case PRESET_NONE:
		break;
	case PRESET_GPT2:
		return gpt2;
	case PRESET_GPT2_MEDIUM:
		return gpt2_medium;
	case PRESET_NANO:
		return nano;
	case PRESET_CHAR:
		return character;
	}
	return NULL;
}

/* What is usual, as weakly as a default. */
static const struct setting usual[] = {
	{"dim", "128"}, {"optimizer", "adamw"}, {"clip-grad", "1"}, {0}};

/* Set what nobody of that rank or above has, without being taken for somebody. */
static enum status apply(struct config *c, const struct setting *s, enum option_source below,
			 struct error *err)
{
	enum status st = OK;

	for (; s && s->option; s++) {
		enum option_source source = options_source(&c->values, s->option);

		if (source >= below)
			continue;
		TRY(options_set(&c->values, s->option, s->value, SOURCE_COMMAND_LINE, err));
		options_mark(&c->values, s->option, source);
	}
out:
	return st;
}

/* Options that one kind of model knows and the other does not. */
static const char *const of_language[] = {
	"preset",     "layers",	  "heads",     "kv-heads",	    "ffn",
	"context",    "vocab",	  "tokenizer", "no-bias",	    "gelu",
	"rope-theta", "norm-eps", "recompute", "sequence-parallel", "eval-samples"};
static const char *const of_mlp[] = {"depth", "widths", "activation", "norm", "residual"};
static const char *const of_gpt[] = {"no-bias", "gelu"};
static const char *const of_llama[] = {"kv-heads", "rope-theta"};

/* whose: the models that know them. */
static enum status refuse(const struct config *c, const char *const *names, size_t n,
			  const char *model, const char *whose, struct error *err)
{
	for (size_t i = 0; i < n; i++)
		if (options_source(&c->values, names[i]) == SOURCE_COMMAND_LINE) {
			FAIL(err, ERR_USAGE, "--%s means nothing to --model %s", names[i],
			     model);
			if (!strcmp(names[i], "depth"))
				return HINT(err, "--layers is the number of its blocks");
			return HINT(err, "leave it out, or use --model %s", whose);
		}
	return OK;
}

bool config_is_language(const struct config *c)
{
	return c->model != MODEL_MLP;
}

static enum status check_sizes(const struct config *c, struct error *err)
{
	int near = (int)round_up(c->dim, c->heads), kv = c->kv_heads;

	if (c->dim % c->heads) {
		FAIL(err, ERR_USAGE, "--dim %d does not divide by --heads %d", c->dim,
		     c->heads);
		return HINT(err, "--dim %d would fit", near);
	}
	if (kv && c->heads % kv) {
		FAIL(err, ERR_USAGE, "--heads %d does not divide by --kv-heads %d", c->heads,
		     kv);
		while (c->heads % kv)
			kv--;
		return HINT(err,
			    "--kv-heads %d would fit: each of them serves as many heads of "
			    "queries",
			    kv);
	}
	if (c->model == MODEL_LLAMA && c->dim / c->heads % 2) {
		FAIL(err, ERR_USAGE, "heads of width %d: rotary positions turn pairs",
		     c->dim / c->heads);
		return HINT(err, "--dim %d would fit",
			    2 * c->heads * (c->dim / c->heads / 2 + 1));
	}
	return OK;
}

void config_shorten_course(struct config *c)
{
	if (c->preset && options_source(&c->values, "lr-warmup") == SOURCE_DEFAULT)
		c->lr_warmup = imin(c->lr_warmup, c->steps / 10);
	if (c->preset && options_source(&c->values, "eval-every") == SOURCE_DEFAULT)
		c->eval_every = imin(c->eval_every, c->steps);
}

enum status config_check_language(struct config *c, struct error *err)
{
	enum option_source preset = options_source(&c->values, "preset");
	enum status st;

	if (c->preset && options_source(&c->values, "model") < preset && c->model == MODEL_MLP)
		c->model = MODEL_GPT;
	if (!config_is_language(c))
		return refuse(c, of_language, ARRAY_SIZE(of_language), "mlp", "gpt or llama",
			      err);
	TRY(refuse(c, of_mlp, ARRAY_SIZE(of_mlp), c->model == MODEL_GPT ? "gpt" : "llama",
		   "mlp", err));
	if (c->model == MODEL_GPT)
		TRY(refuse(c, of_llama, ARRAY_SIZE(of_llama), "gpt", "llama", err));
	else
		TRY(refuse(c, of_gpt, ARRAY_SIZE(of_gpt), "llama", "gpt", err));
	TRY(apply(c, usual, SOURCE_FILE, err));
	TRY(apply(c, settings_of((enum config_preset)c->preset), preset, err));
	config_shorten_course(c);
	TRY(check_sizes(c, err));
out:
	return st;
}
