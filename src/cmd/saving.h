/*
 * saving.h - checkpoints of a run while it goes on.
 *
 * The ranks copy what they have between two steps, and each writes its copy in a thread beside
 * while training goes on. With every step they tell each other whether they are still writing;
 * when nobody is, rank 0 finishes the checkpoint in a thread. A checkpoint that can't be
 * written is a warning; the last one of a run that can't is a failure.
 */
#ifndef KOLM_CMD_SAVING_H
#define KOLM_CMD_SAVING_H

#include "base/json.h"
#include "checkpoint/store.h"
#include "engine/snapshot.h"

#include <pthread.h>

/* Of a tensor in the files of a checkpoint, and in which of them it is. */
enum { SAVING_NAME = sizeof(((struct safetensors_entry *)0)->name) };
struct training;
const char *saving_name(const struct training *t, const struct region *r,
			char name[SAVING_NAME]);
enum checkpoint_part saving_part(enum engine_array array);

enum saving_phase { SAVING_NOTHING, SAVING_WRITES, SAVING_FINISHES };

/* Something that a thread does beside. */
struct beside {
	pthread_t thread;
	bool started;
	_Atomic bool busy;
	enum status st;
	struct error err;
	void (*work)(void *arg);
	void *arg;
};

struct saver {
	bool on;
	enum saving_phase phase;
	struct snapshot snapshot;
	struct store store;
	struct store_piece *pieces; /* (snapshot.count) */
	struct beside beside;
	struct json state; /* of rank 0: state.json but for the sums */
	bool best;	   /* what is being written is the best so far */
	int keep;	   /* checkpoints */
	int64_t written;   /* the step of the last one that is whole, or -1 */
	double begun_at;   /* ms: when the last one was begun */
	double held_ms;	   /* by which the steps were held up, of all of them */
	double took_ms;	   /* from their beginning until they were whole, of all of them */
	int count;	   /* checkpoints that were written */
	char sha256[SHA256_TEXT]; /* of the weights of the last one */
};

#endif
