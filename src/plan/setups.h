/*
 * setups.h - a table of setups and of what was measured with them, from a CSV file.
 *
 * The first record names the columns, in any order: cluster, model, those of SETUP_NUMBERS,
 * schedule, recompute, sequence_parallel, iter_ms and mem_gib, and perhaps ffn and kv_heads.
 * Lines before it that begin with # say what they like.
 */
#ifndef KOLM_PLAN_SETUPS_H
#define KOLM_PLAN_SETUPS_H

#include "base/error.h"
#include "plan/cluster.h"
#include "plan/setup.h"

enum {
	SETUPS_NAME_MAX = CLUSTER_NAME_MAX,
	SETUPS_ROWS_MAX = 1 << 20,
	SETUPS_FILE_MAX = 1 << 28
};

struct setups_row {
	long long line; /* of the file */
	char cluster[SETUPS_NAME_MAX], model[SETUPS_NAME_MAX];
	struct setup setup;	 /* checked, */
	char problem[320];	 /* unless this says what is wrong with it */
	double iter_ms, mem_gib; /* NAN: was not measured */
};

struct setups {
	struct setups_row *rows;
	int count, capacity;
	int problems; /* rows that have one */
};

/* From the bytes of a file; where names it in messages. */
enum status setups_read(struct setups *t, const char *bytes, size_t size, const char *where,
			struct error *err);
void setups_release(struct setups *t);

#endif
