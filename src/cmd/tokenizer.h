/* tokenizer.h - what the files of kolm tokenizer share. Only for cmd/tokenizer*. */
#ifndef KOLM_CMD_TOKENIZER_H
#define KOLM_CMD_TOKENIZER_H

#include "base/error.h"
#include "text/tokenizer.h"

#include <limits.h>
#include <stdbool.h>

enum { END_OF_TEXT_MAX = 256 };

struct tokenizer_options {
	int vocabulary; /* 0: as the kind has it */
	int kind;	/* enum tokenizer_kind */
	char end_of_text[END_OF_TEXT_MAX];
	bool plain;
	char out[PATH_MAX];
	bool as_json;
};

/* The arguments behind the word that says what to do. */
struct tokenizer_job {
	const struct tokenizer_options *o;
	const char *const *arguments;
	int count;
};

enum status tokenizer_job_train(const struct tokenizer_job *job, struct error *err);
enum status tokenizer_job_encode(const struct tokenizer_job *job, struct error *err);
enum status tokenizer_job_decode(const struct tokenizer_job *job, struct error *err);
enum status tokenizer_job_info(const struct tokenizer_job *job, struct error *err);

/* What is read must not be replaced by what is written. */
enum status tokenizer_check_out(const char *out, const char *read, struct error *err);

#endif
