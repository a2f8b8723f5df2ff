/* partition.c - see partition.h and shape.h */
#include "model/partition.h"
#include "base/units.h"
#include "base/util.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t shape_parameters(const struct model_shape *s)
{
	int64_t n = 0;

	for (int i = 0; i < s->depth; i++)
		n += ((int64_t)shape_in(s, i) + 1) * shape_out(s, i);
	return n;
}

double shape_layer_flops(const struct model_shape *s, int layer)
{
	return (layer ? 6.0 : 4.0) * shape_in(s, layer) * shape_out(s, layer);
}

double shape_flops(const struct model_shape *s)
{
	double n = 0;

	for (int i = 0; i < s->depth; i++)
		n += shape_layer_flops(s, i);
	return n;
}

/* Fill parts up to a limit from the front, leaving a layer for each part behind. Returns
   whether all layers found a place; first may be NULL. */
static bool fill(const struct model_shape *shape, int parts, double limit, int *first)
{
	int layer = 0;

	for (int k = 0; k < parts; k++) {
		double cost = shape_layer_flops(shape, layer);

		if (first)
			first[k] = layer;
		layer++;
		while (layer < shape->depth - (parts - 1 - k) &&
		       cost + shape_layer_flops(shape, layer) <= limit)
			cost += shape_layer_flops(shape, layer++);
	}
	if (first)
		first[parts] = layer;
	return layer == shape->depth;
}

/* The smallest limit that is enough: what the slowest part costs can't be less. */
static void balance(const struct model_shape *shape, int parts, int *first)
{
	double low = 0, high = shape_flops(shape);

	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (fill(shape, parts, middle, NULL))
			high = middle;
		else
			low = middle;
	}
	fill(shape, parts, high, first);
}

static enum status read_list(const struct model_shape *shape, const char *list, int parts,
			     int *first, struct error *err)
{
	char *copy = strdup(list), *rest = copy, *word;
	int n = 0, layer = 0;
	enum status st = OK;

	if (!copy)
		return FAIL(err, ERR_MEMORY, "no memory for --layers-per-stage");
	while ((word = strsep(&rest, ","))) {
		int64_t layers;

		if (!units_parse_int(word, &layers) || layers < 1 || layers > shape->depth) {
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
	if (n != parts || layer != shape->depth) {
		FAIL(err, ERR_USAGE,
		     "--layers-per-stage %.64s: %d numbers for %d parts, %d layers of %d", list,
		     n, parts, layer, shape->depth);
		st = HINT(err, "give %d numbers that add up to --depth %d", parts,
			  shape->depth);
		goto out;
	}
	first[parts] = layer;
out:
	free(copy);
	return st;
}

enum status partition_init(struct partition *p, const struct model_shape *shape, int stages,
			   int chunks, const char *list, struct error *err)
{
	enum status st = OK;
	int parts = stages * chunks;

	*p = (struct partition){.stages = stages, .chunks = chunks};
	if (shape->depth < parts) {
		if (chunks > 1)
			FAIL(err, ERR_USAGE,
			     "--depth %d is fewer layers than %d stages of %d chunks",
			     shape->depth, stages, chunks);
		else
			FAIL(err, ERR_USAGE, "--depth %d is fewer layers than --pp %d stages",
			     shape->depth, stages);
		return HINT(
			err,
			"every stage needs a layer: use --depth %d or more, or fewer stages",
			parts);
	}
	p->first = calloc((size_t)parts + 1, sizeof(int));
	if (!p->first)
		return FAIL(err, ERR_MEMORY, "no memory for %d stages", stages);
	if (*list)
		TRY(read_list(shape, list, parts, p->first, err));
	else
		balance(shape, parts, p->first);
	assert(p->first[0] == 0 && p->first[parts] == shape->depth);
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

static enum status not_split(int dim, int mp, struct error *err)
{
	char list[128] = "";
	int n = 0;

	for (int i = 2; i <= dim && n < 90; i++)
		if (dim % i == 0)
			n += snprintf(list + n, sizeof(list) - (size_t)n, "%s%d", n ? ", " : "",
				      i);
	FAIL(err, ERR_USAGE, "--dim %d does not divide by --mp %d", dim, mp);
	return HINT(err, "--mp %s would fit, or --dim %d", *list ? list : "1",
		    (dim + mp - 1) / mp * mp);
}

enum status partition_check_split(const struct model_shape *shape, int mp, struct error *err)
{
	if (mp == 1)
		return OK;
	if (shape->depth > 1 && shape->dim % mp)
		return not_split(shape->dim, mp, err);
	/* The last of an odd number is split by columns. */
	if (shape->depth % 2 && shape->out % mp) {
		FAIL(err, ERR_USAGE,
		     "--depth %d: the last layer's %d outputs do not divide by --mp %d",
		     shape->depth, shape->out, mp);
		return HINT(err,
			    "use an even --depth: the last layer is then split by its inputs");
	}
	return OK;
}
