/* loss.c - see loss.h */
#include "model/loss.h"

struct target target_from(const struct target *t, size_t row)
{
	return (struct target){view_from(t->values, row), t->labels ? t->labels + row : NULL};
}

static double all_columns(int columns)
{
	return columns;
}

static double one_term(int columns)
{
	(void)columns;
	return 1;
}

static void run_mse(struct device *dev, struct view y, const struct target *t, struct view dy,
		    int rows, int columns, float scale, double *sum)
{
	device_mse(dev, y, t->values, dy, rows, columns, scale, sum);
}

static void run_cross_entropy(struct device *dev, struct view y, const struct target *t,
			      struct view dy, int rows, int columns, float scale, double *sum)
{
	device_cross_entropy(dev, y, t->labels, dy, rows, columns, scale, sum);
}

const struct loss loss_mse = {.name = "mse", .terms = all_columns, .run = run_mse};

const struct loss loss_cross_entropy = {
	.name = "cross-entropy", .labelled = true, .terms = one_term, .run = run_cross_entropy};
