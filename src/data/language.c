/* language.c - data of language models: what is asked for, and made-up tokens; see data.h */
#include "base/stream.h"
#include "data/impl.h"

#include <stdlib.h>
#include <string.h>

/* What is said of columns means nothing to a text. */
static enum status check_options(const struct data_options *o, struct error *err)
{
	const char *option = o->table.target && *o->table.target   ? "--target"
			     : o->table.ignore && *o->table.ignore ? "--ignore"
			     : o->table.missing			   ? "--missing"
			     : o->scale_target			   ? "--scale-target"
			     : o->table.task == TASK_REGRESSION	   ? "--loss mse"
								   : NULL;

	if (!option)
		return OK;
	FAIL(err, ERR_USAGE, "%s: a language model learns which token is the next", option);
	return HINT(err, "leave it out");
}

/* Two orders of the words. */
static enum status make_words(struct data *d, struct error *err)
{
	d->words = data_words(d->out);
	d->follows = malloc(2 * (size_t)d->words * sizeof(*d->follows));
	if (!d->follows)
		return FAIL(err, ERR_MEMORY, "no memory for %d words", d->words);
	for (int k = 0; k < 2; k++) {
		int32_t *order = d->follows + k * d->words;

		for (int i = 0; i < d->words; i++)
			order[i] = i;
		data_shuffle(order, d->words, d->seed, stream_id(STREAM_FOLLOW, (uint64_t)k));
	}
	return OK;
}

static enum status make_up(struct data *d, const struct data_options *o, struct error *err)
{
	if (o->test && *o->test) {
		FAIL(err, ERR_USAGE, "--test: --data %.200s is no text", o->spec);
		return HINT(err, "use --data text:PATH");
	}
	d->out = o->vocabulary ? o->vocabulary : DATA_VOCABULARY;
	if (!strcmp(o->spec, "noise")) {
		d->kind = DATA_NOISE;
		return OK;
	}
	d->kind = DATA_SYNTHETIC;
	return make_words(d, err);
}

enum status data_open_language(struct data *d, const struct data_options *o, struct error *err)
{
	const char *spec = o->spec;
	enum status st;

	d->language = d->labelled = true;
	d->sequence = o->sequence;
	d->in = 1;
	TRY(check_options(o, err));
	if (!strncmp(spec, "text:", 5) || !strncmp(spec, "tokens:", 7))
		return data_open_text(d, o, err);
	if (!strcmp(spec, "synthetic") || !strcmp(spec, "noise"))
		return make_up(d, o, err);
	st = FAIL(err, ERR_USAGE, "--data %.200s is nothing that a language model learns from",
		  spec);
	HINT(err, "use text:FILE, text:FOLDER, tokens:FILE, synthetic or noise");
out:
	return st;
}

void data_close_language(struct data *d)
{
	free(d->follows);
	tokens_close(&d->text.tokens);
	tokens_close(&d->text.test);
	tokenizer_free(d->text.tokenizer);
}

enum status data_check(const struct data *d, struct error *err)
{
	return d->text.failed.code == OK ? OK : error_copy(err, &d->text.failed);
}
