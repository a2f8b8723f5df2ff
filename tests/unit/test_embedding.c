/*
 * test_embedding.c - embeddings and learned positions of every table, on any number of threads
 * and on the fenced device, against plain loops: sums are defined in fp32, so to the bit.
 */
#include "tokens.h"

/* Sizes of a case, the same on all devices. */
struct sizes {
	int rows, columns, first, count, length;
	int64_t start; /* of positions */
	bool accumulate;
	enum dtype type, table_type;
	uint64_t next; /* where random values begin */
};

static struct sizes random_sizes(struct random *r, int i)
{
	struct sizes s = {.rows = random_int(r, 1, 300),
			  .columns = i % 3 ? random_int(r, 1, 60) : random_int(r, 1, 400),
			  .first = i % 2 ? 0 : random_int(r, 0, 50),
			  .count = i % 5 ? random_int(r, 1, 90) : random_int(r, 90, 3000),
			  .length = random_int(r, 1, 120),
			  .start = random_int(r, 0, 1000),
			  .accumulate = random_int(r, 0, 1),
			  .type = any_type(r),
			  .table_type = any_type(r)};

	if (i == 0) { /* more than a piece */
		s.columns = 5000;
		s.rows = s.count = s.length = 20;
	}
	s.next = r->next;
	r->next += 1u << 24;
	return s;
}

/* A table in the device's layout, and its rows as the host knows them. */
struct table {
	void *memory;
	float *values; /* (count, columns) */
	size_t n;
};

static struct table table_new(struct device *dev, const struct sizes *s, struct random *r)
{
	struct table t = {.n = (size_t)s->count * (size_t)s->columns};

	t.memory = memory_new(dev, device_matrix_size(dev, s->count, s->columns) *
					   dtype_size(s->table_type));
	t.values = malloc(t.n * sizeof(float));
	random_fill(r, t.values, t.n);
	for (size_t i = 0; i < t.n; i++)
		t.values[i] = rounded(t.values[i], s->table_type);
	device_matrix_write(dev, t.memory, s->table_type, s->count, s->columns, 0, s->count,
			    t.values);
	return t;
}

static void table_free(struct device *dev, struct table *t)
{
	device_free(dev, t->memory);
	free(t->values);
}

/* Frequent ones, rare ones, and some of other ranks. */
static void random_tokens(struct random *r, const struct sizes *s, int32_t *tokens)
{
	for (int i = 0; i < s->rows; i++) {
		int kind = random_int(r, 0, 9);

		tokens[i] = s->first + (kind < 4   ? random_int(r, 0, imin(s->count, 4) - 1)
					: kind < 9 ? random_int(r, 0, s->count - 1)
						   : random_int(r, -s->first, s->count + 50));
	}
}

static bool is_here(const struct sizes *s, int32_t token)
{
	return token >= s->first && token < s->first + s->count;
}

static struct embedding embedding_of(const struct sizes *s, const int32_t *tokens,
				     const struct table *t, const struct operand *y)
{
	return (struct embedding){.rows = s->rows,
				  .columns = s->columns,
				  .first = s->first,
				  .count = s->count,
				  .tokens = tokens,
				  .table = t->memory,
				  .type = s->table_type,
				  .y = y->v,
				  .accumulate = s->accumulate};
}

static void check_embed(struct device *dev, const struct sizes *s)
{
	struct random r = {s->next, 0};
	struct table t = table_new(dev, s, &r);
	struct operand y = operand_new(dev, &r, s->rows, s->columns, s->type);
	int32_t host[300], *tokens;
	struct embedding e;

	random_tokens(&r, s, host);
	tokens = integers_new(dev, host, s->rows);
	e = embedding_of(s, tokens, &t, &y);
	device_embed(dev, &e);
	operand_read(dev, &y);
	for (int i = 0; i < s->rows; i++)
		for (int c = 0; c < s->columns; c++) {
			size_t at = (size_t)(host[i] - s->first) * (size_t)s->columns;
			float want = is_here(s, host[i]) ? t.values[at + (size_t)c] : 0;

			assert_true((float)value(&y, i, c) == rounded(want, s->type));
		}
	device_free(dev, tokens);
	operand_free(dev, &y);
	table_free(dev, &t);
}

/* What is beyond the table's rows and columns in its memory. */
static void check_padding(struct device *dev, const struct sizes *s, const struct table *t)
{
	size_t elements = device_matrix_size(dev, s->count, s->columns), zeros = 0, want = 0;
	float *all = malloc(elements * sizeof(*all));

	device_read(dev, t->memory, s->table_type, elements, all);
	for (size_t i = 0; i < elements; i++)
		zeros += all[i] == 0;
	for (size_t i = 0; i < t->n; i++)
		want += t->values[i] == 0;
	assert_int_equal(zeros, want + elements - t->n);
	free(all);
}

