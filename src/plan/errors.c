/* errors.c - see errors.h */
#include "plan/errors.h"
#include "base/util.h"

#include <math.h>
#include <stdio.h>

enum { GROUPS_MAX = 16 };

void errors_add(struct errors *e, double error)
{
	if (isnan(error))
		return;
	e->count++;
	e->sum += error;
	e->sum_abs += fabs(error);
	e->max = fmax(e->max, fabs(error));
}

double errors_mean(const struct errors *e)
{
	return e->count ? e->sum_abs / e->count : NAN;
}

double errors_bias(const struct errors *e)
{
	return e->count ? e->sum / e->count : NAN;
}

/* Columns by which errors are told apart. */
#define OF(member) offsetof(struct setup, member)
static const struct {
	const char *name;
	size_t offset;
} columns[] = {
	{"hidden", OF(hidden)},		  {"tp", OF(tp)}, {"dp", OF(dp)}, {"pp", OF(pp)},
	{"micro_batch", OF(micro_batch)},
};

struct group {
	int value;
	struct errors errors;
};

static int value_of(const struct setup *s, size_t column)
{
	return *(const int *)((const char *)s + columns[column].offset);
}

/* How many values the column has; those behind the first GROUPS_MAX are left out. */
static int collect(struct group groups[GROUPS_MAX], size_t column, const struct setups *t,
		   const double *error, size_t stride)
{
	int count = 0;

	for (int i = 0; i < t->count; i++) {
		int value = value_of(&t->rows[i].setup, column), g = 0;

		while (g < count && groups[g].value != value)
			g++;
		if (g == GROUPS_MAX)
			continue;
		if (g == count)
			groups[count++] = (struct group){.value = value};
		errors_add(&groups[g].errors,
			   *(const double *)((const char *)error + (size_t)i * stride));
	}
	return count;
}

void errors_add_groups(struct text *out, const struct setups *t, const double *error,
		       size_t stride)
{
	for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
		struct group groups[GROUPS_MAX];
		int count = collect(groups, c, t, error, stride);

		for (int g = 0; g < count && count > 1; g++)
			if (groups[g].errors.count)
				text_addf(out,
					  "  %11s %6d: %5d rows, mean error %6.2f %%, bias "
					  "%+6.2f %%\n",
					  columns[c].name, groups[g].value,
					  groups[g].errors.count,
					  errors_mean(&groups[g].errors) * 100,
					  errors_bias(&groups[g].errors) * 100);
	}
}
