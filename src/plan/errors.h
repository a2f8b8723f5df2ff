/* errors.h - how far predictions are from what was measured, as shares of it. */
#ifndef KOLM_PLAN_ERRORS_H
#define KOLM_PLAN_ERRORS_H

#include "base/text.h"
#include "plan/setups.h"

struct errors {
	int count;
	double sum, sum_abs, max;
};

/* NAN is left out: nothing was measured. */
void errors_add(struct errors *e, double error);
/* NAN where there are none. */
double errors_mean(const struct errors *e);
double errors_bias(const struct errors *e);

/* A line for every value of some columns of a table, where a column has several: the errors of
   its rows, which lie stride bytes apart. */
void errors_add_groups(struct text *out, const struct setups *t, const double *error,
		       size_t stride);

#endif
