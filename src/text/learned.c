/* learned.c - see learned.h */
#include "text/learned.h"
#include "base/file.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_KEPT = 100, KEY = 16 };

/* The text's name, and a number for all that it depends on. */
static enum status name_it(char path[PATH_MAX], const char *folder, const struct corpus *text,
			   size_t bytes, const struct tokenizer_plan *plan, struct error *err)
{
	char copy[PATH_MAX], sum[SHA256_TEXT] = "", key[3 * SHA256_TEXT + PATH_MAX], *whole;
	char name[NAME_MAX_KEPT + KEY + 24];
	int64_t settled = corpus_settled(text);
	enum status st = OK;

	whole = realpath(text->name, copy);
	if (!settled || !whole)
		TRY(corpus_sha256(text, sum, err));
	snprintf(key, sizeof(key), "%s %d %.64s %zu %zu %lld %s%s",
		 tokenizer_kind_names[plan->kind], plan->vocabulary,
		 plan->end_of_text ? plan->end_of_text : "", bytes, text->bytes,
		 (long long)settled, sum, *sum ? "" : whole);
	TRY(sha256_of(key, strlen(key), sum, err));
	snprintf(copy, sizeof(copy), "%s", text->name);
	snprintf(name, sizeof(name), "%.*s-%.*s.tokenizer.json", NAME_MAX_KEPT, basename(copy),
		 KEY, sum);
	TRY(file_path(path, folder, name, err));
out:
	return st;
}

static enum status learn(struct tokenizer **out, const struct corpus *text, size_t bytes,
			 const struct tokenizer_plan *plan, struct error *err)
{
	struct text_piece *pieces = calloc(text->count + 1, sizeof(*pieces));
	size_t n = 0;
	enum status st;

	if (!pieces)
		return FAIL(err, ERR_MEMORY, "no memory for %zu files", text->count);
	for (; n < text->count && bytes; n++) {
		pieces[n] = text->pieces[n];
		if (pieces[n].size > bytes)
			pieces[n].size = bytes;
		bytes -= pieces[n].size;
	}
	st = tokenizer_train(out, plan, pieces, n, err);
	free(pieces);
	return st;
}

enum status tokenizer_of_text(struct tokenizer **out, const char *folder,
			      const struct corpus *text, size_t bytes,
			      const struct tokenizer_plan *plan, bool *made, struct error *err)
{
	char path[PATH_MAX];
	enum status st = OK;

	*out = NULL;
	*made = false;
	if (folder) {
		TRY(name_it(path, folder, text, bytes, plan, err));
		if (tokenizer_open(out, path, NULL) == OK)
			return OK;
	}
	TRY(learn(out, text, bytes, plan, err));
	*made = true;
	if (folder) {
		TRY(file_make_folder(folder, err));
		TRY(tokenizer_save(*out, path, err));
	}
out:
	if (st != OK) {
		tokenizer_free(*out);
		*out = NULL;
	}
	return st;
}
