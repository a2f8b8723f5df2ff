/* models.h - the models that one can ask for by name. */
#ifndef KOLM_MODEL_MODELS_H
#define KOLM_MODEL_MODELS_H

#include "base/names.h"

#define MODELS(X)	      X(MLP, "mlp")
#define MODEL_KIND(name, ...) MODEL_##name,
enum model_kind { MODELS(MODEL_KIND) };

#endif
