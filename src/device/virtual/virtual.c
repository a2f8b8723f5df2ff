/*
 * virtual.c - a device that computes nothing: an operation takes the time that its cost
 * says, asleep. Its memory is an account of addresses with nothing behind them.
 *
 *   virtual:gflops=100,bandwidth=20GB/s,mem=2GiB,link=1GB/s,latency=50us,
 *           slow=RANK:FACTOR,slow-link=A-B:FACTOR
 *
 * What moves data more than it computes takes bytes / bandwidth, if one is given.
 */
#include "base/text.h"
#include "base/units.h"
#include "base/util.h"
#include "device/impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct machine {
	struct pace *pace;
	struct pace own; /* where nobody else has one */
	struct links links;
	double gflops, bandwidth; /* bandwidth in bytes per ns; 0: moving data takes no time */
	uint64_t memory;	  /* limit, or 0 */
	int rank, ranks;	  /* this one, of how many */
	double slowness;	  /* of this rank */
	bool stray;		  /* what was parsed names a rank that is not there */
	char *next;		  /* address to be handed out */
};

/* ---- the specification ---- */

/* "1GB/s" */
static bool parse_rate(const char *text, double *bytes_per_ns)
{
	char buf[64];
	size_t n = strlen(text);
	uint64_t bytes;

	if (n < 3 || n >= sizeof(buf) || strcmp(text + n - 2, "/s"))
		return false;
	memcpy(buf, text, n - 2);
	buf[n - 2] = '\0';
	if (!units_parse_size(buf, &bytes) || !bytes)
		return false;
	*bytes_per_ns = (double)bytes * 1e-9;
	return true;
}

static bool parse_positive(const char *text, double *out)
{
	double value;

	if (!units_parse_float(text, &value) || !(value > 0) || !isfinite(value))
		return false;
	*out = value;
	return true;
}

/* "3:2.5" or, with two ranks, "1-2:10". */
static bool parse_slow(const char *text, int *a, int *b, double *factor)
{
	char buf[64], *colon, *dash;
	int64_t first, second = 0;

	if (snprintf(buf, sizeof(buf), "%s", text) >= (int)sizeof(buf))
		return false;
	colon = strchr(buf, ':');
	if (!colon)
		return false;
	*colon = '\0';
	dash = b ? strchr(buf, '-') : NULL;
	if (b && !dash)
		return false;
	if (dash)
		*dash = '\0';
	if (!units_parse_int(buf, &first) || (dash && !units_parse_int(dash + 1, &second)) ||
	    first < 0 || second < 0 || first > 1 << 20 || second > 1 << 20)
		return false;
	*a = (int)first;
	if (b)
		*b = (int)second;
	return parse_positive(colon + 1, factor);
}

static bool parse_slow_link(struct machine *m, const char *value)
{
	struct links *l = &m->links;

	if (l->n_slow == SLOW_LINKS_MAX ||
	    !parse_slow(value, &l->slow[l->n_slow].a, &l->slow[l->n_slow].b,
			&l->slow[l->n_slow].factor))
		return false;
	m->stray = imax(l->slow[l->n_slow].a, l->slow[l->n_slow].b) >= m->ranks ||
		   l->slow[l->n_slow].a == l->slow[l->n_slow].b;
	l->n_slow++;
	return true;
}

static bool parse_key(struct machine *m, const char *key, const char *value)
{
	double number;
	int slow;

	if (!strcmp(key, "gflops"))
		return parse_positive(value, &m->gflops);
	if (!strcmp(key, "bandwidth"))
		return parse_rate(value, &m->bandwidth);
	if (!strcmp(key, "mem"))
		return units_parse_size(value, &m->memory) && m->memory;
	if (!strcmp(key, "link")) {
		if (!parse_rate(value, &number))
			return false;
		m->links.ns_per_byte = 1 / number;
		return true;
	}
	if (!strcmp(key, "latency")) {
		if (!units_parse_time(value, &number) || number < 0)
			return false;
		m->links.latency_ns = number * 1e6;
		return true;
	}
	if (!strcmp(key, "slow-link"))
		return parse_slow_link(m, value);
	if (strcmp(key, "slow") || !parse_slow(value, &slow, NULL, &number))
		return false;
	if (slow == m->rank)
		m->slowness = number;
	m->stray = slow >= m->ranks;
	return true;
}

static enum status parse(struct machine *m, const char *spec, struct error *err)
{
	char *copy = strdup(spec), *at = copy, *word;
	enum status st = OK;

