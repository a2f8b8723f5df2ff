/* tokens_cache.c - the token file of a text, found or made; see tokens.h */
#include "text/tokens.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NAME_MAX_KEPT = 100, KEY = 16 };

/* The text's name, and a number for the whole path and the tokenizer: texts of the same name
   do not take each other's place. */
static enum status name_it(char path[PATH_MAX], const char *folder, const char *text,
			   const struct tokenizer *t, struct error *err)
{
	char whole[PATH_MAX], copy[PATH_MAX], sum[SHA256_TEXT], name[NAME_MAX_KEPT + KEY + 16];
	char key[PATH_MAX + SHA256_TEXT];
	enum status st;

	if (!realpath(text, whole)) {
		FAIL(err, ERR_USAGE, "can't read %.300s: %s", text, strerror(errno));
		return HINT(err, "check the name and that you may read it");
	}
	snprintf(copy, sizeof(copy), "%s", whole);
	snprintf(key, sizeof(key), "%s %s", tokenizer_sha256(t), whole);
	TRY(sha256_of(key, strlen(key), sum, err));
	snprintf(name, sizeof(name), "%.*s-%.*s.tokens", NAME_MAX_KEPT, basename(copy), KEY,
		 sum);
	TRY(file_path(path, folder, name, err));
out:
	return st;
}

/* Is what is there the token file of this text? */
static enum status is_good(const char *path, const struct corpus *text,
			   const struct tokenizer *t, bool *good, struct error *err)
{
	struct tokens there = {0};
	char sum[SHA256_TEXT];
	enum status st = OK;

	*good = false;
	if (tokens_open(&there, path, NULL) != OK)
		return OK; /* not there, or damaged: it is made again */
	if (strcmp(there.of.tokenizer_sha256, tokenizer_sha256(t)) != 0 ||
	    there.of.text_size != text->bytes)
		goto out;
	*good = there.of.text_changed && there.of.text_changed == text->changed;
	if (*good)
		goto out;
	TRY(corpus_sha256(text, sum, err));
	*good = !strcmp(sum, there.of.text_sha256);
out:
	tokens_close(&there);
	return st;
}

enum status tokens_of_text(const char *folder, const struct corpus *text,
			   const struct tokenizer *t, const struct text_watch *watch,
			   char path[PATH_MAX], bool *made, struct error *err)
{
	enum status st;
	bool good;

	*made = false;
	TRY(name_it(path, folder, text->name, t, err));
	TRY(is_good(path, text, t, &good, err));
	if (good)
		return OK;
	TRY(file_make_folder(folder, err));
	TRY(tokens_make(path, text, t, SPECIALS_ARE_TOKENS, watch, err));
	*made = true;
out:
	return st;
}
