/*
 * data.h - where samples come from.
 *
 * A sample is a pure function of the seed and of its number in an endless sequence: any rank
 * can produce any of them. Tables are read whole; their features are brought to mean 0 and
 * deviation 1, and a share of their samples, or another file, is held out for evaluation.
 *
 * A sample of a language model is a window of `sequence` tokens, a row each, and the label of
 * a row is the next token. Token files are mapped: the first part of one is to learn from, at
 * places that seed and number say, the rest, or another file, is held out and cut into windows
 * one behind the other: held-out samples are all of them, or some, evenly spread.
 */
#ifndef KOLM_DATA_DATA_H
#define KOLM_DATA_DATA_H

#include "base/error.h"
#include "data/batch.h"
#include "data/form.h"
#include "data/table.h"
#include "device/device.h"
#include "text/tokenizer.h"
#include "text/tokens.h"

enum data_kind { DATA_SYNTHETIC, DATA_NOISE, DATA_TABLE, DATA_TOKENS };

/* Of made-up tokens, where nobody says how many there are. */
enum { DATA_VOCABULARY = 256 };
/* Held-out tokens that say enough, where nobody says how many samples are evaluated. */
enum { DATA_EVALUATED = 131072 };

struct data_options {
	const char *spec; /* as in --data */
	const char *test; /* as in --test; NULL or "": a share is held out instead */
	struct table_options table;
	bool scale_target;
	int in, out; /* the width of made-up data */
	uint64_t seed;
	double holdout; /* the share */
	/* of language models */
	int sequence;	       /* tokens of a sample; 0: the model is none */
	int vocabulary;	       /* 0: as many as it takes */
	const char *tokenizer; /* as in --tokenizer */
	int64_t evaluated;     /* held-out samples at most; 0: as many as have enough tokens */
	const char *cache;     /* folder for token files; NULL or "": none */
	struct text_watch watch; /* of what may take long */
};

/* A part of a token file: so many, from the first on. */
struct token_part {
	struct tokens *file;
	uint64_t first, count;
};

/* What text has become. */
struct text_data {
	struct tokens tokens, test; /* of --data and --test; the latter may have none */
	struct token_part learned, held_out;
	int64_t windows;	     /* of what is held out; some of them are its samples */
	struct tokenizer *tokenizer; /* NULL: it is not known */
	size_t files, left_out;	     /* of the text, and of its folder: no text */
	uint64_t held_out_bytes;     /* that the held-out labels stand for; 0: not known */
	bool measured;		     /* held_out_bytes are */
	struct error failed;	     /* why tokens could not be read, if so */
};

struct data {
	enum data_kind kind;
	uint64_t seed;
	int in, out;	  /* features, and targets or classes: tokens that there are */
	int sequence;	  /* rows of a sample: 1, or tokens */
	bool language;	  /* samples are tokens */
	bool labelled;	  /* classification */
	bool has_targets; /* labels or targets are known */
	float *teacher;	  /* synthetic: (in, factors), (out, factors) */
	float unit;	  /* synthetic: what its targets are multiplied with */
	int words;	  /* synthetic tokens: so many are in use, */
	int32_t *follows; /* ... (2, words): what follows on the last, and on that before */
	struct data_form form;
	struct table table;
	struct table test;	 /* of --test, or no samples */
	int64_t train, held_out; /* samples of the table, or held out by another */
	int32_t *order;		 /* (samples): training samples first, then the others */
	int32_t *shuffled;	 /* (train): the order of one epoch */
	int64_t epoch;		 /* whose order is in shuffled; -1: none */
	struct text_data text;
};

enum status data_open(struct data *d, const struct data_options *o, struct error *err);
/*
 * Another file, read as the form says: csv:FILE, idx:IMAGES[,LABELS], or FILE alone, which is
 * as the data that was trained with. Its labels or targets may be missing. Samples are those of
 * data_rows, d->table.samples of them.
 */
enum status data_open_like(struct data *d, const char *spec, const struct data_form *form,
			   struct error *err);
/* Another text for a language model, text:PATH or tokens:FILE, or PATH alone: all of it is held
   out. The tokenizer is that of the model (NULL: tokens only), and becomes the data's. */
enum status data_open_text_like(struct data *d, const struct data_options *o,
				struct tokenizer *tokenizer, const struct data_form *form,
				struct error *err);
void data_close(struct data *d);

/* How the samples were read; borrowed. */
const struct data_form *data_form(const struct data *d);

/*
 * Batches are in rows, as engines count them: those of a language model begin and end with a
 * sample, first and rows being multiples of d->sequence.
 */

/* Rows first .. first+rows-1 of the endless sequence. */
void data_batch(struct data *d, struct device *dev, int64_t first, int rows,
		const struct batch *b);

/* Held-out rows first .. first+rows-1. */
void data_held_out(struct data *d, int64_t first, int rows, const struct batch *b);

/* Rows first .. first+rows-1 of the file, in its order. */
void data_rows(const struct data *d, int64_t first, int rows, const struct batch *b);

/* Could all tokens be read so far? */
enum status data_check(const struct data *d, struct error *err);

/* Tokens of text that are held out and predicted, and the bytes that they stand for; 0 where
   that is not known. Reads them once. */
enum status data_held_out_size(struct data *d, int64_t *tokens, int64_t *bytes,
			       struct error *err);

#endif
