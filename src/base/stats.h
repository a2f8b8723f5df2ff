/* stats.h - order statistics of a few numbers. */
#ifndef KOLM_BASE_STATS_H
#define KOLM_BASE_STATS_H

struct statistics {
	int count;
	double median, mean, stdev, min, max;
};

/* Of n values, which are left sorted. All zero if n is 0. */
struct statistics statistics_of(double *values, int n);

/* The value that a share of n sorted values does not exceed, 0 the first and 1 the last;
   between two it is interpolated. n is at least 1. */
double quantile_of(const double *sorted, int n, double share);

#endif
