/*
 * store.h - writing a checkpoint: begun by one, filled by many, finished by one.
 *
 * The first rank begins it: files of their final size under another name, so that a disk that
 * is full says so now. Every rank writes its pieces; when all have, and what they wrote is on
 * disk, the first rank finishes it: sums, state.json, one rename, latest, and what is older
 * goes.
 */
#ifndef KOLM_CHECKPOINT_STORE_H
#define KOLM_CHECKPOINT_STORE_H

#include "base/json.h"
#include "base/safetensors.h"
#include "checkpoint/checkpoint.h"

/* Some rows of a tensor in a file: so many bytes each, so far apart there, and one behind the
   other in memory. */
struct store_piece {
	enum checkpoint_part part;
	uint64_t at; /* of the first row in the file */
	int64_t rows;
	size_t row_bytes, stride;
	const void *data;
};

struct store_file {
	struct text head; /* what stands before the data */
	uint64_t size;
	bool there;
};

/* One that is being written. */
struct store {
	char place[PATH_MAX];	  /* the folder of checkpoints */
	char temporary[PATH_MAX]; /* in it, until it is whole */
	int64_t step;
	struct store_file files[CHECKPOINT_FILES];
};

/* What a run writes into its folder, the same for all its checkpoints. */
enum status store_init(struct store *s, const char *run, struct error *err);
/* Describe a file: the offsets are filled in. */
enum status store_describe(struct store *s, enum checkpoint_part part,
			   struct safetensors_entry *entries, size_t count, struct error *err);
/* The bytes of the tokenizer, which are copied. */
enum status store_add_tokenizer(struct store *s, const char *json, size_t size,
				struct error *err);
void store_release(struct store *s);

/* Every rank says which step; then the first makes the files. */
void store_name(struct store *s, int64_t step);
enum status store_begin(const struct store *s, struct error *err);
enum status store_write(const struct store *s, const struct store_piece *pieces, size_t n,
			struct error *err);
/* Or somebody writes a file alone, from its first tensor to its last. */
struct store_stream {
	int fd;
	char path[PATH_MAX];
};
enum status store_stream_open(struct store_stream *w, const struct store *s,
			      enum checkpoint_part part, struct error *err);
enum status store_stream_put(const struct store_stream *w, const void *data, size_t size,
			     struct error *err);
/* What was put is on disk then. */
enum status store_stream_close(struct store_stream *w, struct error *err);
/*
 * state: an object that is still open, with all members but step, files and the sum. sha256
 * takes the sum of the tensors of the model alone. Keeps so many checkpoints (0: all), and the
 * best one.
 */
enum status store_finish(const struct store *s, struct json *state, int keep,
			 char sha256[SHA256_TEXT], struct error *err);
/* Remove what was begun. */
void store_abort(const struct store *s);
/* The one of that step is the best so far. */
enum status store_mark_best(const struct store *s, int64_t step, struct error *err);

/* latest names this one now. */
enum status store_point_to(const char *place, int64_t step, struct error *err);

/* In the folder of a run whose owner is gone: what was not finished goes. */
void store_tidy(const char *run);
/* All checkpoints of a run that is overwritten go. Does it have any? */
void store_remove_all(const char *run);
bool store_has_any(const char *run);

#endif
