/* clang-format off */
/*
 * tokens.h - token files: the ids of a text, mapped and never read whole.
 *
 * All numbers are little-endian:
 *	  0  8 bytes  "kolm.tok"
 *	  8  u32      version, 1
 *	 12  u32      bytes of an id: 2 if the vocabulary has at most 65,536 tokens, otherwise 4
 *	 16  u64      count of ids
 *	 24  u32      vocabulary: ids are less than this
 *	 28  u32      ids of a block, 32,768
 *	 32  32 bytes SHA-256 of the tokenizer (tokenizer_sha256)
 *	 64  32 bytes SHA-256 of the text (corpus_sha256)
 *	 96  u64      bytes of the text
 *	104  i64      when the text was changed (corpus_settled)
 *	112  12 bytes 0
 *	124  u32      CRC-32C of the bytes before
 *	128  the ids; zeros up to a multiple of 4 bytes; a CRC-32C (u32) of every block of ids
 *
 * A file whose size or heading is wrong is not opened; a block is checked when it is first
 * read.
 */
/* clang-format on */
#ifndef KOLM_TEXT_TOKENS_H
#define KOLM_TEXT_TOKENS_H

#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"
#include "text/corpus.h"
#include "text/tokenizer.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

enum { TOKENS_HEADING = 128, TOKENS_BLOCK = 32768, TOKENS_VERSION = 1 };

/* What the ids stand for. */
struct tokens_origin {
	int vocabulary;
	char tokenizer_sha256[SHA256_TEXT];
	char text_sha256[SHA256_TEXT];
	uint64_t text_size;
	int64_t text_changed;
};

struct tokens {
	struct tokens_origin of;
	uint64_t count;
	int width;			 /* bytes of an id */
	const unsigned char *ids, *sums; /* in the file */
	bool *checked;			 /* of every block */
	void *map;			 /* all of it; NULL: it is somebody else's memory */
	size_t map_size;
	char name[PATH_MAX]; /* for messages */
};

enum status tokens_open(struct tokens *t, const char *path, struct error *err);
/* The same of a file that is in memory, which must stay there. */
enum status tokens_view(struct tokens *t, const void *data, size_t size, const char *name,
			struct error *err);
void tokens_close(struct tokens *t);
/* Ids first .. first+n-1, which are there. */
enum status tokens_read(struct tokens *t, uint64_t first, size_t n, int32_t *out,
			struct error *err);

/* A token file under construction. */
struct tokens_writer {
	struct file file;
	struct tokens_origin of;
	uint64_t count;
	int width;
	unsigned char *block; /* what is not written yet */
	size_t used;	      /* ids of it */
	uint32_t *sums;
	size_t sum_count, sum_capacity;
};

/* The origin may change until the end, but for the vocabulary. */
enum status tokens_create(struct tokens_writer *w, const char *path, int vocabulary,
			  struct error *err);
enum status tokens_put(struct tokens_writer *w, const int32_t *ids, size_t n,
		       struct error *err);
enum status tokens_commit(struct tokens_writer *w, struct error *err);
/* Gives it up; after tokens_commit it only frees memory. */
void tokens_abort(struct tokens_writer *w);

/* The token file of a text; between the texts of several files is the end-of-text token, if the
   tokenizer has one. */
enum status tokens_make(const char *path, const struct corpus *text, const struct tokenizer *t,
			enum tokenizer_specials specials, const struct text_watch *watch,
			struct error *err);

/*
 * The token file of a text and a tokenizer in a folder, which is made if it is not there:
 * path is where. One that is there is good if it has the text's size and time of change, or
 * else its SHA-256. Special tokens in the text are tokens. Several processes may ask at once:
 * each sees a whole file.
 */
enum status tokens_of_text(const char *folder, const struct corpus *text,
			   const struct tokenizer *t, const struct text_watch *watch,
			   char path[PATH_MAX], bool *made, struct error *err);

#endif
