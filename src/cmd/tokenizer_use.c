/* tokenizer_use.c - kolm tokenizer encode, decode and info: what a tokenizer does with a text.
 */
#include "cmd/tokenizer.h"
#include "base/file.h"
#include "base/json.h"
#include "base/signals.h"
#include "cmd/watch.h"
#include "text/source.h"
#include "text/tokens.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { IDS_PER_LINE = 16, DECODED_AT_ONCE = 1 << 16, NAME_SHOWN = 256 };

static enum tokenizer_specials specials_of(const struct tokenizer_job *job)
{
	return job->o->plain ? SPECIALS_ARE_TEXT : SPECIALS_ARE_TOKENS;
}

static enum status check_count(const struct tokenizer_job *job, int min, int max,
			       const char *usage, struct error *err)
{
	if (job->count >= min && job->count <= max)
		return OK;
	FAIL(err, ERR_USAGE, "too %s arguments", job->count < min ? "few" : "many");
	return HINT(err, "kolm tokenizer %s", usage);
}

/* ---- encode ---- */

/* Signals wait until no half-written file can be left behind. */
static enum status encode_to_file(const struct tokenizer *t, const struct tokenizer_job *job,
				  struct error *err)
{
	struct text_watch watch = watch_text("encoding");
	const char *const name = job->arguments[1];
	struct corpus text = {0};
	sigset_t before;
	enum status st;

	TRY(corpus_open(&text, &name, 1, err));
	signals_hold(&before);
	st = tokens_make(job->o->out, &text, t, specials_of(job), &watch, err);
	watch_text_end();
	signals_let_go(&before);
out:
	corpus_close(&text);
	return st;
}

static enum status report_file(const struct tokenizer_job *job, struct error *err)
{
	struct tokens tokens = {0};
	struct json j;
	double ratio;
	enum status st;

	json_init(&j, true);
	TRY(tokens_open(&tokens, job->o->out, err));
	ratio = tokens.count ? (double)tokens.of.text_size / (double)tokens.count : 0;
	if (!job->o->as_json) {
		printf("%s: %llu tokens of %d bits from %llu bytes, %.3f bytes per token\n",
		       job->o->out, (unsigned long long)tokens.count, 8 * tokens.width,
		       (unsigned long long)tokens.of.text_size, ratio);
		goto out;
	}
	json_begin_object(&j, NULL);
	json_put_int(&j, "tokens", (int64_t)tokens.count);
	json_put_int(&j, "bytes", (int64_t)tokens.of.text_size);
	json_put_double(&j, "bytes_per_token", ratio);
	json_put_int(&j, "vocabulary", tokens.of.vocabulary);
	json_put_string(&j, "out", job->o->out);
	json_put_string(&j, "tokenizer_sha256", tokens.of.tokenizer_sha256);
	json_put_string(&j, "text_sha256", tokens.of.text_sha256);
	json_end_object(&j);
	fputs(j.text.data, stdout);
out:
	json_release(&j);
	tokens_close(&tokens);
	return st;
}

static enum status print_ids(void *arg, const int32_t *ids, size_t n, size_t done,
			     struct error *err)
{
	size_t *count = arg;

	(void)done;
	for (size_t i = 0; i < n; i++, ++*count)
		printf("%s%d", !*count ? "" : *count % IDS_PER_LINE ? " " : "\n", ids[i]);
	if (ferror(stdout))
		return FAIL(err, ERR_FAILED, "can't write the ids to standard output");
	return OK;
}

static enum status print_json_ids(void *arg, const int32_t *ids, size_t n, size_t done,
				  struct error *err)
{
	struct json *j = arg;

	(void)done;
	for (size_t i = 0; i < n; i++)
		json_put_int(j, NULL, ids[i]);
	return j->text.failed ? FAIL(err, ERR_MEMORY, "no memory for the document") : OK;
}

static enum status encode_to_output(const struct tokenizer *t, const struct tokenizer_job *job,
				    struct error *err)
{
	struct source source = {0};
	struct text_sink sink;
	size_t count = 0;
	struct json j;
	enum status st;

