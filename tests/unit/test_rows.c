/*
 * test_rows.c - what a kernel makes of a row does not depend on how many rows the call has, on
 * where it is among them, or on threads: the same bits from one call and from calls of some
 * rows each. Of every table. Input gradients may have one order for few rows and one for many.
 */
#include "tokens.h"

#include "device/cpu/kernels.h"

enum { OPERANDS = 5, FEW = 70, ROWS = 8 * MANY_ROWS, COLUMNS = 150, TRIES = 8 };

/* A kernel with its operands: matrices of rows, and one of weights or a table. */
struct call {
	struct device *dev;
	int rows, in, out, unit; /* rows are cut at multiples of unit */
	enum dtype type;
	enum activation act;
	struct operand o[OPERANDS], weight, bias;
	void *matrix;
	int32_t *tokens;
	float *stats;
	double *sum;
};

/* Rows [a, a + n) of it. */
struct kind {
	const char *name;
	void (*run)(const struct call *c, size_t a, int n);
	int unit, least; /* rows of a part: a multiple, and how many at least */
};

static struct view rows_of(const struct call *c, int operand, size_t a)
{
	return view_from(c->o[operand].v, a);
}

static struct linear linear_of(const struct call *c, size_t a, int n)
{
	return (struct linear){.rows = n,
			       .out = c->out,
			       .in = c->in,
			       .weight = c->matrix,
			       .bias = c->bias.v.data,
			       .x = rows_of(c, 0, a),
			       .y = rows_of(c, 1, a),
			       .saved = rows_of(c, 2, a),
			       .act = c->act,
			       .type = c->type};
}

static void forward(const struct call *c, size_t a, int n)
{
	struct linear l = linear_of(c, a, n);

	device_forward(c->dev, &l);
}

static void backward_input(const struct call *c, size_t a, int n)
{
	struct linear l = linear_of(c, a, n);

	device_backward_input(c->dev, &l);
}

static void activate(const struct call *c, size_t a, int n)
{
	device_activate(c->dev, rows_of(c, 1, a), c->bias.v, rows_of(c, 2, a), n, c->out,
			c->act);
	device_derive(c->dev, rows_of(c, 3, a), rows_of(c, 1, a), n, c->out, c->act);
	device_add(c->dev, rows_of(c, 3, a), rows_of(c, 2, a), n, c->out);
}

static void drop(const struct call *c, size_t a, int n)
{
	struct dropout d = {.p = 0.3, .seed = 5, .row = (int64_t)a, .columns = c->out};

	device_dropout(c->dev, rows_of(c, 1, a), rows_of(c, 2, a), n, c->out, &d);
}

static void normalise(const struct call *c, size_t a, int n)
{
	struct norm norm = {.kind = c->act % 2 ? NORM_LAYER : NORM_RMS,
			    .rows = n,
			    .columns = c->out,
			    .x = rows_of(c, 1, a),
			    .y = rows_of(c, 2, a),
			    .dx = rows_of(c, 3, a),
			    .saved = rows_of(c, 4, a),
			    .weight = c->weight.v.data,
			    .bias = c->bias.v.data,
			    .type = c->type,
			    .grad_type = c->type,
			    .eps = 1e-5F};

	device_norm_forward(c->dev, &norm);
	norm.y = rows_of(c, 2, a);
	device_norm_backward_input(c->dev, &norm);
}

static void gate(const struct call *c, size_t a, int n)
{
	struct gate g = {.rows = n,
			 .columns = c->out / 2,
			 .act = c->act,
			 .x = rows_of(c, 1, a),
			 .y = rows_of(c, 2, a)};

	device_gate(c->dev, &g);
	g.dx = rows_of(c, 3, a);
	g.dy = rows_of(c, 2, a);
	device_gate_gradient(c->dev, &g);
}

