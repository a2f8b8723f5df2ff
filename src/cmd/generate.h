/*
 * generate.h - kolm generate: a trained model continues a text, on any grid of one replica.
 *
 * All ranks go through the same tokens; the last stage knows how likely every next one is, one
 * of its ranks chooses and tells the others, and rank 0 prints.
 */
#ifndef KOLM_CMD_GENERATE_H
#define KOLM_CMD_GENERATE_H

#include "cmd/training.h"
#include "model/sample.h"
#include "text/outlet.h"
#include "text/tokenizer.h"

enum { PROMPT_MAX = 1 << 16 };

struct generate_options {
	const char *place; /* a run, or one of its checkpoints */
	char prompt[PROMPT_MAX], prompt_file[PATH_MAX], prompt_ids[PROMPT_MAX];
	char tokenizer[PATH_MAX], stop[4096];
	int tokens;
	double temperature, top_p;
	int top_k;
	int64_t seed;
	bool past_end, only_new, as_json, quiet;
	int dp, pp, mp;
	int threads, precision; /* of generate_precisions */
	char device[128];
};

/* Why no more tokens come. */
#define GENERATE_ENDS(X)              \
	X(LENGTH, "length")           \
	X(STOP, "stop")               \
	X(END_OF_TEXT, "end of text") \
	X(SIGNAL, "signal")
#define GENERATE_END(name, ...) GENERATE_ENDED_##name,
enum generate_end { GENERATE_ENDS(GENERATE_END) };

struct generation {
	const struct generate_options *o;
	struct training *t;	     /* its model */
	struct tokenizer *tokenizer; /* NULL: there is none, and tokens are numbers */
	int vocabulary;		     /* tokens to choose from */
	struct ids ids;		     /* the prompt, then what was written; room for all */
	size_t prompt;		     /* so many of them are the prompt */
	bool silent;		     /* nobody has written the prompt: it is not shown */
	/* what attention has seen: ids up to fed, the last so many of them */
	size_t fed;
	int position;
	struct sampler sampler;
	struct outlet outlet;
	struct text shown; /* of the last token; with --json of all that were written */
	bool mid_line;	   /* the last character that was printed ends no line */
	double prompt_ms, ms;
	enum generate_end ended;
};

/* generate_open.c: which checkpoint, its options and tokenizer, the prompt, the model; before
   the ranks start, or in a job by each of them. */
enum status generate_prepare(struct generation *g, struct error *err);
void generate_release(struct generation *g);

/* generate_rank.c: the life of a rank. */
enum status generate_rank(struct rank *rank, void *arg, struct error *err);

#endif
