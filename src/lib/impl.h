/* impl.h - what is behind the opaque structs of include/kolm.h. Only for lib/. */
#ifndef KOLM_LIB_IMPL_H
#define KOLM_LIB_IMPL_H

#include "engine/engine.h"
#include "model/gpt.h"

#include <kolm.h>

struct kolm_world {
	struct comm *comm;
	int locals; /* ranks on this machine */
};

/* A layer that was asked for: made anew for every engine, since a grid decides how it is
   split. */
struct wanted_layer {
	enum { WANTED_LINEAR, WANTED_NORM, WANTED_DROPOUT, WANTED_OWN } what;
	int outputs;
	enum activation act;
	enum norm_kind norm;
	double dropout;
	const struct kolm_layer_kind *kind;
	void *config;
	size_t size;
};

struct kolm_model {
	int inputs;
	struct wanted_layer *layers;
	int count;
	bool language; /* instead: this, with spread rows where there are slices */
	struct gpt gpt;
};

/* lib/layer.c: a layer of the caller's own kind. */
struct own_scratch {
	float *memory;	 /* (KOLM_OPEN_MAX, elements) */
	size_t elements; /* rows of a micro-batch times the widest that anything is */
};
struct own_config {
	const struct kolm_layer_kind *kind;
	double flops;
	struct own_scratch *scratch; /* the engine's; set when it is made */
	max_align_t callers[];	     /* its config */
};
extern const struct layer_ops layer_own;
struct layer *layer_own_new(const struct wanted_layer *w);

/* lib/model.c: the layers of a model for a grid. */
enum status lib_build_model(const struct kolm_model *model, int mp, struct model *out,
			    struct error *err);

/* lib/language.c: the same for one of language. */
enum status lib_build_language(const struct kolm_model *model, int mp, struct model *out,
			       struct error *err);

/* lib/error.c: between the library's errors and ours. */
enum kolm_status lib_error_out(const struct error *from, struct kolm_error *to);
enum status lib_error_in(const struct kolm_error *from, struct error *to);
/* Which of a list of names; false, with an error, if none. */
bool lib_find_name(const char *what, const char *name, const char *const *names, int *out,
		   struct error *err);

#endif
