/* stats.c - see stats.h */
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct statistics statistics_of(double *v, int n)
{
	struct statistics s = {.count = n};

	if (!n)
		return s;
	qsort(v, (size_t)n, sizeof(*v), ascending);
	s.min = v[0];
	s.max = v[n - 1];
	s.median = (v[(n - 1) / 2] + v[n / 2]) / 2;
	for (int i = 0; i < n; i++)
		s.mean += v[i] / n;
	for (int i = 0; i < n; i++)
		s.stdev += (v[i] - s.mean) * (v[i] - s.mean);
	s.stdev = n > 1 ? sqrt(s.stdev / (n - 1)) : 0;
	return s;
}

double quantile_of(const double *sorted, int n, double share)
{
	double at = share * (n - 1);
	int below = (int)at;

	if (below >= n - 1)
		return sorted[n - 1];
	return sorted[below] + (at - below) * (sorted[below + 1] - sorted[below]);
}
