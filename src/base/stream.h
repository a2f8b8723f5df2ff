/*
 * stream.h - which random stream is what. A stream of rng.h is one tensor; keeping
 * all of them here keeps them apart.
 */
#ifndef KOLM_BASE_STREAM_H
#define KOLM_BASE_STREAM_H

#include <stdint.h>

enum stream_kind {
	STREAM_WEIGHT = 1, /* id: layer */
	STREAM_BIAS,	   /* id: layer */
	STREAM_INPUT,	   /* of all samples */
	STREAM_TARGET,	   /* of all samples */
	STREAM_FACTOR,	   /* of all samples: what is behind input and target */
	STREAM_TEACHER,	   /* how factors show in inputs and targets */
	STREAM_SPLIT,	   /* which samples are held out */
	STREAM_SHUFFLE,	   /* id: epoch */
	STREAM_DROPOUT,	   /* id: step, layer */
	STREAM_NAME,	   /* id: hash of a name */
	STREAM_WINDOW,	   /* of all samples: where in a text they begin */
	STREAM_TOKEN,	   /* of all samples: made-up tokens */
	STREAM_FOLLOW,	   /* id: what they follow from */
	STREAM_SAMPLE,	   /* id: number of a token that is chosen */
};

static inline uint64_t stream_id(enum stream_kind kind, uint64_t id)
{
	return (uint64_t)kind << 48 | id;
}

#endif
