/*
 * test_attention.c - attention of every table against its definition in double, its gradients
 * against differences of that and against the reference.
 */
#include "attentions.h"

/* ---- the definition ---- */

static double plain_score(const struct fixture *f, int s, int h, int query, int key)
{
	const struct attention *a = &f->a;
	double sum = 0;

	for (int i = 0; i < a->width; i++)
		sum += of(&f->q, s * a->queries + query, h * a->width + i) *
		       of(&f->k, s * a->keys + key, kv_head(a, h) * a->width + i);
	return sum * (double)a->scale;
}

static double plain_kept(const struct attention *a, int s, int h, int query, int key)
{
	struct dropout d = a->drop;
	int64_t row =
		(a->first_row + s * a->queries + query) * a->all_heads + a->first_head + h;

	d.columns = a->keys;
	return d.p <= 0 ? 1 : !dropout_keeps(&d, row, key) ? 0 : 1 / (1 - d.p);
}

/* out, and what is saved, of one query of a head. */
static double plain_query(const struct fixture *f, int s, int h, int query, double *out)
{
	const struct attention *a = &f->a;
	int keys = a->first + query + 1;
	double *p = malloc((size_t)keys * sizeof(*p)), most = -INFINITY, sum = 0;

	memset(out, 0, (size_t)a->width * sizeof(*out));
	for (int k = 0; k < keys; k++)
		most = fmax(most, p[k] = plain_score(f, s, h, query, k));
	for (int k = 0; k < keys; k++)
		sum += p[k] = exp(p[k] - most);
	for (int k = 0; k < keys; k++)
		for (int i = 0; i < a->width; i++)
			out[i] += p[k] / sum * plain_kept(a, s, h, query, k) *
				  of(&f->v, s * a->keys + k, kv_head(a, h) * a->width + i);
	free(p);
	return most + log(sum);
}

static void check_forward(struct fixture *f)
{
	const struct attention *a = &f->a;
	double *out = malloc((size_t)a->width * sizeof(*out));

	run_forward(f);
	for (int s = 0; s < a->sequences; s++)
		for (int h = 0; h < a->heads; h++)
			for (int q = 0; q < a->queries; q++) {
				int row = s * a->queries + q;

				close_to(value(&f->saved, row, h), plain_query(f, s, h, q, out),
					 1e-5, "saved");
				for (int i = 0; i < a->width; i++)
					close_to(value(&f->out, row, h * a->width + i), out[i],
						 1e-5 + rounding(a->out.type), "out");
			}
	free(out);
}

/* The sum of dout * out over the heads that share a key head of a sequence. */
static double plain_sum(const struct fixture *f, int s, int kv)
{
	const struct attention *a = &f->a;
	int group = a->heads / a->kv_heads;
	double *out = malloc((size_t)a->width * sizeof(*out)), sum = 0;

	for (int h = kv * group; h < (kv + 1) * group; h++)
		for (int q = 0; q < a->queries; q++) {
			plain_query(f, s, h, q, out);
			for (int i = 0; i < a->width; i++)
				sum += out[i] *
				       value(&f->dout, s * a->queries + q, h * a->width + i);
		}
	free(out);
	return sum;
}

/* The derivative of that by an element of q, k or v. */
static double plain_slope(struct fixture *f, struct window *w, int row, int column, int kv)
{
	const float h = 0x1p-10f;
	float *x = &w->o->values[(size_t)row * w->o->v.stride + (size_t)(w->column + column)];
	float before = *x;
	double sum[2], moved[2];

	for (int i = 0; i < 2; i++) {
		*x = i ? before + h : before - h;
		moved[i] = (double)*x;
		sum[i] = plain_sum(f, row / f->a.queries, kv);
	}
	*x = before;
	return (sum[1] - sum[0]) / (moved[1] - moved[0]);
}

static void check_slopes(struct fixture *f, struct random *r)
{
	const struct attention *a = &f->a;
	struct window *of_what[] = {&f->q, &f->k, &f->v}, *got[] = {&f->dq, &f->dk, &f->dv};
	double tolerance = 2e-4 + 4 * rounding(a->out.type);

	for (int i = 0; i < 3; i++) {
		int heads = i == 0 ? a->heads : a->kv_heads;
		int h = random_int(r, 0, heads - 1), kv = i == 0 ? kv_head(a, h) : h;
		int row = random_int(r, 0, a->sequences * a->queries - 1);
		int column = h * a->width + random_int(r, 0, a->width - 1);

		close_to(of(got[i], row, column), plain_slope(f, of_what[i], row, column, kv),
			 tolerance,
			 i == 0	  ? "dq"
			 : i == 1 ? "dk"
				  : "dv");
	}
}

static void attention_is_as_defined(void **state)
{
	struct random r = random_start("definition");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++) {
		struct device *dev = attention_device("cpu", (*k)->name, 2);

		for (int i = 0; i < 40; i++) {
			struct shape shape = random_shape(&r, i < 4 ? 200 : 70);
			struct fixture f = fixture_new(dev, &r, &shape);

			check_forward(&f);
			if (shape.first == 0 && shape.queries == shape.keys) {
				run_backward(&f);
				check_slopes(&f, &r);
			}
			fixture_free(&f);
		}
		device_close(dev);
	}
}

/* ---- all elements, against the reference ---- */

static void compare(const struct operand *got, const struct operand *want, double tolerance,
		    const char *what)
{
	for (int r = 0; r < want->rows; r++)
		for (int c = 0; c < want->columns; c++)
			close_to(value(got, r, c), value(want, r, c), tolerance, what);
}

static void gradients_are_those_of_the_reference(void **state)
{
	struct random r = random_start("reference");
	struct device *plain = attention_device("cpu", "reference", 2);
	(void)state;

	for (int i = 0; i < 40; i++) {
		struct shape shape = random_training(&r, i < 6 ? 300 : 80);
		struct random again = r;
		struct fixture want = fixture_new(plain, &r, &shape);

		run_forward(&want);
		run_backward(&want);
		for (const struct kernels *const *k = kernels_available(); *k; k++) {
			struct device *dev = attention_device("cpu", (*k)->name, 2);
			struct fixture f;
			double tolerance = 5e-5 + 2 * rounding(shape.type);

			r = again;
			f = fixture_new(dev, &r, &shape);
			run_forward(&f);
			run_backward(&f);
			compare(&f.out, &want.out, 1e-5 + rounding(shape.type), "out");
			for (int m = 0; m < GRADIENTS; m++)
				compare(&f.grads[m], &want.grads[m], tolerance, "a gradient");
			fixture_free(&f);
			device_close(dev);
		}
		fixture_free(&want);
	}
	device_close(plain);
}

static void what_is_no_number_stays_so(void **state)
{
	struct random r = random_start("no number");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++) {
		struct device *dev = attention_device("cpu", (*k)->name, 1);

		for (int i = 0; i < 5; i++) {
			struct shape shape = random_training(&r, 90);
			struct fixture f = fixture_new(dev, &r, &shape);
			int row = random_int(&r, 0, shape.queries - 1);

			f.q.o->values[(size_t)row * f.q.o->v.stride + (size_t)f.q.column] =
				i % 2 ? NAN : INFINITY;
			operand_write(dev, f.q.o);
			run_forward(&f);
			assert_true(isnan(value(&f.out, row, 0)));
			fixture_free(&f);
		}
		device_close(dev);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attention_is_as_defined),
		cmocka_unit_test(gradients_are_those_of_the_reference),
		cmocka_unit_test(what_is_no_number_stays_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
