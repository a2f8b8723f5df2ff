/* train_text.c - text to learn from: where its tokens are kept, and who makes them; what an
   evaluation says of a language model. See training.h */
#include "base/file.h"
#include "cmd/training.h"
#include "cmd/watch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *training_cache(char path[PATH_MAX])
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	path[0] = '\0';
	if (cache && *cache == '/')
		snprintf(path, PATH_MAX, "%.4000s/kolm", cache);
	else if (home && *home == '/')
		snprintf(path, PATH_MAX, "%.4000s/.cache/kolm", home);
	return path;
}

/* What was chosen is said where options are: a run that goes on has the same. */
static void resolve(struct training *t)
{
	struct config *c = &t->config;
	const struct tokenizer *tokenizer = t->data.text.tokenizer;

	c->vocab = t->data.out;
	if (tokenizer && !strcmp(c->tokenizer, "auto"))
		snprintf(c->tokenizer, sizeof(c->tokenizer), "%s",
			 tokenizer_kind_names[tokenizer_kind(tokenizer)]);
}

/* A preset may speak of characters, but nobody asks for a tokenizer of what is no text. */
static enum status check_tokenizer(const struct config *c, struct error *err)
{
	if (options_source(&c->values, "tokenizer") != SOURCE_COMMAND_LINE ||
	    !strncmp(c->data, "text:", 5) || !strncmp(c->data, "tokens:", 7))
		return OK;
	FAIL(err, ERR_USAGE, "--tokenizer %.200s, but --data %.200s is no text", c->tokenizer,
	     c->data);
	return HINT(err, "leave it out, or use --data text:PATH");
}

/* A run that goes on has its tokenizer with its checkpoint, whatever has become of the text. */
static enum status keep_tokenizer(const struct config *c, char path[PATH_MAX],
				  struct error *err)
{
	bool automatic = !strcmp(c->resume, "auto"), found;
	struct checkpoint from = {0};
	enum status st = OK;

	snprintf(path, PATH_MAX, "%s", c->tokenizer);
	if (!*c->resume || options_source(&c->values, "tokenizer") == SOURCE_COMMAND_LINE)
		return OK;
	TRY(checkpoint_find(&from, automatic ? c->run_dir : c->resume, false, &found, err));
	if (found && from.files[FILE_TOKENIZER].there) {
		TRY(file_path(path, from.folder, checkpoint_file_names[FILE_TOKENIZER], err));
	} else if (found && from.weights_only && !strncmp(c->data, "text:", 5)) {
		/* One that is made now would call other things by the numbers that it knows. */
		st = FAIL(err, ERR_USAGE, "%.200s was imported without a tokenizer",
			  from.folder);
		HINT(err, "add --tokenizer FILE, or give --data tokens:FILE");
	}
out:
	checkpoint_close(&from);
	return st;
}

enum status training_open_text(struct training *t, struct data_options *o, struct error *err)
{
	const struct config *c = &t->config;
	bool job = t->rank && t->rank->ranks > 1;
	char cache[PATH_MAX], tokenizer[PATH_MAX];
	enum status st;

	o->sequence = c->context;
	o->vocabulary = c->vocab;
	o->tokenizer = tokenizer;
	o->evaluated = c->eval_samples;
	o->cache = training_cache(cache);
	o->watch = watch_text("reading the text");
	TRY(check_tokenizer(c, err));
	TRY(keep_tokenizer(c, tokenizer, err));
	/* In a job rank 0 makes what the others then find, or make on their machines. */
	if (job && !is_first(t))
		TRY(comm_run(t->rank->world, COMM_BARRIER, NULL, 0, DTYPE_F32, 0, err));
	st = data_open(&t->data, o, err);
	if (t->data.kind == DATA_TOKENS || st != OK)
		watch_text_end();
	if (st != OK)
		goto out;
	if (job && is_first(t))
		TRY(comm_run(t->rank->world, COMM_BARRIER, NULL, 0, DTYPE_F32, 0, err));
	resolve(t);
out:
	return st;
}

enum status training_judge(struct data *d, struct evaluation *e, struct error *err)
{
	int64_t tokens, bytes;
	enum status st = OK;

	if (!d->language)
		return OK;
	e->samples /= d->sequence;
	e->perplexity = exp(e->loss);
	TRY(data_held_out_size(d, &tokens, &bytes, err));
	if (bytes)
		e->bits_per_byte = e->loss / log(2) * (double)tokens / (double)bytes;
out:
	return st;
}

const char *training_format_text(const struct evaluation *e, const char *before, char *buf,
				 size_t size)
{
	int n = 0;

	buf[0] = '\0';
	if (e->perplexity > 0)
		n = snprintf(buf, size, "%sperplexity %.5g", before, e->perplexity);
	if (e->bits_per_byte > 0)
		snprintf(buf + n, size - (size_t)n, "%sbits per byte %.4f", before,
			 e->bits_per_byte);
	return buf;
}
