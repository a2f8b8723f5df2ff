/* read_gpt2.c - a tokenizer from GPT-2's own two files, and finding files by name. */
#include "text/impl.h"
#include "base/file.h"
#include "base/util.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_LIMIT = 64 << 20 };

static const char WHOLE[] = "tokenizer.json";

/* The names that the two files go by: OpenAI's, and Hugging Face's. */
static const struct two_names {
	const char *vocab, *merges;
} two_names[] = {{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}};

static enum status read_lines(struct tokenizer *t, const json_t *vocab, const char *lines,
			      size_t size, struct error *err)
{
	static const char version[] = "#version";
	const char *end = lines + size;
	enum status st = OK;

	while (lines < end) {
		const char *stop = memchr(lines, '\n', (size_t)(end - lines));
		size_t n = (size_t)((stop ? stop : end) - lines);
		size_t length = n && lines[n - 1] == '\r' ? n - 1 : n;

		if (length &&
		    (length < strlen(version) || strncmp(lines, version, strlen(version)) != 0))
			TRY(read_merge_line(t, vocab, lines, length, err));
		lines += n + (stop != NULL);
	}
out:
	return st;
}

static enum status read_two(struct tokenizer **out, const json_t *vocab, const char *merges,
			    size_t size, struct error *err)
{
	json_t *id = json_object_get(vocab, END_OF_TEXT), *added = NULL;
	struct tokenizer *t = NULL;
	enum status st;

	if (!json_is_object(vocab))
		return FAIL(err, ERR_USAGE, "the vocabulary is no object of names and ids");
	if (id)
		added = json_pack("[{s:s, s:O}]", "content", END_OF_TEXT, "id", id);
	TRY(tokenizer_new(&t, TOKENIZER_BPE, err));
	TRY(read_vocabulary(t, vocab, added, true, err));
	if (id)
		TRY(tokenizer_mark_added(
			t,
			(struct added_token){.id = (int32_t)json_integer_value(id),
					     .special = true},
			err));
	TRY(read_lines(t, vocab, merges, size, err));
	TRY(tokenizer_finish(t, err));
	*out = t;
	t = NULL; /* the caller's now */
out:
	json_decref(added);
	tokenizer_free(t);
	return st;
}

enum status tokenizer_read_gpt2(struct tokenizer **out, const char *vocab, size_t vocab_size,
				const char *merges, size_t merges_size, const char *where,
				struct error *err)
{
	json_error_t trouble;
	json_t *root = json_loadb(vocab, vocab_size, JSON_REJECT_DUPLICATES, &trouble);
	struct error why = {0};
	enum status st;

	if (!root)
		st = FAIL(&why, ERR_USAGE, "the vocabulary, line %d: %s", trouble.line,
			  trouble.text);
	else
		st = read_two(out, root, merges, merges_size, &why);
	json_decref(root);
	return st == OK ? OK : read_failed(&why, where, err);
}

static enum status open_two(struct tokenizer **out, const char *folder,
			    const struct two_names *names, struct error *err)
{
	char path[PATH_MAX], *vocab = NULL, *merges = NULL;
	size_t vocab_size, merges_size;
	enum status st;

	TRY(file_path(path, folder, names->vocab, err));
	TRY(file_read(path, FILE_LIMIT, &vocab, &vocab_size, err));
	TRY(file_path(path, folder, names->merges, err));
	TRY(file_read(path, FILE_LIMIT, &merges, &merges_size, err));
	TRY(tokenizer_read_gpt2(out, vocab, vocab_size, merges, merges_size, folder, err));
out:
	free(vocab);
	free(merges);
	return st;
}

static enum status open_whole(struct tokenizer **out, const char *path, struct error *err)
{
	char *json = NULL;
	size_t size;
	enum status st;

	TRY(file_read(path, FILE_LIMIT, &json, &size, err));
	TRY(tokenizer_read(out, json, size, path, err));
out:
	free(json);
	return st;
}

static enum status open_folder(struct tokenizer **out, const char *folder, struct error *err)
{
	char path[PATH_MAX];
	enum status st;

	TRY(file_path(path, folder, WHOLE, err));
	if (!access(path, F_OK))
		return open_whole(out, path, err);
	for (size_t i = 0; i < ARRAY_SIZE(two_names); i++) {
		TRY(file_path(path, folder, two_names[i].vocab, err));
		if (!access(path, F_OK))
			return open_two(out, folder, &two_names[i], err);
	}
	FAIL(err, ERR_USAGE, "the folder %.300s has no tokenizer", folder);
	return HINT(err,
		    "it needs %s, or vocab.json and merges.txt, or encoder.json and vocab.bpe",
		    WHOLE);
out:
	return st;
}

static enum status open_byte(struct tokenizer **out, struct error *err)
{
	struct tokenizer_plan plan = {.kind = TOKENIZER_BYTE};

	return tokenizer_train(out, &plan, NULL, 0, err);
}

/* One of the two files: the other one is beside it. */
static const struct two_names *one_of_two(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(two_names); i++)
		if (!strcmp(name, two_names[i].vocab) || !strcmp(name, two_names[i].merges))
			return &two_names[i];
	return NULL;
}

enum status tokenizer_open(struct tokenizer **out, const char *name, struct error *err)
{
	char copy[PATH_MAX], other[PATH_MAX];
	const struct two_names *names;
	struct stat info;

	if (!strcmp(name, tokenizer_kind_names[TOKENIZER_BYTE]))
		return open_byte(out, err);
	if ((!strcmp(name, "char") || !strcmp(name, "bpe")) && stat(name, &info)) {
		FAIL(err, ERR_USAGE, "a tokenizer of kind %s is learned from a text", name);
		return HINT(err, "kolm tokenizer train FILE --kind %s writes tokenizer.json",
			    name);
	}
	if (strlen(name) >= sizeof(copy))
		return FAIL(err, ERR_USAGE, "a path of %zu characters is too long",
			    strlen(name));
	if (!stat(name, &info) && S_ISDIR(info.st_mode))
		return open_folder(out, name, err);
	snprintf(copy, sizeof(copy), "%s", name);
	snprintf(other, sizeof(other), "%s", name);
	names = one_of_two(basename(copy));
	if (names)
		return open_two(out, dirname(other), names, err);
	return open_whole(out, name, err);
}