static void look_up(const struct call *c, size_t a, int n)
{
	struct embedding e = {.rows = n,
			      .columns = c->in,
			      .count = c->out,
			      .tokens = c->tokens + a,
			      .table = c->matrix,
			      .type = c->type,
			      .y = rows_of(c, 0, a)};
	struct positions p = {.rows = n,
			      .columns = c->in,
			      .length = 1,
			      .first = (int64_t)a,
			      .table = c->weight.v.data,
			      .type = c->type,
			      .y = rows_of(c, 0, a)};

	device_embed(c->dev, &e);
	device_add_positions(c->dev, &p);
}

static void classify(const struct call *c, size_t a, int n)
{
	struct class_slice s = {.rows = n,
				.columns = c->out,
				.y = rows_of(c, 1, a),
				.dy = rows_of(c, 2, a),
				.labels = c->tokens + a,
				.stats = c->stats,
				.slices = 1,
				.scale = 0.25F};

	device_class_stats(c->dev, &s);
	device_class_loss(c->dev, &s, c->sum, NULL);
	device_mse(c->dev, rows_of(c, 1, a), rows_of(c, 4, a), rows_of(c, 3, a), n, c->out,
		   0.5F, c->sum);
}

enum { SEQUENCE = 7, WIDTH = 8 };

/* Sequences of some rows; heads are as many as there is room for. */
static void attend(const struct call *c, size_t a, int n)
{
	int heads = c->out / WIDTH;
	struct attention t = {.sequences = n / SEQUENCE,
			      .queries = SEQUENCE,
			      .keys = SEQUENCE,
			      .heads = heads,
			      .kv_heads = heads,
			      .width = WIDTH,
			      .scale = 0.35F,
			      .q = rows_of(c, 1, a),
			      .k = rows_of(c, 1, a),
			      .v = rows_of(c, 1, a),
			      .out = rows_of(c, 2, a),
			      .saved = rows_of(c, 4, a),
			      .dout = rows_of(c, 3, a),
			      .dq = rows_of(c, 0, a),
			      .first_row = (int64_t)a,
			      .all_heads = heads,
			      .drop = {.p = c->act % 2 ? 0 : 0.2, .columns = SEQUENCE}};
	struct rotary r = {.rows = n,
			   .heads = heads,
			   .width = WIDTH,
			   .length = SEQUENCE,
			   .theta = 100,
			   .x = rows_of(c, 2, a)};

	t.dk = view_at(t.dq, heads * WIDTH);
	t.dv = view_at(t.dq, 2 * heads * WIDTH);
	device_attention_forward(c->dev, &t);
	device_attention_backward(c->dev, &t);
	device_rotate(c->dev, &r);
}

static const struct kind kinds[] = {
	{"forward", forward, 1, 1},
	{"input gradient of few rows", backward_input, 1, 1},
	{"input gradient of many rows", backward_input, 1, MANY_ROWS},
	{"activation", activate, 1, 1},
	{"dropout", drop, 1, 1},
	{"norm", normalise, 1, 1},
	{"gate", gate, 1, 1},
	{"embedding", look_up, 1, 1},
	{"loss", classify, 1, 1},
	{"attention", attend, SEQUENCE, SEQUENCE},
};

static struct operand vector_new(struct device *dev, struct random *r, int n, enum dtype type)
{
	return operand_new(dev, r, 1, n, type);
}

static void write_matrix(const struct call *c, struct random *r)
{
	float *row = malloc((size_t)c->in * sizeof(float));

	for (int i = 0; i < c->out; i++) {
		random_fill(r, row, (size_t)c->in);
		device_matrix_write(c->dev, c->matrix, c->type, c->out, c->in, i, 1, row);
	}
	free(row);
}

/* The same for the same random numbers, on any device. */
static struct call call_new(struct device *dev, struct random *r, const struct kind *kind)
{
	int unit = kind->unit, most = kind->least == MANY_ROWS ? ROWS : FEW;
	struct call c = {.dev = dev, .unit = unit};
	int32_t tokens[ROWS];
	int widest;

