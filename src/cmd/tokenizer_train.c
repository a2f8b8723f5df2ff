/* tokenizer_train.c - kolm tokenizer train: a tokenizer from files. */
#include "cmd/tokenizer.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "cmd/watch.h"
#include "text/corpus.h"

#include <stdio.h>
#include <string.h>

enum { VOCABULARY_DEFAULT = 4096 };

static enum status make_plan(struct tokenizer_plan *plan, const struct tokenizer_options *o,
			     struct error *err)
{
	*plan = (struct tokenizer_plan){.kind = (enum tokenizer_kind)o->kind,
					.vocabulary = o->vocabulary,
					.watch = watch_text("training")};
	if (plan->kind != TOKENIZER_BPE && o->vocabulary) {
		FAIL(err, ERR_USAGE, "--vocab %d is not for a tokenizer of kind %s",
		     o->vocabulary, tokenizer_kind_names[o->kind]);
		return HINT(err, "it has as many tokens as it takes; leave --vocab out, or use "
				 "--kind bpe");
	}
	if (!o->vocabulary)
		plan->vocabulary = VOCABULARY_DEFAULT;
	if (strcmp(o->end_of_text, "auto") != 0 && strcmp(o->end_of_text, "none") != 0)
		plan->end_of_text = o->end_of_text;
	else if (plan->kind == TOKENIZER_BPE && !strcmp(o->end_of_text, "auto"))
		plan->end_of_text = END_OF_TEXT;
	return OK;
}

static void print_json(const struct tokenizer *t, const struct corpus *texts, double seconds,
		       const char *out)
{
	struct json j;

	json_init(&j, true);
	json_begin_object(&j, NULL);
	json_put_string(&j, "kind", tokenizer_kind_names[tokenizer_kind(t)]);
	json_put_int(&j, "vocabulary", tokenizer_vocabulary(t));
	json_put_int(&j, "merges", tokenizer_merges(t));
	json_put_int(&j, "files", (int64_t)texts->count);
	json_put_int(&j, "bytes", (int64_t)texts->bytes);
	json_put_double(&j, "seconds", seconds);
	json_put_string(&j, "out", out);
	json_put_string(&j, "sha256", tokenizer_sha256(t));
	json_end_object(&j);
	fputs(j.text.data, stdout);
	json_release(&j);
}

enum status tokenizer_job_train(const struct tokenizer_job *job, struct error *err)
{
	const char *out = *job->o->out ? job->o->out : "tokenizer.json";
	double start = clock_ms(), seconds;
	struct corpus texts = {0};
	struct tokenizer *t = NULL;
	struct tokenizer_plan plan;
	enum status st;

	if (!job->count && job->o->kind != TOKENIZER_BYTE) {
		FAIL(err, ERR_USAGE, "tokenizer train needs text to learn from");
		return HINT(err, "give files, or folders of them");
	}
	TRY(make_plan(&plan, job->o, err));
	TRY(corpus_open(&texts, (const char *const *)job->arguments, (size_t)job->count, err));
	if (texts.list.left_out)
		log_info("left out: %zu file%s with zero bytes, which are no text",
			 texts.list.left_out, texts.list.left_out == 1 ? "" : "s");
	for (size_t i = 0; i < texts.count; i++)
		TRY(tokenizer_check_out(out, texts.list.paths[i], err));
	st = tokenizer_train(&t, &plan, texts.pieces, texts.count, err);
	watch_text_end();
	if (st != OK)
		goto out;
	TRY(tokenizer_save(t, out, err));
	seconds = (clock_ms() - start) / 1e3;
	if (plan.kind == TOKENIZER_BPE && tokenizer_vocabulary(t) < plan.vocabulary)
		log_warn(
			"the text has nothing left to merge after %d tokens, fewer than --vocab %d",
			tokenizer_vocabulary(t), plan.vocabulary);
	if (job->o->as_json)
		print_json(t, &texts, seconds, out);
	else
		printf("%s: kind %s, %d tokens, from %zu bytes in %zu file%s, %.2f s\n", out,
		       tokenizer_kind_names[tokenizer_kind(t)], tokenizer_vocabulary(t),
		       texts.bytes, texts.count, texts.count == 1 ? "" : "s", seconds);
out:
	tokenizer_free(t);
	corpus_close(&texts);
	return st;
}
