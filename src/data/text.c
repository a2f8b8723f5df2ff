/*
 * text.c - text for language models: its token file, what is learned from and what is held
 * out; see data.h
 */
#include "base/file.h"
#include "base/folder.h"
#include "base/log.h"
#include "base/util.h"
#include "data/impl.h"
#include "text/corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AT_ONCE = 4096 }; /* ids that are read */

/* ---- where token files are ---- */

/* The folder for what is kept, or NULL: then it is made anew each time. */
static const char *usable_cache(const struct data_options *o)
{
	struct error why = {0};

	if (!o->cache || !*o->cache)
		return NULL;
	if (file_make_folder(o->cache, &why) == OK && !access(o->cache, W_OK | X_OK))
		return o->cache;
	log_warn("tokens can't be kept in %s: they are made anew each time", o->cache);
	return NULL;
}

/* In a folder that goes at once: what is mapped stays. */
static enum status make_for_now(struct tokens *out, const struct corpus *text,
				const struct tokenizer *t, const struct text_watch *watch,
				struct error *err)
{
	struct folder folder;
	char path[PATH_MAX];
	enum status st;

	TRY(folder_make_temporary(&folder, "text", err));
	TRY(file_path(path, folder.path, "text.tokens", err));
	TRY(tokens_make(path, text, t, SPECIALS_ARE_TOKENS, watch, err));
	TRY(tokens_open(out, path, err));
out:
	folder_remove_temporary(&folder);
	return st;
}

static enum status tokens_from(struct tokens *out, const struct corpus *text, const char *cache,
			       const struct data *d, const struct data_options *o,
			       struct error *err)
{
	char path[PATH_MAX];
	enum status st;
	bool made;

	if (!cache)
		return make_for_now(out, text, d->text.tokenizer, &o->watch, err);
	TRY(tokens_of_text(cache, text, d->text.tokenizer, &o->watch, path, &made, err));
	TRY(tokens_open(out, path, err));
out:
	return st;
}

/* ---- the text ---- */

static enum status open_corpus(struct corpus *c, const char *path, struct error *err)
{
	enum status st;

	TRY(corpus_open(c, &path, 1, err));
	if (c->count == 1 && c->bytes > 2 && !memcmp(c->pieces[0].at, "\x1f\x8b", 2)) {
		st = FAIL(err, ERR_USAGE, "%.300s is compressed by gzip", c->pieces[0].name);
		HINT(err, "unpack it first: text is mapped, not read");
	} else if (!c->bytes) {
		st = FAIL(err, ERR_USAGE, "there is nothing in %.300s", path);
		HINT(err, "give a text that has some");
	}
	if (st != OK)
		corpus_close(c);
out:
	return st;
}

/* ---- its parts ---- */

static enum status check_vocabulary(struct data *d, const struct data_options *o,
				    struct error *err)
{
	int tokens = d->text.tokens.of.vocabulary;

	d->out = o->vocabulary ? o->vocabulary : tokens;
	if (d->out >= tokens)
		return OK;
	FAIL(err, ERR_USAGE, "--vocab %d, but the tokenizer has %d tokens", o->vocabulary,
	     tokens);
	return HINT(err, "use --vocab %d or more, or leave it out", tokens);
}

/* is_fixed: the context is that of a trained model. */
static enum status too_short(const struct data *d, const char *what, uint64_t tokens,
			     bool is_fixed, struct error *err)
{
	FAIL(err, ERR_USAGE, "%s has %llu tokens: a sample of --context %d takes %lld", what,
	     (unsigned long long)tokens, d->sequence, (long long)d->sequence + 1);
	if (tokens < 3 || is_fixed)
		return HINT(err, "use a longer text");
	return HINT(err, "use a longer text, or a --context of %llu at most",
		    (unsigned long long)tokens - 1);
}

/* Windows that a part is cut into: the last token of one is the first of the next. */
static int64_t windows_of(const struct data *d, const struct token_part *p)
{
	return p->count ? (int64_t)((p->count - 1) / (uint64_t)d->sequence) : 0;
}

static enum status cut(struct data *d, const struct data_options *o, struct error *err)
{
	struct text_data *t = &d->text;
	bool other = o->test && *o->test;
	uint64_t learned = other ? t->tokens.count
				 : (uint64_t)((double)t->tokens.count * (1 - o->holdout));

	t->learned = (struct token_part){&t->tokens, 0, learned};
	if (learned <= (uint64_t)d->sequence)
		return too_short(d, "the text to learn from", learned, false, err);
	t->held_out =
		other ? (struct token_part){&t->test, 0, t->test.count}
		      : (struct token_part){&t->tokens, learned, t->tokens.count - learned};
	d->train = (int64_t)(learned / (uint64_t)d->sequence);
	t->windows = windows_of(d, &t->held_out);
	d->held_out = min64(t->windows, o->evaluated ? o->evaluated
						     : ceil_div(DATA_EVALUATED, d->sequence));
	if (other && !d->held_out)
		return too_short(d, "the text of --test", t->test.count, false, err);
	return OK;
}

/* ---- opening ---- */

/* text:PATH, tokens:FILE, or PATH as what was there before. */
static bool is_tokens(const char *spec, bool before, const char **path)
{
	bool text = !strncmp(spec, "text:", 5), tokens = !strncmp(spec, "tokens:", 7);

	*path = spec + (text ? 5 : tokens ? 7 : 0);
	return tokens || (!text && before);
}

