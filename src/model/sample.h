/*
 * sample.h - which token comes next: the likeliest one, or one by chance.
 *
 * The outputs of a model become probabilities: divided by the temperature, then the K largest
 * only, then as few of the likeliest as have P of what is left. The chance of token i is a pure
 * function of (seed, number of the choice, i), and the choice one that a change of the outputs
 * by rounding hardly ever alters: no more often than it changes the probabilities.
 */
#ifndef KOLM_MODEL_SAMPLE_H
#define KOLM_MODEL_SAMPLE_H

#include "base/error.h"

#include <stdint.h>

struct sampling {
	double temperature; /* 0: always the likeliest */
	int top_k;	    /* 0: all */
	double top_p;	    /* 1: all */
	uint64_t seed;
};

struct sampler {
	struct sampling by;
	int count;	/* tokens that there are */
	int32_t *order; /* (count) */
};

enum status sampler_init(struct sampler *s, const struct sampling *by, int count,
			 struct error *err);
void sampler_release(struct sampler *s);

/* The token that is chosen as number so and so, of outputs (count); -1: one of them is no
   number. Of two that are equal, the first one is the likelier. Allocates nothing. */
int32_t sampler_choose(struct sampler *s, const float *outputs, int64_t number);

#endif