	c.rows = random_int(r, 2 * kind->least / unit, most / unit) * unit;
	c.in = random_int(r, 1, COLUMNS);
	c.out = unit > 1 ? 2 * WIDTH * random_int(r, 1, 4) : random_int(r, 2, COLUMNS);
	c.type = any_type(r);
	c.act = (enum activation)random_int(r, 0, ACT_COUNT - 1);
	widest = unit > 1 ? 3 * c.out : c.out;
	for (int i = 0; i < OPERANDS; i++)
		c.o[i] = operand_new(dev, r, c.rows, i == 0 && unit == 1 ? c.in : widest,
				     i == 4 ? DTYPE_F32 : c.type);
	c.weight = vector_new(dev, r, imax(c.in, c.out), c.type);
	c.bias = vector_new(dev, r, c.out, c.type);
	c.matrix = memory_new(dev, device_matrix_size(dev, c.out, c.in) * dtype_size(c.type));
	write_matrix(&c, r);
	for (int i = 0; i < ROWS; i++)
		tokens[i] = random_int(r, 0, c.out - 1);
	c.tokens = integers_new(dev, tokens, ROWS);
	c.stats = memory_new(dev, 3 * ROWS * sizeof(float));
	c.sum = memory_new(dev, sizeof(double));
	return c;
}

static void call_free(struct call *c)
{
	for (int i = 0; i < OPERANDS; i++)
		operand_free(c->dev, &c->o[i]);
	operand_free(c->dev, &c->weight);
	operand_free(c->dev, &c->bias);
	device_free(c->dev, c->matrix);
	device_free(c->dev, c->tokens);
	device_free(c->dev, c->stats);
	device_free(c->dev, c->sum);
}

static struct device *roomy_device(const char *kernels, int threads)
{
	struct device *dev = device_new("cpu", kernels, threads);
	struct error err = {0};

	assert_int_equal(device_reserve(dev, ROWS, 3 * COLUMNS, &err), OK);
	assert_int_equal(device_reserve_attention(dev, SEQUENCE, WIDTH, &err), OK);
	return dev;
}

/* All rows at once on one thread; then some at a time, on any number of them. */
static void check(const struct kind *kind, const char *table, struct device *alone,
		  struct device *other, struct random *r)
{
	struct random again = *r;
	struct call whole = call_new(alone, &again, kind);
	struct call cut = call_new(other, r, kind);

	kind->run(&whole, 0, whole.rows);
	for (int a = 0, n; a < cut.rows; a += n) {
		n = random_int(r, kind->least / kind->unit, (cut.rows - a) / kind->unit) *
		    kind->unit;
		if (cut.rows - a - n < kind->least)
			n = cut.rows - a;
		kind->run(&cut, (size_t)a, n);
	}
	for (int i = 0; i < OPERANDS; i++) {
		operand_read(alone, &whole.o[i]);
		operand_read(other, &cut.o[i]);
		for (size_t e = 0; e < whole.o[i].n; e++)
			if (memcmp(&whole.o[i].values[e], &cut.o[i].values[e], sizeof(float)))
				fail_msg(
					"%s, %s, %d rows of %d and %d: operand %d, row %zu, column %zu: "
					"%.9g at once, %.9g in parts",
					kind->name, table, whole.rows, whole.in, whole.out, i,
					e / whole.o[i].v.stride, e % whole.o[i].v.stride,
					(double)whole.o[i].values[e],
					(double)cut.o[i].values[e]);
	}
	call_free(&whole);
	call_free(&cut);
}

static void rows_are_alone(void **state)
{
	struct random r = random_start("rows");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++)
		for (int threads = 1; threads <= 3; threads++) {
			struct device *alone = roomy_device((*k)->name, 1);
			struct device *other = roomy_device((*k)->name, threads);

			for (size_t i = 0; i < ARRAY_SIZE(kinds) * TRIES; i++)
				check(&kinds[i % ARRAY_SIZE(kinds)], (*k)->name, alone, other,
				      &r);
			device_close(alone);
			device_close(other);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_alone)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
