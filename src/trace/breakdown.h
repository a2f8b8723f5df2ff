/*
 * breakdown.h - where the time of a step went, on every rank: it adds up.
 *
 * A rank computes, waits for transfers that nothing hid, or waits for other ranks. Of that
 * last part the schedule explains what a pipeline whose stages are all as fast as the middle
 * one would leave idle: the bubble. The rest is imbalance: somebody was slower.
 */
#ifndef KOLM_TRACE_BREAKDOWN_H
#define KOLM_TRACE_BREAKDOWN_H

#include "base/error.h"
#include "engine/engine.h"

/* ms, mean over the steps that count. */
struct breakdown {
	double step; /* what the others add up to */
	double compute, comm, bubble, imbalance, other;
};

struct breakdowns {
	struct breakdown *ranks; /* (n) */
	int n;
	struct breakdown mean;
	double bubble; /* idle share of the rank whose pipeline takes longest; 0 without one */
	int straggler; /* the rank that the others wait for, or -1 */
	double excess_ms; /* by which it is slower than the middle rank */
};

enum status breakdowns_init(struct breakdowns *b, const struct engine_times *times, int n,
			    const struct schedule *schedule, int stages, struct error *err);
void breakdowns_release(struct breakdowns *b);

#endif
