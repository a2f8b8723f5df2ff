/* idx.c - see table.h. An IDX file: 00 00 type dims, big-endian sizes, data. */
#include "data/table.h"
#include "base/util.h"
#include "data/load.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { IDX_UNSIGNED_BYTE = 0x08 };

struct idx {
	int64_t count;	  /* the first size */
	int64_t features; /* the product of the others */
	const unsigned char *data;
};

static enum status parse(struct idx *x, const void *bytes, size_t size, const char *where,
			 struct error *err)
{
	const unsigned char *p = bytes;
	int dims;
	uint64_t total = 1;

	if (size < 4 || p[0] || p[1]) {
		FAIL(err, ERR_USAGE, "%s is not an IDX file: it must begin with two zero bytes",
		     where);
		return HINT(err, "give the images and the labels in MNIST's format");
	}
	if (p[2] != IDX_UNSIGNED_BYTE) {
		FAIL(err, ERR_USAGE, "%s holds elements of type 0x%02x", where, p[2]);
		return HINT(err, "only unsigned bytes (0x08) are read");
	}
	dims = p[3];
	if (dims < 1 || size < 4 + 4 * (size_t)dims)
		return FAIL(err, ERR_USAGE,
			    "%s has %d dimensions and %zu bytes: the header is cut", where,
			    dims, size);
	*x = (struct idx){.features = 1, .data = p + 4 + 4 * dims};
	for (int i = 0; i < dims; i++) {
		const unsigned char *q = p + 4 + 4 * i;
		uint64_t n = (uint64_t)q[0] << 24 | (uint64_t)q[1] << 16 | (uint64_t)q[2] << 8 |
			     q[3];

		if (!n || __builtin_mul_overflow(total, n, &total) || total > SIZE_MAX / 8)
			return FAIL(err, ERR_USAGE, "%s: dimension %d has size %llu", where,
				    i + 1, (unsigned long long)n);
		if (i == 0)
			x->count = (int64_t)n;
		else
			x->features *= (int64_t)n;
	}
	if (size - 4 - 4 * (size_t)dims != total) {
		FAIL(err, ERR_USAGE, "%s should hold %llu bytes of data and holds %zu", where,
		     (unsigned long long)total, size - 4 - 4 * (size_t)dims);
		return HINT(err, "the file is cut or not what its header says");
	}
	return OK;
}

static enum status fill(struct table *t, const struct idx *images, const struct idx *labels,
			struct error *err)
{
	int64_t n = images->count * images->features;

	assert(n > 0); /* parse refuses empty dimensions */
	t->values = calloc((size_t)n, sizeof(float));
	t->labels = labels ? calloc((size_t)images->count, sizeof(*t->labels)) : NULL;
	if (!t->values || (labels && !t->labels))
		return FAIL(err, ERR_MEMORY, "no memory for %lld images",
			    (long long)images->count);
	for (int64_t i = 0; i < n; i++)
		t->values[i] = (float)images->data[i] / 255;
	for (int64_t i = 0; labels && i < labels->count; i++) {
		t->labels[i] = labels->data[i];
		t->outputs = imax(t->outputs, labels->data[i] + 1);
	}
	t->labelled = labels;
	t->samples = images->count;
	t->features = (int)images->features;
	return OK;
}

static enum status parse_labels(struct idx *y, const struct idx *x, const void *labels,
				size_t size, const char *where, struct error *err)
{
	char name[256];
	enum status st;

	snprintf(name, sizeof(name), "%s (labels)", where);
	TRY(parse(y, labels, size, name, err));
	if (y->features != 1 || y->count != x->count) {
		st = FAIL(err, ERR_USAGE, "%s: %lld images but %lld labels of %lld bytes",
			  where, (long long)x->count, (long long)y->count,
			  (long long)y->features);
		HINT(err, "give the images first, then the labels that belong to them");
	}
out:
	return st;
}

enum status table_parse_idx(struct table *t, const void *images, size_t images_size,
			    const void *labels, size_t labels_size, const char *where,
			    struct error *err)
{
	enum status st;
	struct idx x = {0}, y = {0};
	char name[256];

