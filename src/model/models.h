/* models.h - the models that one can ask for by name. */
#ifndef KOLM_MODEL_MODELS_H
#define KOLM_MODEL_MODELS_H

#include "base/names.h"

#define MODELS(X)     \
	X(MLP, "mlp") \
	X(GPT, "gpt") \
	X(LLAMA, "llama")
#define MODEL_KIND(name, ...) MODEL_##name,
enum model_kind { MODELS(MODEL_KIND) };

/* What of a block is not kept for the backward pass, but computed again. */
#define RECOMPUTES(X)             \
	X(NONE, "none")           \
	X(ATTENTION, "attention") \
	X(BLOCK, "block")
#define RECOMPUTE(name, ...) RECOMPUTE_##name,
enum recompute { RECOMPUTES(RECOMPUTE) };

#endif
