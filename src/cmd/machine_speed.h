/*
 * machine_speed.h - what this machine can do, as kolm bench measures it: run as a process of
 * its own, which has the machine's cores for itself.
 */
#ifndef KOLM_CMD_MACHINE_SPEED_H
#define KOLM_CMD_MACHINE_SPEED_H

#include "base/error.h"

enum { SPEED_SUMS_MAX = 4 };

struct machine_speed {
	int cores;
	/* Of one core: multiply-adds of registers, and products of matrices; GFLOP/s. */
	double peak, peak16, products, products16;
	double bandwidth; /* GB/s of elementwise work, all cores working, for each */
	double message_us, message_gb_per_s;
	struct {
		int ranks;
		double us, gb_per_s; /* bytes that pass each rank of a ring */
	} sums[SPEED_SUMS_MAX];
	int sum_count;
};

/* The products have these sizes. Takes about 30 times so many seconds. */
struct speed_options {
	double seconds;
	int rows, width;
};

enum status machine_speed_measure(struct machine_speed *s, const struct speed_options *o,
				  struct error *err);

#endif