	json_init(&j, false);
	sink = job->o->as_json ? (struct text_sink){print_json_ids, &j}
			       : (struct text_sink){print_ids, &count};
	TRY(source_open(&source, job->arguments[1], err));
	json_begin_object(&j, NULL);
	json_put_int(&j, "bytes", (int64_t)source.size);
	json_begin_array(&j, "ids");
	TRY(tokenizer_stream(t, source.at, source.size, specials_of(job), &sink, err));
	json_end_array(&j);
	json_end_object(&j);
	if (job->o->as_json)
		puts(j.text.data);
	else if (count)
		putchar('\n');
out:
	json_release(&j);
	source_close(&source);
	return st;
}

enum status tokenizer_job_encode(const struct tokenizer_job *job, struct error *err)
{
	struct tokenizer *t = NULL;
	enum status st;

	TRY(check_count(job, 2, 2, "encode TOKENIZER FILE [--out FILE.tokens]", err));
	TRY(tokenizer_open(&t, job->arguments[0], err));
	if (*job->o->out) {
		TRY(tokenizer_check_out(job->o->out, job->arguments[1], err));
		TRY(encode_to_file(t, job, err));
		TRY(report_file(job, err));
	} else {
		TRY(encode_to_output(t, job, err));
	}
out:
	tokenizer_free(t);
	return st;
}

/* ---- decode ---- */

static enum status check_same(const struct tokens *tokens, const struct tokenizer *t,
			      const struct tokenizer_job *job, struct error *err)
{
	if (!strcmp(tokens->of.tokenizer_sha256, tokenizer_sha256(t)))
		return OK;
	FAIL(err, ERR_USAGE, "%.200s was made with another tokenizer than %.200s",
	     job->arguments[1], job->arguments[0]);
	return HINT(err, "its SHA-256 is %.16s..., this one's %.16s...",
		    tokens->of.tokenizer_sha256, tokenizer_sha256(t));
}

static enum status decode_all(struct tokens *tokens, const struct tokenizer *t, int fd,
			      const char *where, struct error *err)
{
	static int32_t ids[DECODED_AT_ONCE];
	struct text text;
	enum status st = OK;

	text_init(&text);
	for (uint64_t at = 0; at < tokens->count;) {
		uint64_t left = tokens->count - at;
		size_t n = left < DECODED_AT_ONCE ? (size_t)left : DECODED_AT_ONCE;

		text.len = 0;
		TRY(tokens_read(tokens, at, n, ids, err));
		TRY(tokenizer_decode(t, ids, n, &text, err));
		TRY(file_write_fd(fd, where, text.data, text.len, err));
		at += n;
	}
out:
	text_release(&text);
	return st;
}

enum status tokenizer_job_decode(const struct tokenizer_job *job, struct error *err)
{
	struct tokenizer *t = NULL;
	struct tokens tokens = {0};
	struct file file = {.fd = -1};
	enum status st;

	TRY(check_count(job, 2, 2, "decode TOKENIZER FILE.tokens [--out FILE]", err));
	TRY(tokenizer_open(&t, job->arguments[0], err));
	TRY(tokens_open(&tokens, job->arguments[1], err));
	TRY(check_same(&tokens, t, job, err));
	if (!*job->o->out) {
		TRY(decode_all(&tokens, t, STDOUT_FILENO, "standard output", err));
		goto out;
	}
	TRY(tokenizer_check_out(job->o->out, job->arguments[1], err));
	TRY(file_create(&file, job->o->out, err));
	TRY(decode_all(&tokens, t, file.fd, job->o->out, err));
	TRY(file_commit(&file, err));
out:
	file_abort(&file);
	tokens_close(&tokens);
	tokenizer_free(t);
	return st;
}

/* ---- info ---- */

static enum status count_ids(void *arg, const int32_t *ids, size_t n, size_t done,
			     struct error *err)
{
	(void)ids;
	(void)done;
	(void)err;
	*(uint64_t *)arg += n;
	return OK;
}