	if (!copy)
		return FAIL(err, ERR_MEMORY, "no memory for the device '%s'", spec);
	while (st == OK && (word = strsep(&at, ","))) {
		char *value = strchr(word, '=');

		if (value)
			*value++ = '\0';
		if (value && parse_key(m, word, value)) {
			if (!m->stray)
				continue;
			st = FAIL(err, ERR_USAGE, "--device: '%s=%s' is not in this run", word,
				  value);
			HINT(err, "ranks go from 0 to %d, and a link has two ends",
			     m->ranks - 1);
			break;
		}
		st = FAIL(err, ERR_USAGE, "a virtual device can't have '%s%s%s'", word,
			  value ? "=" : "", value ? value : "");
		HINT(err, "such as virtual:gflops=100,bandwidth=20GB/s,mem=2GiB,link=1GB/s,"
			  "latency=50us,slow=RANK:FACTOR,slow-link=A-B:FACTOR");
	}
	free(copy);
	return st;
}

/* ---- the device ---- */

static enum status virtual_open(struct device *dev, const char *spec,
				const struct device_options *o, struct error *err)
{
	struct machine *m = calloc(1, sizeof(*m));
	const char *words = strchr(spec, ':');
	enum status st = OK;

	if (!m)
		return FAIL(err, ERR_MEMORY, "no memory for the device '%s'", spec);
	*m = (struct machine){.gflops = 100,
			      .slowness = 1,
			      .rank = o->rank,
			      .ranks = imax(1, o->ranks),
			      .next = (char *)4096};
	if (words)
		TRY(parse(m, words + 1, err));
	m->pace = o->pace ? o->pace : &m->own;
	pace_make_virtual(m->pace);
	if (m->memory && (!dev->account.limit || m->memory < dev->account.limit))
		dev->account.limit = m->memory;
	dev->links = &m->links;
	dev->threads = dev->cores = 1;
	snprintf(dev->description, sizeof(dev->description),
		 "virtual: %g GFLOP/s, links of %.3g GB/s and %g us", m->gflops,
		 m->links.ns_per_byte > 0 ? 1 / m->links.ns_per_byte : INFINITY,
		 m->links.latency_ns * 1e-3);
	dev->state = m;
	m = NULL; /* the device's now */
out:
	free(m);
	return st;
}

static void virtual_close(struct device *dev)
{
	free(dev->state);
}

static void *virtual_map(struct device *dev, uint64_t bytes)
{
	struct machine *m = dev->state;
	char *at = m->next;

	m->next += bytes;
	return at;
}

static void virtual_unmap(struct device *dev, void *memory, uint64_t bytes)
{
	(void)dev;
	(void)memory;
	(void)bytes;
}

static enum status virtual_reserve(struct device *dev, int rows, int width, struct error *err)
{
	(void)dev;
	(void)rows;
	(void)width;
	(void)err;
	return OK;
}

static void virtual_parallel(struct device *dev, void (*fn)(void *, int, int), void *arg)
{
	(void)dev;
	fn(arg, 0, 1);
}

static size_t virtual_matrix_size(int out, int in)
{
	return (size_t)out * (size_t)in;
}

static void virtual_matrix_write(struct device *dev, void *matrix, enum dtype type, int out,
				 int in, int row, int rows, const float *values)
{
	(void)dev, (void)matrix, (void)type, (void)out, (void)in, (void)row, (void)rows;
	(void)values;
}

static void virtual_matrix_read(struct device *dev, const void *matrix, enum dtype type,
				int out, int in, int row, int rows, float *values)
{
	(void)dev, (void)matrix, (void)type, (void)out, (void)row;
	memset(values, 0, (size_t)rows * (size_t)in * sizeof(float));
}

/* ---- what takes time ---- */

static void take_time(struct device *dev, double flops, double bytes)
{
	struct machine *m = dev->state;
	double ns = flops / m->gflops;

	if (m->bandwidth > 0)
		ns = fmax(ns, bytes / m->bandwidth);
	pace_spend(m->pace, (int64_t)(ns * m->slowness));
}

static void product(struct device *dev, const struct linear *l)
{
	double rows = l->rows, out = l->out, in = l->in;

	take_time(dev, 2 * rows * out * in,
		  out * in * (double)dtype_size(l->type) +
			  rows * (out * (double)dtype_size(l->y.type) +
				  in * (double)dtype_size(l->x.type)));
}

static void move(struct device *dev, double elements, enum dtype type, int times)
{
	take_time(dev, 0, elements * (double)dtype_size(type) * times);
}

static void virtual_copy(struct device *dev, struct view to, int to_column, struct view from,
			 int from_column, int rows, int columns)
{
	(void)to_column, (void)from, (void)from_column;
	move(dev, (double)rows * columns, to.type, 2);
}

static void virtual_activate(struct device *dev, struct view y, struct view bias,
			     struct view before, int rows, int columns, enum activation act)
{
	(void)bias, (void)act;
	move(dev, (double)rows * columns, y.type, before.data ? 3 : 2);
}

static void virtual_derive(struct device *dev, struct view dy, struct view saved, int rows,
			   int columns, enum activation act)
{
	(void)saved, (void)act;
	move(dev, (double)rows * columns, dy.type, 3);
}

