/* partition.c - see partition.h */
#include "model/partition.h"
#include "base/units.h"
#include "base/util.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fill parts up to a limit from the front, leaving a layer for each part behind. Returns
   whether all layers found a place; first may be NULL. */
static bool fill(const struct model *m, int parts, double limit, int *first)
{
	int layer = 0;

	for (int k = 0; k < parts; k++) {
		double cost = model_layer_flops(m, layer);

		if (first)
			first[k] = layer;
		layer++;
		while (layer < m->count - (parts - 1 - k) &&
		       cost + model_layer_flops(m, layer) <= limit)
			cost += model_layer_flops(m, layer++);
	}
	if (first)
		first[parts] = layer;
	return layer == m->count;
}

/* The smallest limit that is enough: what the slowest part costs can't be less. */
static void balance(const struct model *m, int parts, int *first)
{
	double low = 0, high = model_flops(m);

	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (fill(m, parts, middle, NULL))
			high = middle;
		else
			low = middle;
	}
	fill(m, parts, high, first);
}

static enum status read_list(const struct model *m, const char *list, int parts, int *first,
			     struct error *err)
{
	char *copy = strdup(list), *rest = copy, *word;
	int n = 0, layer = 0;
	enum status st = OK;

	if (!copy)
		return FAIL(err, ERR_MEMORY, "no memory for --layers-per-stage");
	while ((word = strsep(&rest, ","))) {
		int64_t layers;

		if (!units_parse_int(word, &layers) || layers < 1 || layers > m->count) {
			FAIL(err, ERR_USAGE,
			     "--layers-per-stage: '%.32s' is no number of layers", word);
			st = HINT(err, "such as 3,3,2; each part has at least one");
			goto out;
		}
		if (n < parts)
			first[n] = layer;
		layer += (int)layers;
		n++;
	}
	if (n != parts || layer != m->count) {
		FAIL(err, ERR_USAGE,
		     "--layers-per-stage %.64s: %d numbers for %d parts, %d layers of %d", list,
		     n, parts, layer, m->count);
		st = m->tokens ? HINT(err,
				      "give %d numbers that add up to %d: embedding, blocks "
				      "and head",
				      parts, m->count)
			       : HINT(err, "give %d numbers that add up to --depth %d", parts,
				      m->count);
		goto out;
	}
	first[parts] = layer;
out:
	free(copy);
	return st;
}

enum status partition_init(struct partition *p, const struct model *m, int stages, int chunks,
			   const char *list, struct error *err)
{
	enum status st = OK;
	int parts = stages * chunks;

	*p = (struct partition){.stages = stages, .chunks = chunks};
	if (m->count < parts) {
		if (chunks > 1)
			FAIL(err, ERR_USAGE, "%d layers are fewer than %d stages of %d chunks",
			     m->count, stages, chunks);
		else
			FAIL(err, ERR_USAGE, "%d layers are fewer than %d stages", m->count,
			     stages);
		if (m->tokens)
			return HINT(err,
				    "every stage needs one, embedding and head are layers "
				    "too: use --layers %d or more, or fewer stages",
				    parts - 2);
		return HINT(err,
			    "every stage needs a layer: use a depth of %d or more, or fewer "
			    "stages",
			    parts);
	}
	p->first = calloc((size_t)parts + 1, sizeof(int));
	if (!p->first)
		return FAIL(err, ERR_MEMORY, "no memory for %d stages", stages);
	if (*list)
		TRY(read_list(m, list, parts, p->first, err));
	else
		balance(m, parts, p->first);
	assert(p->first[0] == 0 && p->first[parts] == m->count);
	for (int k = 0; k < parts; k++)
		assert(p->first[k] < p->first[k + 1]); /* every layer once, no part empty */
out:
	if (st != OK)
		partition_release(p);
	return st;
}

void partition_release(struct partition *p)
{
	free(p->first);
	p->first = NULL;
}

int partition_part_of(const struct partition *p, int layer)
{
	int k = 0;

	while (p->first[k + 1] <= layer)
		k++;
	return k;
}
