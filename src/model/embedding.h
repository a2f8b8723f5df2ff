/* embedding.h - tokens become rows: that of each token, and of its place in the sequence. */
#ifndef KOLM_MODEL_EMBEDDING_H
#define KOLM_MODEL_EMBEDDING_H

#include "model/layer.h"

/* Where there are ranks to split it over, each has some of the tokens, any number of them. */
struct embedding_config {
	int vocabulary, columns;
	bool positions;	 /* learned ones, for every place of a sequence */
	bool spreads;	 /* what comes out is spread */
	float deviation; /* of both at first */
};

/* The name of the table of tokens, for a head that is tied to it. */
#define EMBEDDING_TOKENS "tokens.weight"

extern const struct layer_ops layer_embedding;

#endif
