/* gather.h - the records of all ranks, brought to rank 0, on rank 0's clock. */
#ifndef KOLM_TRACE_GATHER_H
#define KOLM_TRACE_GATHER_H

#include "launch/launch.h"
#include "trace/trace.h"

/* Memory for it, reserved before the run by every rank. */
struct gather {
	struct rank *rank; /* borrowed */
	int64_t *hosts;	   /* (ranks) the machine of each rank: its first one */
	int64_t *head;	   /* what is said before the pieces, and the time in a ping-pong */
	struct record *piece;
};

enum status gather_init(struct gather *g, struct rank *rank, struct error *err);

/*
 * Called by all ranks, with no request under way and nothing recorded any more. Rank 0's
 * trace, whose grid is set and which was initialised, takes what everybody has. Where
 * there are several machines, their clocks are compared first: now, and not before the
 * run, since clocks drift and what is kept is the end of the run.
 */
enum status gather_records(struct gather *g, const struct records *own, struct trace *t,
			   struct error *err);

#endif