	*t = (struct table){0};
	snprintf(name, sizeof(name), "%s (images)", where);
	TRY(parse(&x, images, images_size, name, err));
	if (x.features > TABLE_FEATURES_MAX) {
		st = FAIL(err, ERR_USAGE, "%s: images of %lld bytes are too large", where,
			  (long long)x.features);
		goto out;
	}
	if (labels)
		TRY(parse_labels(&y, &x, labels, labels_size, where, err));
	TRY(fill(t, &x, labels ? &y : NULL, err));
out:
	if (st != OK)
		table_release(t);
	return st;
}

static enum status read_files(struct table *t, const char *images, const char *labels,
			      struct error *err)
{
	enum status st;
	char *x = NULL, *y = NULL;
	size_t x_size, y_size = 0;

	*t = (struct table){0};
	TRY(data_load(images, &x, &x_size, err));
	if (labels)
		TRY(data_load(labels, &y, &y_size, err));
	TRY(table_parse_idx(t, x, x_size, y, y_size, images, err));
out:
	free(y);
	free(x);
	return st;
}

/* Regression on the number of the class. */
static enum status labels_to_targets(struct table *t, struct error *err)
{
	t->targets = calloc((size_t)t->samples, sizeof(*t->targets));
	if (!t->targets)
		return FAIL(err, ERR_MEMORY, "no memory for %lld targets",
			    (long long)t->samples);
	for (int64_t i = 0; i < t->samples; i++)
		t->targets[i] = (float)t->labels[i];
	free(t->labels);
	t->labels = NULL;
	t->labelled = false;
	t->outputs = 1;
	return OK;
}

/* Pixels are columns without names, the label is behind them. */
static enum status describe(const struct table *t, struct data_form *f, struct error *err)
{
	enum status st;

	TRY(data_form_init(f, t->features, 1, t->labelled ? t->outputs : 0, err));
	f->source = SOURCE_IS_IDX;
	f->columns = t->features + 1;
	for (int i = 0; i < t->features; i++)
		f->features[i].number = i + 1;
	f->targets[0].number = f->columns;
	for (int k = 0; k < f->n_classes; k++)
		if (asprintf(&f->classes[k], "%d", k) < 0)
			return FAIL(err, ERR_MEMORY, "no memory for %d names", f->n_classes);
out:
	return st;
}

enum status table_read_idx(struct table *t, struct data_form *f, const char *images,
			   const char *labels, enum data_task task, struct error *err)
{
	enum status st;

	*f = (struct data_form){0};
	TRY(read_files(t, images, labels, err));
	if (t->outputs < 2) {
		st = FAIL(err, ERR_USAGE, "%s: every label is 0", labels);
		HINT(err, "classification needs at least two classes");
		goto out;
	}
	if (task == TASK_REGRESSION)
		TRY(labels_to_targets(t, err));
	TRY(describe(t, f, err));
out:
	if (st != OK) {
		table_release(t);
		data_form_release(f);
	}
	return st;
}

enum status table_read_idx_like(struct table *t, const struct data_form *f, const char *images,
				const char *labels, struct error *err)
{
	enum status st;

	TRY(read_files(t, images, labels, err));
	if (t->features != f->n_features) {
		FAIL(err, ERR_USAGE, "%s has images of %d pixels, %d were trained with", images,
		     t->features, f->n_features);
		st = HINT(err, "give images of the same size");
		goto out;
	}
	if (f->labelled && t->outputs > f->n_classes) {
		FAIL(err, ERR_USAGE,
		     "%s has the label %d, the classes that were trained are "
		     "0 to %d",
		     labels, t->outputs - 1, f->n_classes - 1);
		st = HINT(err, "give the labels that belong to the images");
		goto out;
	}
	if (!f->labelled && labels)
		TRY(labels_to_targets(t, err));
	t->labelled = f->labelled;
	t->outputs = f->labelled ? f->n_classes : f->n_targets;
out:
	if (st != OK)
		table_release(t);
	return st;
}