static enum status measure(const struct tokenizer *t, const struct tokenizer_job *job,
			   uint64_t *bytes, uint64_t *tokens, struct error *err)
{
	struct text_sink sink = {count_ids, tokens};
	struct source source = {0};
	enum status st;

	TRY(source_open(&source, job->arguments[1], err));
	*bytes = source.size;
	TRY(tokenizer_stream(t, source.at, source.size, specials_of(job), &sink, err));
out:
	source_close(&source);
	return st;
}

/* The text of a special token: it has no zero byte. */
static const char *name_of(const struct tokenizer *t, int id, char name[NAME_SHOWN])
{
	size_t size;
	const char *bytes = tokenizer_token(t, id, &size);

	snprintf(name, NAME_SHOWN, "%.*s", (int)(size < NAME_SHOWN ? size : NAME_SHOWN - 1),
		 bytes);
	return name;
}

static void print_info(const struct tokenizer *t, bool has_text, uint64_t bytes,
		       uint64_t tokens)
{
	char name[NAME_SHOWN], shown[4 * NAME_SHOWN];
	bool any = false;

	printf("kind            %s\n", tokenizer_kind_names[tokenizer_kind(t)]);
	printf("vocabulary      %d tokens\n", tokenizer_vocabulary(t));
	if (tokenizer_kind(t) == TOKENIZER_BPE)
		printf("merges          %d\n", tokenizer_merges(t));
	for (int id = 0; id < tokenizer_vocabulary(t); id++) {
		if (!tokenizer_is_special(t, id))
			continue;
		text_printable(shown, sizeof(shown), name_of(t, id, name));
		printf("special token   %d %s%s\n", id, shown,
		       id == tokenizer_end_of_text(t) ? " (end of text)" : "");
		any = true;
	}
	if (!any)
		puts("special token   none");
	printf("sha256          %s\n", tokenizer_sha256(t));
	if (has_text)
		printf("the text        %llu bytes, %llu tokens, %.3f bytes per token\n",
		       (unsigned long long)bytes, (unsigned long long)tokens,
		       tokens ? (double)bytes / (double)tokens : 0);
}

static void print_info_json(const struct tokenizer *t, bool has_text, uint64_t bytes,
			    uint64_t tokens)
{
	char name[NAME_SHOWN];
	struct json j;

	json_init(&j, true);
	json_begin_object(&j, NULL);
	json_put_string(&j, "kind", tokenizer_kind_names[tokenizer_kind(t)]);
	json_put_int(&j, "vocabulary", tokenizer_vocabulary(t));
	json_put_int(&j, "merges", tokenizer_merges(t));
	json_begin_object(&j, "special_tokens");
	for (int id = 0; id < tokenizer_vocabulary(t); id++)
		if (tokenizer_is_special(t, id))
			json_put_int(&j, name_of(t, id, name), id);
	json_end_object(&j);
	json_put_int(&j, "end_of_text", tokenizer_end_of_text(t));
	json_put_string(&j, "sha256", tokenizer_sha256(t));
	if (has_text) {
		json_put_int(&j, "bytes", (int64_t)bytes);
		json_put_int(&j, "tokens", (int64_t)tokens);
		json_put_double(&j, "bytes_per_token",
				tokens ? (double)bytes / (double)tokens : 0);
	}
	json_end_object(&j);
	fputs(j.text.data, stdout);
	json_release(&j);
}

enum status tokenizer_job_info(const struct tokenizer_job *job, struct error *err)
{
	uint64_t bytes = 0, tokens = 0;
	struct tokenizer *t = NULL;
	enum status st;

	TRY(check_count(job, 1, 2, "info TOKENIZER [FILE]", err));
	TRY(tokenizer_open(&t, job->arguments[0], err));
	if (job->count > 1)
		TRY(measure(t, job, &bytes, &tokens, err));
	(job->o->as_json ? print_info_json : print_info)(t, job->count > 1, bytes, tokens);
out:
	tokenizer_free(t);
	return st;
}
