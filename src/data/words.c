/*
 * words.c - made-up tokens; see data.h
 *
 * A few words of the vocabulary are in use, spread over it. In five of ten places the next one
 * follows from the last word, in four from the one before, else it is any: what comes last is
 * learned within some dozens of steps, and what comes before needs attention.
 */
#include "base/rng.h"
#include "base/stream.h"
#include "base/util.h"
#include "data/impl.h"

enum { WORDS = 256, TENTHS = 10, FROM_LAST = 5, FROM_BEFORE = 9 };

int data_words(int vocabulary)
{
	return imin(vocabulary, WORDS);
}

static int32_t id_of(const struct data *d, uint32_t word)
{
	return (int32_t)((int64_t)word * d->out / d->words);
}

/* Token number i of a sample: noise. */
static uint32_t any_token(const struct data *d, uint64_t index)
{
	return rng_below(d->seed, stream_id(STREAM_TOKEN, 0), index, (uint32_t)d->out);
}

static uint32_t next_word(const struct data *d, uint64_t index, int i, uint32_t last,
			  uint32_t before)
{
	uint32_t words = (uint32_t)d->words;
	uint32_t r = rng_below(d->seed, stream_id(STREAM_TOKEN, 0), index, TENTHS * words);

	if (i > 0 && r / words < FROM_LAST)
		return (uint32_t)d->follows[last];
	if (i > 1 && r / words < FROM_BEFORE)
		return (uint32_t)d->follows[words + before];
	return r % words;
}

static void make_sample(const struct data *d, uint64_t sample, const struct batch *b, int row)
{
	uint64_t first = sample * ((uint64_t)d->sequence + 1);
	uint32_t last = 0, before = 0;

	for (int i = 0; i <= d->sequence; i++) {
		uint32_t word = d->kind == DATA_NOISE
					? any_token(d, first + (uint64_t)i)
					: next_word(d, first + (uint64_t)i, i, last, before);
		int32_t id = d->kind == DATA_NOISE ? (int32_t)word : id_of(d, word);

		if (i < d->sequence && b->tokens)
			b->tokens[row + i] = id;
		if (i > 0 && b->labels)
			b->labels[row + i - 1] = id;
		before = last;
		last = word;
	}
}

void data_make_tokens(void *arg, int part, int parts)
{
	const struct made_job *job = arg;
	const struct data *d = job->d;
	int end = (int)part_begin(job->rows, part + 1, parts);

	for (int i = (int)part_begin(job->rows, part, parts); i < end; i++)
		make_sample(d, (uint64_t)(job->first + i), job->b, i * d->sequence);
}
