/*
 * corpus.h - the text of a file, or of all files of text below a folder in the order of their
 * names, as one text in pieces.
 */
#ifndef KOLM_TEXT_CORPUS_H
#define KOLM_TEXT_CORPUS_H

#include "base/sha256.h"
#include "text/source.h"
#include "text/tokenizer.h"

struct corpus {
	char *name; /* of the first file or folder */
	struct source_list list;
	struct source *sources;	   /* (count) */
	struct text_piece *pieces; /* (count): what is in them */
	size_t count, bytes;
	/* When the file was changed, ns since 1970; of several, a number that is another one if
	   one of their names, sizes or times is. And the last time that any was. */
	int64_t changed, last_changed;
};

/* Files and folders; the latter must hold text. */
enum status corpus_open(struct corpus *c, const char *const *paths, size_t n,
			struct error *err);
void corpus_close(struct corpus *c);
/* Fails if somebody has changed a file since. */
enum status corpus_check(const struct corpus *c, struct error *err);

/* Of the bytes of a file; of several, each followed by its size in 8 bytes. */
enum status corpus_sha256(const struct corpus *c, char sum[SHA256_TEXT], struct error *err);
/* A part of that: behind every piece. */
void corpus_hash_end(const struct corpus *c, size_t piece, struct sha256 *sum);

/* changed, or 0 where that was so short a time ago that another change might not show. */
int64_t corpus_settled(const struct corpus *c);

#endif
