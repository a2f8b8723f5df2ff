/*
 * test_attention_bits.c - what the bits of attention do not depend on: threads, neighbours in
 * a call, how queries are cut in calls, the device.
 */
#include "attentions.h"

static void same_bits(const struct operand *a, const struct operand *b, int row_a, int row_b,
		      int rows)
{
	for (int r = 0; r < rows; r++)
		assert_memory_equal(a->values + (size_t)(row_a + r) * a->v.stride,
				    b->values + (size_t)(row_b + r) * b->v.stride,
				    (size_t)a->columns * sizeof(float));
}

static void threads_do_not_change_a_bit(void **state)
{
	struct random r = random_start("threads");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++)
		for (int i = 0; i < 12; i++) {
			struct shape shape = random_training(&r, i < 2 ? 300 : 100);
			struct random again = r;
			struct fixture f[4];

			for (int t = 0; t < 4; t++) {
				r = again;
				f[t] = fixture_new(attention_device("cpu", (*k)->name, t + 1),
						   &r, &shape);
				run_forward(&f[t]);
				run_backward(&f[t]);
			}
			for (int t = 1; t < 4; t++) {
				same_bits(&f[0].out, &f[t].out, 0, 0, f[0].out.rows);
				same_bits(&f[0].saved, &f[t].saved, 0, 0, f[0].out.rows);
				for (int m = 0; m < GRADIENTS; m++)
					same_bits(&f[0].grads[m], &f[t].grads[m], 0, 0,
						  f[0].grads[m].rows);
			}
			for (int t = 0; t < 4; t++) {
				struct device *dev = f[t].dev;

				fixture_free(&f[t]);
				device_close(dev);
			}
		}
}

/* A sequence alone in a call is what it was among others. */
static void sequences_are_on_their_own(void **state)
{
	struct random r = random_start("sequences");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++) {
		struct device *dev = attention_device("cpu", (*k)->name, 2);

		for (int i = 0; i < 8; i++) {
			struct shape shape = random_training(&r, 90);
			struct random again;
			struct fixture all, one;
			int row;

			shape.sequences = 3;
			row = random_int(&r, 0, 2) * shape.queries;
			again = r;
			all = fixture_new(dev, &r, &shape);
			r = again;
			one = fixture_new(dev, &r, &shape);
			run_forward(&all);
			run_backward(&all);
			only_rows_from(&one.a, row);
			run_forward(&one);
			run_backward(&one);
			same_bits(&all.out, &one.out, row, row, shape.queries);
			for (int m = 0; m < GRADIENTS; m++)
				same_bits(&all.grads[m], &one.grads[m], row, row,
					  shape.queries);
			fixture_free(&all);
			fixture_free(&one);
		}
		device_close(dev);
	}
}

/* Rows of keys and values that are not there yet hold no numbers: nobody looks at them. */
static void forget_rows(struct fixture *f, struct operand *kept, const struct window *w,
			int rows)
{
	struct operand *o = w->o;

	memcpy(o->values, kept->values, o->n * sizeof(float));
	for (size_t i = (size_t)rows * o->v.stride; i < o->n; i++)
		if (i % o->v.stride >= (size_t)w->column)
			o->values[i] = NAN;
	operand_write(f->dev, o);
}

/* Queries that come one after the other, or some at a time, give the bits of all at once. */
static void generation_gives_the_same_bits(void **state)
{
	struct random r = random_start("generation");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++) {
		struct device *dev = attention_device("cpu", (*k)->name, 2);

		for (int i = 0; i < 6; i++) {
			struct shape shape = random_training(&r, 140);
			struct random again;
			struct fixture all, some;
			struct operand keys, values;

			shape.sequences = 1;
			shape.together = false;
			again = r;
			all = fixture_new(dev, &r, &shape);
			r = again;
			some = fixture_new(dev, &r, &shape);
			keys = operand_copy(dev, some.k.o);
			values = operand_copy(dev, some.v.o);
			run_forward(&all);
			for (int first = 0, n; first < shape.keys; first += n) {
				struct attention a = some.a;

				n = random_int(&r, 0, 1)
					    ? 1
					    : random_int(&r, 1, shape.keys - first);
				forget_rows(&some, &keys, &some.k, first + n);
				forget_rows(&some, &values, &some.v, first + n);
				a.first = first;
				a.first_row += first;
				a.queries = n;
				a.q = view_from(a.q, (size_t)first);
				a.out = view_from(a.out, (size_t)first);
				a.saved = view_from(a.saved, (size_t)first);
				device_attention_forward(dev, &a);
			}
			operand_read(dev, &some.out);
			same_bits(&all.out, &some.out, 0, 0, shape.queries);
			operand_free(dev, &keys);
			operand_free(dev, &values);
			fixture_free(&all);
			fixture_free(&some);
		}
		device_close(dev);
	}
}

/* On the device that translates addresses and computes later. */
static void fenced_gives_the_bits_of_the_cpu(void **state)
{
	struct random r = random_start("fenced");
	struct device *cpu = attention_device("cpu", "", 1);
	struct device *fenced = attention_device("fenced", "", 1);
	(void)state;

	for (int i = 0; i < 5; i++) {
		struct shape shape = random_training(&r, 90);
		struct random again = r;
		struct fixture f[2];

		shape.width += shape.width % 2;
		for (int d = 0; d < 2; d++) {
			struct rotary rotary = {.rows = shape.sequences * shape.queries,
						.heads = shape.heads,
						.width = shape.width,
						.length = shape.queries,
						.theta = 10000};

			r = again;
			f[d] = fixture_new(d ? fenced : cpu, &r, &shape);
			rotary.x = f[d].a.q;
			device_rotate(f[d].dev, &rotary);
			run_forward(&f[d]);
			run_backward(&f[d]);
		}
		same_bits(&f[0].out, &f[1].out, 0, 0, f[0].out.rows);
		for (int m = 0; m < GRADIENTS; m++)
			same_bits(&f[0].grads[m], &f[1].grads[m], 0, 0, f[0].grads[m].rows);
		for (int d = 0; d < 2; d++)
			fixture_free(&f[d]);
	}
	device_close(cpu);
	device_close(fenced);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_do_not_change_a_bit),
		cmocka_unit_test(sequences_are_on_their_own),
		cmocka_unit_test(generation_gives_the_same_bits),
		cmocka_unit_test(fenced_gives_the_bits_of_the_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
