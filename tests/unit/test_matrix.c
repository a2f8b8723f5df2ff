/*
 * test_matrix.c - the matrix products of every kernel table against the plain
 * reference: random shapes, edge shapes, windows of larger matrices, cut in parts as
 * threads would.
 */
#include "matrices.h"

enum { GUARD = 32 }; /* floats around every operand that must stay as they are */

static const float guard_value = 12345.0f;

struct matrix {
	float *memory;
	size_t total;
	struct view v;
	int rows, columns;
};

static struct matrix matrix_new(struct random *r, int rows, int columns)
{
	struct matrix m = {.rows = rows, .columns = columns};

	m.v.stride = (size_t)(columns + random_int(r, 0, 19));
	m.total = (size_t)rows * m.v.stride + 2 * GUARD;
	m.memory = malloc(m.total * sizeof(float));
	for (size_t i = 0; i < m.total; i++)
		m.memory[i] = guard_value;
	/* Any alignment: a view may begin anywhere. */
	m.v.data = m.memory + random_int(r, 1, GUARD);
	for (int i = 0; i < rows; i++)
		random_fill(r, view_from(m.v, (size_t)i).data, (size_t)columns);
	return m;
}

static struct matrix matrix_copy(const struct matrix *from)
{
	struct matrix m = *from;

	m.memory = malloc(m.total * sizeof(float));
	memcpy(m.memory, from->memory, m.total * sizeof(float));
	m.v.data = m.memory + ((float *)from->v.data - from->memory);
	return m;
}

/* Equal within tolerance inside the view, untouched outside of it. */
static void matrix_check(const struct matrix *got, const struct matrix *want, double tolerance,
			 const char *what)
{
	size_t first = (size_t)((float *)got->v.data - got->memory);

	for (size_t i = 0; i < got->total; i++) {
		bool inside = i >= first && i < first + (size_t)got->rows * got->v.stride &&
			      (i - first) % got->v.stride < (size_t)got->columns;
		double difference = fabs((double)got->memory[i] - want->memory[i]);

		if (!inside && got->memory[i] != guard_value)
			fail_msg("%s wrote outside of its view", what);
		if (inside && !(difference <= tolerance * (1 + fabs((double)want->memory[i]))))
			fail_msg("%s: element %zu is %.9g, should be %.9g", what, i - first,
				 (double)got->memory[i], (double)want->memory[i]);
	}
}

static float *packed_weights(struct random *r, int out, int in)
{
	size_t n = layout_size(out, in);
	float *w = aligned_alloc(64, (size_t)round_up((int64_t)(n * sizeof(float)), 64));

	memset(w, 0, n * sizeof(float));
	for (int o = 0; o < out; o++)
		for (int i = 0; i < in; i++)
			random_fill(r, &w[layout_index(out, in, o, i)], 1);
	return w;
}

/* Rounding of a sum of n products of numbers up to 1. */
static double sum_tolerance(int n)
{
	return 2e-6 + 1.5e-7 * n;
}

static void check_forward(const struct kernels *k, struct random *r, int rows, int out, int in)
{
	struct matrix x = matrix_new(r, rows, in), y = matrix_new(r, rows, out), y2;
	struct matrix z = matrix_new(r, rows, out), z2 = matrix_copy(&z);
	float *w = packed_weights(r, out, in), *bias = malloc((size_t)out * sizeof(float));
	struct linear l = {.rows = rows,
			   .out = out,
			   .in = in,
			   .weight = w,
			   .x = x.v,
			   .act = (enum activation)random_int(r, 0, ACT_COUNT - 1)};
	bool keep = activation_saves(l.act) == ACT_SAVES_INPUT;

	y2 = matrix_copy(&y);
	random_fill(r, bias, (size_t)out);
	l.bias = random_int(r, 0, 3) ? bias : NULL;
	l.y = y.v;
	l.saved = keep ? z.v : (struct view){0};
	run_panels(k->forward, &l, r);
	l.y = y2.v;
	l.saved = keep ? z2.v : (struct view){0};
	run_panels(kernels_reference.forward, &l, r);
	matrix_check(&y, &y2, sum_tolerance(in), "forward");
	matrix_check(&z, &z2, sum_tolerance(in), "forward's value before the activation");
	free(x.memory);
	free(y.memory);
	free(y2.memory);
	free(z.memory);
	free(z2.memory);
	free(w);
	free(bias);
}

static void check_backward_input(const struct kernels *k, struct random *r, int rows, int out,
				 int in)
{
	struct matrix dx = matrix_new(r, rows, in), dx2 = matrix_copy(&dx);
	struct matrix dy = matrix_new(r, rows, out), dy2 = matrix_copy(&dy);
	struct matrix saved = matrix_new(r, rows, out);
	float *w = packed_weights(r, out, in);
	struct linear l = {.rows = rows,
			   .out = out,
			   .in = in,
			   .weight = w,
			   .y = dy.v,
			   .saved = saved.v,
			   .act = (enum activation)random_int(r, 0, ACT_COUNT - 1)};

	l.x = dx.v;
	run_backward_input(k, &l, r);
	l.x = dx2.v;
	l.y = dy2.v;
	run_backward_input(&kernels_reference, &l, r);
	matrix_check(&dx, &dx2, sum_tolerance(out), "input gradient");
	matrix_check(&dy, &dy2, 2e-6, "gradient before the activation");
	free(dx.memory);
	free(dx2.memory);
	free(dy.memory);
	free(dy2.memory);
	free(saved.memory);
	free(w);
}

