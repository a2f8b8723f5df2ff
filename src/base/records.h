/*
 * records.h - what a rank has done and when, in memory that is there before the run. When
 * it is full, the oldest records are overwritten.
 */
#ifndef KOLM_BASE_RECORDS_H
#define KOLM_BASE_RECORDS_H

#include "base/error.h"
#include "base/names.h"

#include <stdbool.h>
#include <stdint.h>

#define RECORD_KINDS(X)             \
	X(FORWARD, "forward")       \
	X(BACKWARD, "backward")     \
	X(INPUT, "input")           \
	X(WEIGHT, "weight")         \
	X(UPDATE, "optimizer")      \
	X(PAUSE, "pause")           \
	X(WAIT, "wait")             \
	X(SEND, "send")             \
	X(RECEIVE, "receive")       \
	X(COLLECTIVE, "collective") \
	X(OUT, "copy out")          \
	X(IN, "copy in")            \
	X(STEP, "step")
#define RECORD_KIND(name, ...) RECORD_##name,
enum record_kind { RECORD_KINDS(RECORD_KIND) };
enum { RECORD_KIND_COUNT = NAMES_COUNT(RECORD_KINDS) };
const char *record_kind_name(enum record_kind kind);

/* Times in ns of the rank's own clock. */
struct record {
	int64_t begin, end;
	int64_t ready; /* of waits and transfers: when the last partner had come; of a whole
			  backward: when the gradient to be sent was there; 0: unknown */
	int64_t bytes;
	uint64_t sequence; /* of a message: in its channel, the same at both ends */
	int32_t step;
	int16_t kind; /* enum record_kind */
	int16_t of;   /* of a wait: SEND, RECEIVE or COLLECTIVE; OUT or IN: a copy */
	int16_t op;   /* of a collective: enum comm_op; of a message: its channel; of a copy:
			 enum device_queue */
	int16_t peer; /* number in the world; of a collective: its first member */
	int16_t size; /* of a collective: its members */
	int16_t chunk;
	int32_t micro_batch; /* -1: of none */
	int16_t purpose;     /* of a collective: its group's, enum comm_purpose */
	/* begin and end, and ready of a backward, are stamps of a device's queue, see
	   device_stamp; not any more when the step is over */
	int16_t stamped;
};

/* Filled by the rank and by the thread of a transport that moves its requests on. */
struct records {
	struct record *all; /* (capacity), a ring */
	int64_t capacity;
	_Atomic int64_t count;
	_Atomic int step;    /* the one under way: goes into every record */
	_Atomic bool paused; /* nothing is kept */
};

enum status records_init(struct records *r, int64_t capacity, struct error *err);
void records_release(struct records *r);

/* Without memory (capacity 0, or r is NULL) nothing is kept. */
void records_add(struct records *r, const struct record *what);
/* Those that are still there, oldest first: how many, and the i-th of them. */
int64_t records_kept(const struct records *r);
const struct record *records_at(const struct records *r, int64_t i);

#endif