static void virtual_add(struct device *dev, struct view to, struct view from, int rows,
			int columns)
{
	(void)from;
	move(dev, (double)rows * columns, to.type, 3);
}

static void virtual_dropout(struct device *dev, struct view to, struct view from, int rows,
			    int columns, const struct dropout *d)
{
	(void)from, (void)d;
	move(dev, (double)rows * columns, to.type, 2);
}

static void virtual_norm_forward(struct device *dev, const struct norm *n)
{
	move(dev, (double)n->rows * n->columns, n->x.type, 2);
}

static void virtual_norm_backward_input(struct device *dev, const struct norm *n)
{
	move(dev, (double)n->rows * n->columns, n->x.type, 3);
}

static void virtual_norm_backward_weight(struct device *dev, const struct norm *n)
{
	move(dev, (double)n->rows * n->columns, n->x.type, 2);
}

/* Nothing is computed: what kernels yield is nowhere, and who reads it gets zeros. */
static void virtual_write(struct device *dev, void *memory, enum dtype type, size_t n,
			  const float *values)
{
	(void)dev, (void)memory, (void)type, (void)n, (void)values;
}

static void virtual_read(struct device *dev, const void *memory, enum dtype type, size_t n,
			 float *values)
{
	(void)dev, (void)memory, (void)type;
	memset(values, 0, n * sizeof(*values));
}

static void virtual_clear(struct device *dev, double *numbers, size_t n)
{
	(void)dev, (void)numbers, (void)n;
}

static void virtual_numbers(struct device *dev, const double *numbers, size_t n, double *out)
{
	(void)dev, (void)numbers;
	memset(out, 0, n * sizeof(*out));
}

static void virtual_mse(struct device *dev, struct view y, struct view target, struct view dy,
			int rows, int columns, float scale, double *sum)
{
	(void)target, (void)dy, (void)scale, (void)sum;
	move(dev, (double)rows * columns, y.type, 3);
}

static void virtual_cross_entropy(struct device *dev, struct view y, const int32_t *labels,
				  struct view dy, int rows, int columns, float scale,
				  double *sum)
{
	(void)labels, (void)dy, (void)scale, (void)sum;
	move(dev, (double)rows * columns, y.type, 2);
}

static void virtual_count_correct(struct device *dev, struct view y, const int32_t *labels,
				  int rows, int columns, double *count)
{
	(void)labels, (void)count;
	move(dev, (double)rows * columns, y.type, 1);
}

static void virtual_update(struct device *dev, const struct update *u, size_t n,
			   double *squares)
{
	double bytes = 2 * sizeof(float) + (double)dtype_size(u->grad_type) +
		       (u->working ? (double)dtype_size(u->working_type) : 0) +
		       (u->m ? 2 * sizeof(float) : 0) + (u->v ? 2 * sizeof(float) : 0);

	(void)squares;
	take_time(dev, 0, bytes * (double)n);
}

static void virtual_sum_squares(struct device *dev, const void *x, enum dtype type, size_t n,
				double factor, double *sum)
{
	(void)x, (void)factor, (void)sum;
	move(dev, (double)n, type, 1);
}

static void virtual_cast(struct device *dev, const void *src, enum dtype from, void *dst,
			 enum dtype to, size_t n)
{
	(void)src, (void)dst;
	take_time(dev, 0, (double)(n * (dtype_size(from) + dtype_size(to))));
}

static double virtual_fma_rounds(struct device *dev, long n)
{
	double flops = 1e3 * (double)n;

	take_time(dev, flops, 0);
	return flops;
}

const struct device_ops device_virtual = {
	.name = "virtual",
	.open = virtual_open,
	.close = virtual_close,
	.map = virtual_map,
	.unmap = virtual_unmap,
	.reserve = virtual_reserve,
	.parallel = virtual_parallel,
	.matrix_size = virtual_matrix_size,
	.matrix_write = virtual_matrix_write,
	.matrix_read = virtual_matrix_read,
	.write = virtual_write,
	.read = virtual_read,
	.copy = virtual_copy,
	.forward = product,
	.backward_input = product,
	.backward_weight = product,
	.activate = virtual_activate,
	.derive = virtual_derive,
	.add = virtual_add,
	.dropout = virtual_dropout,
	.norm_forward = virtual_norm_forward,
	.norm_backward_input = virtual_norm_backward_input,
	.norm_backward_weight = virtual_norm_backward_weight,
	.clear = virtual_clear,
	.numbers = virtual_numbers,
	.mse = virtual_mse,
	.cross_entropy = virtual_cross_entropy,
	.count_correct = virtual_count_correct,
	.update = virtual_update,
	.sum_squares = virtual_sum_squares,
	.cast = virtual_cast,
	.fma_rounds = virtual_fma_rounds,
};