/* Weight gradients agree, and padding stays zero. */
static void check_packed(const float *got, const float *want, int out, int in, int rows)
{
	size_t n = layout_size(out, in);
	bool *real = calloc(n, sizeof(bool));

	for (int o = 0; o < out; o++)
		for (int i = 0; i < in; i++)
			real[layout_index(out, in, o, i)] = true;
	for (size_t i = 0; i < n; i++) {
		if (!real[i] && got[i] != 0)
			fail_msg("weight gradient: padding element %zu is %g", i,
				 (double)got[i]);
		if (real[i] && fabs((double)got[i] - want[i]) > sum_tolerance(rows) * 2)
			fail_msg("weight gradient: %.9g, should be %.9g", (double)got[i],
				 (double)want[i]);
	}
	free(real);
}

static void check_backward_weight(const struct kernels *k, struct random *r, int rows, int out,
				  int in)
{
	struct matrix x = matrix_new(r, rows, in), dy = matrix_new(r, rows, out);
	float *dw = packed_weights(r, out, in), *dw2 = packed_weights(r, out, in);
	float *db = malloc((size_t)out * sizeof(float)),
	      *db2 = malloc((size_t)out * sizeof(float));
	struct linear l = {.rows = rows,
			   .out = out,
			   .in = in,
			   .x = x.v,
			   .y = dy.v,
			   .accumulate = random_int(r, 0, 1)};

	random_fill(r, db, (size_t)out);
	memcpy(db2, db, (size_t)out * sizeof(float));
	memcpy(dw2, dw, layout_size(out, in) * sizeof(float));
	l.weight = dw;
	l.bias = db;
	run_panels(k->backward_weight, &l, r);
	l.weight = dw2;
	l.bias = db2;
	run_panels(kernels_reference.backward_weight, &l, r);
	check_packed(dw, dw2, out, in, rows);
	for (int o = 0; o < out; o++)
		assert_true(fabs((double)db[o] - db2[o]) <= sum_tolerance(rows) * 2);
	free(x.memory);
	free(dy.memory);
	free(dw);
	free(dw2);
	free(db);
	free(db2);
}

static void check_shape(const struct kernels *k, struct random *r, int rows, int out, int in)
{
	check_forward(k, r, rows, out, in);
	check_backward_input(k, r, rows, out, in);
	check_backward_weight(k, r, rows, out, in);
}

static void matrix_products_agree(void **state)
{
	struct random r = random_start("matrix products");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++) {
		if (*k == &kernels_reference)
			continue;
		for (int i = 0; i < 40; i++)
			check_shape(*k, &r, random_int(&r, 1, 70), random_int(&r, 1, 150),
				    random_int(&r, 1, 150));
		for (int i = 0; i < 40; i++)
			check_shape(*k, &r, imin(edge(&r), ROWS_MAX), edge(&r), edge(&r));
		for (int i = 0; i < 10; i++)
			check_shape(*k, &r, random_int(&r, MANY_ROWS, ROWS_MAX), edge(&r),
				    edge(&r));
		check_shape(*k, &r, 13, 1100, 530); /* several blocks and slabs ... */
		check_shape(*k, &r, MANY_ROWS + 1, 1100, 530);
		check_shape(*k, &r, 7, 2 * SPAN + 33, 70); /* ... and spans */
		check_shape(*k, &r, MANY_ROWS, SPAN + 33, 70);
		check_shape(*k, &r, ROWS_MAX, 70, 70);
	}
}

/* A part gives the same bits whoever computes it. */
static void parts_do_not_change_a_bit(void **state)
{
	struct random r = random_start("parts");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++)
		for (int i = 0; i < 10; i++) {
			int rows = random_int(&r, 1, 40) + i % 2 * MANY_ROWS;
			int in = random_int(&r, 1, 200);
			/* Spans too; the reference rounds its sums between them. */
			int out = random_int(&r, 1, 200) +
				  (i < 2 && *k != &kernels_reference ? SPAN : 0);
			struct matrix x = matrix_new(&r, rows, in),
				      y = matrix_new(&r, rows, out);
			struct matrix y2 = matrix_copy(&y), dx = matrix_copy(&x), dx2 = dx;
			float *w = packed_weights(&r, out, in);
			struct linear l = {.rows = rows,
					   .out = out,
					   .in = in,
					   .weight = w,
					   .x = x.v,
					   .y = y.v};

			dx2 = matrix_copy(&x);
			run_panels((*k)->forward, &l, &r);
			l.y = y2.v;
			run_panels((*k)->forward, &l, &r);
			assert_memory_equal(y.memory, y2.memory, y.total * sizeof(float));
			l.x = dx.v;
			run_backward_input(*k, &l, &r);
			l.x = dx2.v;
			run_backward_input(*k, &l, &r);
			assert_memory_equal(dx.memory, dx2.memory, dx.total * sizeof(float));
			free(x.memory);
			free(y.memory);
			free(y2.memory);
			free(dx.memory);
			free(dx2.memory);
			free(w);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matrix_products_agree),
		cmocka_unit_test(parts_do_not_change_a_bit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
