/*
 * checkpoint.h - folders that outlive a run: checkpoints/step-N holds model.safetensors,
 * optimizer.safetensors, of a language model tokenizer.json, and state.json, which has the
 * sizes and the SHA-256 sums of the others and one of its own. Nothing in them speaks of a
 * grid.
 *
 * A folder step-N is whole or not there: it is made under another name, everything in it goes
 * to disk, then it is renamed. Disks and people can harm it later: whoever reads one checks the
 * sums. checkpoints/latest is a file with the name of the newest one; best is a link to the
 * best one.
 */
#ifndef KOLM_CHECKPOINT_CHECKPOINT_H
#define KOLM_CHECKPOINT_CHECKPOINT_H

#include "base/error.h"
#include "base/sha256.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define CHECKPOINT_SCHEMA "kolm.checkpoint/1"
#define CHECKPOINTS	  "checkpoints" /* in the folder of a run */

/* The two files of tensors; a run whose optimizer keeps nothing has only the first. */
enum checkpoint_part { PART_MODEL, PART_OPTIMIZER, PART_COUNT };
/* And a file without: how text becomes what the model knows. */
enum { FILE_TOKENIZER = PART_COUNT, CHECKPOINT_FILES };
extern const char *const checkpoint_file_names[CHECKPOINT_FILES];

struct checkpoint_file {
	bool there;
	uint64_t size;
	char sha256[SHA256_TEXT];
};

/* One that was read. */
struct checkpoint {
	char folder[PATH_MAX];
	int64_t step;	   /* so many were done */
	bool weights_only; /* nothing of an optimizer: it was imported */
	json_t *state;
	struct checkpoint_file files[CHECKPOINT_FILES];
};

/* Does state.json say what is there, and is it as long as it says? */
enum status checkpoint_open(struct checkpoint *c, const char *folder, struct error *err);
/* And are the sums right? Reads all of it. */
enum status checkpoint_check(const struct checkpoint *c, struct error *err);
void checkpoint_close(struct checkpoint *c);
/* state.json from memory; where names it. */
enum status checkpoint_parse(struct checkpoint *c, const char *bytes, size_t size,
			     const char *where, struct error *err);

/*
 * The newest one that is whole and right, of a run or of a folder of checkpoints; bad ones are
 * named in warnings and passed over. Or the one that is named: then it must be right. *found is
 * false, and c empty, where there is none at all. Without sums only state.json is looked at,
 * and nothing is said.
 */
enum status checkpoint_find(struct checkpoint *c, const char *place, bool sums, bool *found,
			    struct error *err);
/* The same of a place that must have one. */
enum status checkpoint_need(struct checkpoint *c, const char *place, struct error *err);

/* Of the tokenizer that its model was trained with; "": with none. */
const char *checkpoint_tokenizer_sha256(const struct checkpoint *c);

/* The number in step-N, or -1. */
int64_t checkpoint_step_of(const char *name);

#endif
