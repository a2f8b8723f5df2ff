/* digest.c - see digest.h */
#include "engine/digest.h"
#include "engine/collect.h"
#include "engine/impl.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b, void *model)
{
	const struct tensor *tensors = ((const struct model *)model)->tensors;

	return strcmp(tensors[*(const int *)a].name, tensors[*(const int *)b].name);
}

static enum status take(void *arg, int tensor, const float *values, size_t count,
			struct error *err)
{
	(void)tensor;
	(void)err;
	sha256_add(arg, values, count * sizeof(*values));
	return OK;
}

bool digest_is_cheap(const struct engine *e)
{
	return e->weights.type == DTYPE_F32 || !e->sync.zero || e->passage.flat;
}

enum status digest_weights(struct engine *e, char text[SHA256_TEXT], struct error *err)
{
	struct model *m = (struct model *)(uintptr_t)e->options.model;
	int *order = calloc((size_t)m->n_tensors + 1, sizeof(*order));
	struct sha256 sum = {0};
	enum status st;

	if (!order)
		return FAIL(err, ERR_MEMORY, "no memory for the order of %d tensors",
			    m->n_tensors);
	for (int i = 0; i < m->n_tensors; i++)
		order[i] = i;
	qsort_r(order, (size_t)m->n_tensors, sizeof(*order), by_name, m);
	TRY(sha256_begin(&sum, err));
	TRY(collect_in_order(e, 0, order, take, &sum, err));
	sha256_end(&sum, text);
out:
	sha256_drop(&sum);
	free(order);
	return st;
}
