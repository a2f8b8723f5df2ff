/* stats.h - order statistics of a few numbers. */
#ifndef KOLM_BASE_STATS_H
#define KOLM_BASE_STATS_H

struct statistics {
	int count;
	double median, mean, stdev, min, max;
};

/* Of n values, which are left sorted. All zero if n is 0. */
struct statistics statistics_of(double *values, int n);

#endif
