/*
 * reference_attention.c - attention and rotary positions in plain C, as their definitions
 * read; see reference.c. Probabilities are computed anew wherever they are needed.
 */
#include "base/half.h"
#include "base/util.h"
#include "device/cpu/reference.h"

#include <math.h>
#include <string.h>

/* A row of a head: its first element in the view. */
struct row {
	struct view v;
	size_t at;
};

static struct row row_of(struct view v, int row, int head, int width)
{
	return (struct row){v, (size_t)row * v.stride + (size_t)head * (size_t)width};
}

static double get(struct row r, int i)
{
	return (double)float_from(r.v.data, r.at + (size_t)i, r.v.type);
}

static void set(struct row r, int i, double value)
{
	float_to(r.v.data, r.at + (size_t)i, r.v.type, (float)value);
}

static double dot(struct row a, struct row b, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += get(a, i) * get(b, i);
	return sum;
}

/* One query of one head. */
struct query {
	const struct attention *a;
	int sequence, head, query;
};

static int row_in(const struct query *q)
{
	return q->sequence * q->a->queries + q->query;
}

static struct row of_query(const struct query *q, struct view v)
{
	return row_of(v, row_in(q), q->head, q->a->width);
}

static struct row of_key(const struct query *q, struct view v, int key)
{
	const struct attention *a = q->a;

	return row_of(v, q->sequence * a->keys + key, q->head / (a->heads / a->kv_heads),
		      a->width);
}

static double score(const struct query *q, int key)
{
	const struct attention *a = q->a;

	return (double)a->scale * dot(of_query(q, a->q), of_key(q, a->k, key), a->width);
}

/* What dropout makes of a probability. */
static double kept(const struct query *q, int key)
{
	const struct attention *a = q->a;
	struct dropout d = a->drop;

	d.columns = a->keys;
	if (d.p <= 0)
		return 1;
	if (!dropout_keeps(&d,
			   (a->first_row + row_in(q)) * a->all_heads + a->first_head + q->head,
			   key))
		return 0;
	return (double)dropout_factor(&d);
}

static void forward_query(const struct query *q, double *out)
{
	const struct attention *a = q->a;
	struct row saved = row_of(a->saved, row_in(q), q->head, 1);
	double most = -INFINITY, sum = 0;
	int keys = a->first + q->query + 1;

	memset(out, 0, (size_t)a->width * sizeof(*out));
	for (int k = 0; k < keys; k++)
		most = fmax(most, score(q, k));
	for (int k = 0; k < keys; k++) {
		double p = exp(score(q, k) - most), factor = kept(q, k);

		sum += p;
		for (int i = 0; i < a->width; i++)
			out[i] += p * factor * get(of_key(q, a->v, k), i);
	}
	for (int i = 0; i < a->width; i++)
		set(of_query(q, a->out), i, out[i] / sum);
	set(saved, 0, most + log(sum));
}

void reference_attention_forward(const struct attention *a, const struct attention_block *b,
				 const struct attention_block *next, float *scratch)
{
	struct query q = {a, b->sequence, b->head, b->query};

	(void)next;
	for (; q.query < b->query + b->n; q.query++)
		forward_query(&q, (double *)scratch);
}

/* A probability, and the gradient of its score. */
static void pair_gradients(const struct query *q, int key, double *p, double *ds)
{
	const struct attention *a = q->a;
	struct row saved = row_of(a->saved, row_in(q), q->head, 1), dout = of_query(q, a->dout);
	double factor = kept(q, key);
	double dp = factor * dot(dout, of_key(q, a->v, key), a->width);

	*p = exp(score(q, key) - get(saved, 0));
	*ds = *p * (dp - dot(dout, of_query(q, a->out), a->width));
	*p *= factor;
}

static void gradient_of_query(const struct query *q, double *dq)
{
	const struct attention *a = q->a;

	memset(dq, 0, (size_t)a->width * sizeof(*dq));
	for (int k = 0; k <= q->query; k++) {
		double p, ds;

		pair_gradients(q, k, &p, &ds);
		for (int i = 0; i < a->width; i++)
			dq[i] += ds * get(of_key(q, a->k, k), i);
	}
	for (int i = 0; i < a->width; i++)
		set(of_query(q, a->dq), i, dq[i] * (double)a->scale);
}

/* Of all query heads from first on that use it. */
static void gradient_of_key(const struct attention *a, int sequence, int first, int key,
			    double *dk, double *dv)
{
	struct query q = {a, sequence, first, 0};

	memset(dk, 0, (size_t)a->width * sizeof(*dk));
	memset(dv, 0, (size_t)a->width * sizeof(*dv));
	for (; q.head < first + a->heads / a->kv_heads; q.head++)
		for (q.query = key; q.query < a->queries; q.query++) {
			double p, ds;

			pair_gradients(&q, key, &p, &ds);
			for (int i = 0; i < a->width; i++) {
				dk[i] += ds * get(of_query(&q, a->q), i);
				dv[i] += p * get(of_query(&q, a->dout), i);
			}
		}
	q.head = first;
	for (int i = 0; i < a->width; i++) {
		set(of_key(&q, a->dk, key), i, dk[i] * (double)a->scale);
		set(of_key(&q, a->dv, key), i, dv[i]);
	}
}

void reference_attention_backward(const struct attention *a, int sequence, int kv_head,
				  float *scratch)
{
	double *sums = (double *)scratch;
	int group = a->heads / a->kv_heads, first = kv_head * group;

	for (int h = first; h < first + group; h++)
		for (int r = 0; r < a->queries; r++) {
			struct query q = {a, sequence, h, r};

			gradient_of_query(&q, sums);
		}
	for (int k = 0; k < a->keys; k++)
		gradient_of_key(a, sequence, first, k, sums, sums + a->width);
}

void reference_rotary_angles(const double *turns, int position, int n, float *sines,
			     float *cosines)
{
	for (int i = 0; i < n; i++) {
		double angle = position * turns[i] * 2 * M_PI;

		sines[i] = (float)sin(angle);
		cosines[i] = (float)cos(angle);
	}
}

void reference_rotate(float *x, const float *sines, const float *cosines, int half)
{
	for (int i = 0; i < half; i++) {
		float a = x[i], b = x[i + half];

		x[i] = a * cosines[i] - b * sines[i];
		x[i + half] = b * cosines[i] + a * sines[i];
	}
}