/* Another text for the tokenizer that is there, or that tokens are named after; "": any. */
static enum status open_other(struct tokens *out, struct data *d, const struct data_options *o,
			      const char *spec, bool before, const char *sha256,
			      const char *cache, struct error *err)
{
	struct corpus text = {0};
	const char *path;
	enum status st;

	if (!is_tokens(spec, before, &path)) {
		if (!d->text.tokenizer) {
			FAIL(err, ERR_USAGE, "%.200s is text, and the tokenizer is not known",
			     path);
			return HINT(err, "give tokens:FILE, made with the same tokenizer");
		}
		TRY(open_corpus(&text, path, err));
		d->text.files += text.count;
		d->text.left_out += text.list.left_out;
		TRY(tokens_from(out, &text, cache, d, o, err));
	} else {
		TRY(tokens_open(out, path, err));
		if (*sha256 && strcmp(out->of.tokenizer_sha256, sha256)) {
			st = FAIL(
				err, ERR_USAGE,
				"%.200s was made with another tokenizer than the data that is "
				"learned from",
				path);
			HINT(err, "make it again with kolm tokenizer encode");
		}
	}
out:
	corpus_close(&text);
	return st;
}

static enum status open_first(struct data *d, const struct data_options *o, const char *cache,
			      struct error *err)
{
	struct corpus text = {0};
	const char *path;
	enum status st;

	if (is_tokens(o->spec, false, &path)) {
		TRY(tokens_open(&d->text.tokens, path, err));
		TRY(data_match_tokenizer(d, o, err));
		return OK;
	}
	TRY(open_corpus(&text, path, err));
	TRY(data_open_tokenizer(&d->text.tokenizer, &text, cache, o, err));
	d->text.files = text.count;
	d->text.left_out = text.list.left_out;
	TRY(tokens_from(&d->text.tokens, &text, cache, d, o, err));
out:
	corpus_close(&text);
	return st;
}

static void describe(struct data *d)
{
	d->kind = DATA_TOKENS;
	d->form.source = SOURCE_IS_TEXT;
	d->form.vocabulary = d->text.tokens.of.vocabulary;
	memcpy(d->form.tokenizer_sha256, d->text.tokens.of.tokenizer_sha256, SHA256_TEXT);
}

enum status data_open_text(struct data *d, const struct data_options *o, struct error *err)
{
	const char *cache = usable_cache(o), *ignored;
	enum status st;

	TRY(open_first(d, o, cache, err));
	TRY(check_vocabulary(d, o, err));
	describe(d);
	if (o->test && *o->test)
		TRY(open_other(&d->text.test, d, o, o->test,
			       is_tokens(o->spec, false, &ignored),
			       d->text.tokens.of.tokenizer_sha256, cache, err));
	TRY(cut(d, o, err));
out:
	return st;
}

enum status data_open_text_like(struct data *d, const struct data_options *o,
				struct tokenizer *tokenizer, const struct data_form *form,
				struct error *err)
{
	enum status st;

	*d = (struct data){.language = true,
			   .labelled = true,
			   .has_targets = true,
			   .in = 1,
			   .out = o->vocabulary ? o->vocabulary : form->vocabulary,
			   .sequence = o->sequence,
			   .epoch = -1,
			   .text = {.tokenizer = tokenizer}};
	if (!strncmp(o->spec, "csv:", 4) || !strncmp(o->spec, "idx:", 4)) {
		st = FAIL(err, ERR_USAGE, "%.200s is no text, which the model was trained with",
			  o->spec);
		HINT(err, "give it as text:PATH or tokens:FILE");
		goto out;
	}
	TRY(open_other(&d->text.tokens, d, o, o->spec, false, form->tokenizer_sha256,
		       usable_cache(o), err));
	if (d->text.tokens.of.vocabulary > d->out) {
		st = FAIL(err, ERR_USAGE, "%.200s has %d tokens, the model %d", o->spec,
			  d->text.tokens.of.vocabulary, d->out);
		goto out;
	}
	describe(d);
	d->text.held_out = (struct token_part){&d->text.tokens, 0, d->text.tokens.count};
	d->held_out = d->text.windows = windows_of(d, &d->text.held_out);
	if (!d->held_out)
		st = too_short(d, "the text", d->text.tokens.count, true, err);
out:
	if (st != OK)
		data_close(d);
	return st;
}

/* ---- bytes ---- */

/* Special tokens are marks, not text. */
static uint64_t bytes_of(const struct tokenizer *t, const int32_t *ids, size_t n)
{
	uint64_t sum = 0;
	size_t size;

	for (size_t i = 0; i < n; i++)
		if (!tokenizer_is_special(t, ids[i])) {
			tokenizer_token(t, ids[i], &size);
			sum += size;
		}
	return sum;
}

static enum status measure(struct data *d, struct error *err)
{
	const struct token_part *p = &d->text.held_out;
	int32_t ids[AT_ONCE];
	enum status st = OK;

	for (int64_t sample = 0; sample < d->held_out; sample++) {
		uint64_t at = p->first + data_held_out_place(d, sample) + 1;

		for (int i = 0; i < d->sequence; i += AT_ONCE) {
			size_t n = (size_t)imin(AT_ONCE, d->sequence - i);

			TRY(tokens_read(p->file, at + (uint64_t)i, n, ids, err));
			d->text.held_out_bytes += bytes_of(d->text.tokenizer, ids, n);
		}
	}
	d->text.measured = true;
out:
	return st;
}

enum status data_held_out_size(struct data *d, int64_t *tokens, int64_t *bytes,
			       struct error *err)
{
	enum status st = OK;

	*tokens = d->kind == DATA_TOKENS ? d->held_out * d->sequence : 0;
	if (*tokens && d->text.tokenizer && !d->text.measured)
		TRY(measure(d, err));
	*bytes = (int64_t)d->text.held_out_bytes;
out:
	return st;
}
