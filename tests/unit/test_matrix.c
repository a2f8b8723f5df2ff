/*
 * test_matrix.c - the matrix products of every kernel table against the plain
 * reference: random shapes, edge shapes, windows of larger matrices, cut in parts as
 * threads would.
 */
#include "testing.h"

#include "base/half.h"
#include "device/cpu/kernels.h"
#include "device/cpu/layout.h"

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
		random_fill(r, m.v.data + (size_t)i * m.v.stride, (size_t)columns);
	return m;
}

static struct matrix matrix_copy(const struct matrix *from)
{
	struct matrix m = *from;

	m.memory = malloc(m.total * sizeof(float));
	memcpy(m.memory, from->memory, m.total * sizeof(float));
	m.v.data = m.memory + (from->v.data - from->memory);
	return m;
}

/* Equal within tolerance inside the view, untouched outside of it. */
static void matrix_check(const struct matrix *got, const struct matrix *want, double tolerance,
			 const char *what)
{
	size_t first = (size_t)(got->v.data - got->memory);

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

static float *scratch_new(void)
{
	return aligned_alloc(64, SCRATCH * sizeof(float));
}

/* Run a kernel in random parts, as threads do. */
static void run_panels(void (*kernel)(const struct linear *l, int p0, int p1, float *scratch),
		       const struct linear *l, struct random *r)
{
	float *scratch = scratch_new();
	int panels = layout_panels(l->out), a = 0;

	while (a < panels) {
		int b = random_int(r, a + 1, panels);

		kernel(l, a, b, scratch);
		a = b;
	}
	free(scratch);
}

static void run_backward_input(const struct kernels *k, const struct linear *l,
			       struct random *r)
{
	float *scratch = scratch_new();
	float *packed = aligned_alloc(64, kernels_packed_size(l->rows, l->out) * sizeof(float));
	int middle = random_int(r, 0, l->rows), a = 0;

	k->pack_dy(l, 0, middle, packed);
	k->pack_dy(l, middle, l->rows, packed);
	while (a < l->in) {
		int b = imin((int)round_up(random_int(r, a + 1, l->in), IN_ALIGN), l->in);

		k->backward_input(l, packed, a, b, scratch);
		a = b;
	}
	free(packed);
	free(scratch);
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
	bool keep = l.act == ACT_GELU;

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
	matrix_check(&z, &z2, sum_tolerance(in), "forward's value before gelu");
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
	struct matrix dy = matrix_new(r, rows, out), saved = matrix_new(r, rows, in);
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
	run_backward_input(&kernels_reference, &l, r);
	matrix_check(&dx, &dx2, sum_tolerance(out), "input gradient");
	free(dx.memory);
	free(dx2.memory);
	free(dy.memory);
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

/* Sizes at which something changes: vectors, tiles, panels, slabs, blocks. */
static int edge(struct random *r)
{
	static const int edges[] = {1,	2,  3,	4,  5,	 7,   8,   15,	16,  17,  31,
				    33, 63, 64, 65, 127, 128, 129, 131, 255, 257, 300};

	return edges[random_int(r, 0, ARRAY_SIZE(edges) - 1)];
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
		check_shape(*k, &r, 13, 1100, 530); /* several blocks and slabs */
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
			int rows = random_int(&r, 1, 40), out = random_int(&r, 1, 200);
			int in = random_int(&r, 1, 200);
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

/* ---- 16-bit operands ---- */

struct halves {
	uint16_t *data;
	size_t n;
};

static struct halves halves_new(struct random *r, size_t n, enum dtype type)
{
	struct halves h = {malloc((n + 64) * sizeof(uint16_t)), n};
	float *values = malloc((n + 64) * sizeof(float));

	random_fill(r, values, n + 64);
	for (size_t i = 0; i < n + 64; i++)
		h.data[i] = type == DTYPE_F16 ? half_from_float(values[i])
					      : bfloat_from_float(values[i]);
	free(values);
	return h;
}

static struct halves halves_copy(struct halves from)
{
	struct halves h = {malloc((from.n + 64) * sizeof(uint16_t)), from.n};

	memcpy(h.data, from.data, (from.n + 64) * sizeof(uint16_t));
	return h;
}

/* Apart by a rounding at most, and the same behind the end. */
static void halves_check(struct halves got, struct halves want, enum dtype type, double scale,
			 const char *what)
{
	double step = (type == DTYPE_F16 ? 0x1p-10 : 0x1p-7);

	for (size_t i = 0; i < got.n + 64; i++) {
		double a = type == DTYPE_F16 ? half_to_float(got.data[i])
					     : bfloat_to_float(got.data[i]);
		double b = type == DTYPE_F16 ? half_to_float(want.data[i])
					     : bfloat_to_float(want.data[i]);

		if (i >= got.n && got.data[i] != want.data[i])
			fail_msg("%s wrote beyond its end", what);
		if (!(fabs(a - b) <= step * fabs(b) + 1e-5 * scale))
			fail_msg("%s, element %zu: %g, should be %g", what, i, a, b);
	}
}

static void half_case(const struct kernels *k, struct random *r, enum dtype type, int rows,
		      int out, int in)
{
	size_t xs = (size_t)in + (size_t)random_int(r, 0, 9);
	size_t ys = (size_t)out + (size_t)random_int(r, 0, 9), ws = layout_size(out, in);
	size_t nx = (size_t)rows * xs, ny = (size_t)rows * ys;
	struct halves x = halves_new(r, nx, type), dy = halves_new(r, ny, type);
	struct halves w = halves_new(r, ws, type), bias = halves_new(r, (size_t)out, type);
	struct halves saved = halves_new(r, nx, type);
	/* outputs: of the table, of the reference */
	struct halves y[2] = {halves_new(r, ny, type)}, dx[2] = {halves_new(r, nx, type)};
	struct halves dw[2] = {halves_new(r, ws, type)},
		      db[2] = {halves_new(r, (size_t)out, type)};
	float *scratch = malloc(SCRATCH * sizeof(float));
	float *packed = malloc(kernels_packed_size(rows, out) * sizeof(float));
	struct linear l = {.rows = rows, .out = out, .in = in, .type = type};

	l.act = (enum activation)random_int(r, 0, ACT_COUNT - 1);
	l.accumulate = random_int(r, 0, 1);
	/* Weights beyond the matrix are zero, as the layout promises. */
	memset(w.data, 0, ws * sizeof(uint16_t));
	memset(dw[0].data, 0, ws * sizeof(uint16_t));
	for (int o = 0; o < out; o++)
		for (int i = 0; i < in; i++)
			w.data[layout_index(out, in, o, i)] =
				saved.data[(size_t)(o * 7 + i) % saved.n];
	y[1] = halves_copy(y[0]);
	dx[1] = halves_copy(dx[0]);
	dw[1] = halves_copy(dw[0]);
	db[1] = halves_copy(db[0]);
	for (int pass = 0; pass < 2; pass++) {
		const struct kernels *table = pass ? &kernels_reference : k;

		l.weight = (float *)w.data;
		l.bias = (float *)bias.data;
		l.x = (struct view){(float *)x.data, xs, type};
		l.y = (struct view){(float *)y[pass].data, ys, type};
		l.saved = (struct view){0};
		table->forward(&l, 0, layout_panels(out), scratch);
		l.y = (struct view){(float *)dy.data, ys, type};
		l.x = (struct view){(float *)dx[pass].data, xs, type};
		l.saved = (struct view){(float *)saved.data, xs, type};
		table->pack_dy(&l, 0, rows, packed);
		table->backward_input(&l, packed, 0, in, scratch);
		l.x = (struct view){(float *)x.data, xs, type};
		l.weight = (float *)dw[pass].data;
		l.bias = (float *)db[pass].data;
		table->backward_weight(&l, 0, layout_panels(out), scratch);
	}
	halves_check(y[0], y[1], type, in, "16-bit forward");
	halves_check(dx[0], dx[1], type, out, "16-bit input gradient");
	halves_check(dw[0], dw[1], type, rows, "16-bit weight gradient");
	halves_check(db[0], db[1], type, rows, "16-bit bias gradient");
	for (int i = 0; i < 2; i++) {
		free(y[i].data);
		free(dx[i].data);
		free(dw[i].data);
		free(db[i].data);
	}
	free(x.data);
	free(dy.data);
	free(w.data);
	free(bias.data);
	free(saved.data);
	free(scratch);
	free(packed);
}

static void halves_agree_with_the_reference(void **state)
{
	struct random r = random_start("16-bit products");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++)
		for (int type = DTYPE_F16; type <= DTYPE_BF16; type++) {
			for (int i = 0; i < 25; i++)
				half_case(*k, &r, (enum dtype)type, random_int(&r, 1, 40),
					  random_int(&r, 1, 200), random_int(&r, 1, 300));
			half_case(*k, &r, (enum dtype)type, ROWS_MAX, 600, 260);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matrix_products_agree),
		cmocka_unit_test(parts_do_not_change_a_bit),
		cmocka_unit_test(halves_agree_with_the_reference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