static void check_embed_gradient(struct device *dev, const struct sizes *s)
{
	struct random r = {s->next, 0};
	struct table t = table_new(dev, s, &r);
	struct operand dy = operand_new(dev, &r, s->rows, s->columns, s->type);
	float *sums = calloc(t.n, sizeof(float)), *got = malloc(t.n * sizeof(float));
	int32_t host[300], *tokens;
	struct embedding e;

	random_tokens(&r, s, host);
	tokens = integers_new(dev, host, s->rows);
	e = embedding_of(s, tokens, &t, &dy);
	device_embed_gradient(dev, &e);
	device_matrix_read(dev, t.memory, s->table_type, s->count, s->columns, 0, s->count,
			   got);
	for (int i = 0; i < s->rows; i++)
		for (int c = 0; c < s->columns && is_here(s, host[i]); c++)
			sums[(size_t)(host[i] - s->first) * (size_t)s->columns + (size_t)c] +=
				(float)value(&dy, i, c);
	for (size_t i = 0; i < t.n; i++)
		assert_true(got[i] == rounded(sums[i] + (s->accumulate ? t.values[i] : 0),
					      s->table_type));
	memcpy(t.values, got, t.n * sizeof(float));
	check_padding(dev, s, &t);
	free(sums);
	free(got);
	device_free(dev, tokens);
	operand_free(dev, &dy);
	table_free(dev, &t);
}

/* ---- positions ---- */

/* A plain table is an operand without anything between its rows. */
static struct operand plain_table(struct device *dev, struct random *r, const struct sizes *s)
{
	struct operand o = operand_new(dev, r, 1, s->length * s->columns, s->table_type);

	o.rows = s->length;
	o.columns = s->columns;
	o.v.stride = (size_t)s->columns;
	return o;
}

static struct positions positions_of(const struct sizes *s, const struct operand *table,
				     const struct operand *y)
{
	return (struct positions){.rows = s->rows,
				  .columns = s->columns,
				  .length = s->length,
				  .first = s->start,
				  .table = table->v.data,
				  .type = s->table_type,
				  .y = y->v,
				  .accumulate = s->accumulate};
}

static void check_positions(struct device *dev, const struct sizes *s)
{
	struct random r = {s->next, 0};
	struct operand table = plain_table(dev, &r, s);
	struct operand y = operand_new(dev, &r, s->rows, s->columns, s->type);
	struct operand before = operand_copy(dev, &y);
	struct positions p = positions_of(s, &table, &y);

	device_add_positions(dev, &p);
	operand_read(dev, &y);
	for (int i = 0; i < s->rows; i++)
		for (int c = 0; c < s->columns; c++) {
			int at = (int)((s->start + i) % s->length);

			assert_true((float)value(&y, i, c) ==
				    rounded((float)value(&before, i, c) +
						    (float)value(&table, at, c),
					    s->type));
		}
	operand_free(dev, &table);
	operand_free(dev, &y);
	operand_free(dev, &before);
}

static void check_positions_gradient(struct device *dev, const struct sizes *s)
{
	struct random r = {s->next, 0};
	struct operand table = plain_table(dev, &r, s);
	struct operand dy = operand_new(dev, &r, s->rows, s->columns, s->type);
	struct operand before = operand_copy(dev, &table);
	struct positions p = positions_of(s, &table, &dy);
	int position[300];

	for (int i = 0; i < s->rows; i++)
		position[i] = (int)((s->start + i) % s->length);
	device_positions_gradient(dev, &p);
	operand_read(dev, &table);
	for (int at = 0; at < s->length; at++)
		for (int c = 0; c < s->columns; c++) {
			float sum = 0;

			for (int i = 0; i < s->rows; i++)
				if (position[i] == at)
					sum += (float)value(&dy, i, c);
			if (s->accumulate)
				sum += (float)value(&before, at, c);
			assert_true((float)value(&table, at, c) == rounded(sum, s->table_type));
		}
	operand_free(dev, &table);
	operand_free(dev, &dy);
	operand_free(dev, &before);
}

/* ---- everywhere ---- */

static void on_all_devices(const char *what,
			   void (*check)(struct device *dev, const struct sizes *s))
{
	struct random r = random_start(what);

	for (const struct kernels *const *k = kernels_available(); *k; k++)
		for (int d = 0; d < SAME_DEVICES; d++) {
			struct device *dev = same_device(d, (*k)->name, 300);

			for (int i = 0; i < 20; i++) {
				struct sizes s = random_sizes(&r, i);

				check(dev, &s);
			}
			device_close(dev);
		}
}

static void rows_are_those_of_their_tokens(void **state)
{
	(void)state;
	on_all_devices("embedding", check_embed);
}

static void gradients_are_sums_in_the_order_of_rows(void **state)
{
	(void)state;
	on_all_devices("gradient of embeddings", check_embed_gradient);
}

static void positions_are_added(void **state)
{
	(void)state;
	on_all_devices("positions", check_positions);
}

static void gradients_of_positions_are_sums(void **state)
{
	(void)state;
	on_all_devices("gradient of positions", check_positions_gradient);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_those_of_their_tokens),
		cmocka_unit_test(gradients_are_sums_in_the_order_of_rows),
		cmocka_unit_test(positions_are_added),
		cmocka_unit_test(gradients_of_positions_are_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
