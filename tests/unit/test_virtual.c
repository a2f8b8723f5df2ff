/* test_virtual.c - on a virtual device kernels take the time of what they move, and products
   that of their type. */
#include "testing.h"

#include "device/device.h"

enum { ROWS = 10, COLUMNS = 1000 };

/* At 1 GB/s, in ns: as many as bytes. */
static int64_t took(struct pace *pace, int64_t *since)
{
	int64_t ns = pace_now(pace) - *since;

	*since = pace_now(pace);
	return ns;
}

static void kernels_take_the_time_of_their_bytes(void **state)
{
	struct pace pace = {0};
	struct device_options options = {.pace = &pace};
	struct device *dev;
	struct error err = {0};
	(void)state;

	assert_int_equal(device_open(&dev, "virtual:bandwidth=1GB/s", &options, &err), OK);
	for (enum dtype type = DTYPE_F32; type <= DTYPE_BF16; type++) {
		int64_t matrix = ROWS * COLUMNS * (int64_t)dtype_size(type);
		int64_t since = pace_now(&pace);
		struct view v = {.stride = COLUMNS, .type = type};
		struct norm n = {.kind = NORM_RMS,
				 .rows = ROWS,
				 .columns = COLUMNS,
				 .x = v,
				 .y = v,
				 .dx = v};
		struct dropout d = {.p = 0.5, .columns = COLUMNS};

		device_norm_forward(dev, &n);
		assert_int_equal(took(&pace, &since), 2 * matrix);
		device_norm_backward_input(dev, &n);
		assert_int_equal(took(&pace, &since), 3 * matrix);
		device_norm_backward_weight(dev, &n);
		assert_int_equal(took(&pace, &since), 2 * matrix);
		device_add(dev, v, v, ROWS, COLUMNS);
		assert_int_equal(took(&pace, &since), 3 * matrix);
		device_dropout(dev, v, v, ROWS, COLUMNS, &d);
		assert_int_equal(took(&pace, &since), 2 * matrix);
		device_activate(dev, v, v, v, ROWS, COLUMNS, ACT_TANH);
		assert_int_equal(took(&pace, &since), 2 * matrix);
		device_derive(dev, v, v, ROWS, COLUMNS, ACT_TANH);
		assert_int_equal(took(&pace, &since), 3 * matrix);
	}
	device_close(dev);
}

/* The same of language models, with 7 positions. */
static void token_kernels_take_the_time_of_their_bytes(void **state)
{
	struct pace pace = {0};
	struct device_options options = {.pace = &pace};
	struct device *dev;
	struct error err = {0};
	double *number = NULL;
	(void)state;

	assert_int_equal(device_open(&dev, "virtual:bandwidth=1GB/s", &options, &err), OK);
	for (enum dtype type = DTYPE_F32; type <= DTYPE_BF16; type++) {
		int64_t row = COLUMNS * (int64_t)dtype_size(type), matrix = ROWS * row;
		int64_t since = pace_now(&pace);
		struct view v = {.stride = COLUMNS, .type = type};
		struct embedding e = {
			.rows = ROWS, .columns = COLUMNS, .count = 50, .y = v, .type = type};
		struct positions p = {
			.rows = ROWS, .columns = COLUMNS, .length = 7, .y = v, .type = type};
		struct gate g = {.rows = ROWS, .columns = COLUMNS, .x = v, .y = v};
		struct class_slice c = {.rows = ROWS, .columns = COLUMNS, .y = v, .slices = 2};

		device_embed(dev, &e);
		assert_int_equal(took(&pace, &since), 2 * matrix);
		for (int i = 0; i < 2; i++) { /* the first of a step as the others */
			e.accumulate = p.accumulate = i;
			device_embed_gradient(dev, &e);
			assert_int_equal(took(&pace, &since), 3 * matrix);
			device_positions_gradient(dev, &p);
			assert_int_equal(took(&pace, &since), matrix + 2 * 7 * row);
		}
		device_add_positions(dev, &p);
		assert_int_equal(took(&pace, &since), 3 * matrix);
		device_gate(dev, &g);
		assert_int_equal(took(&pace, &since), 3 * matrix);
		device_gate_gradient(dev, &g);
		assert_int_equal(took(&pace, &since), 5 * matrix);
		device_class_stats(dev, &c);
		assert_int_equal(took(&pace, &since), matrix);
		device_class_loss(dev, &c, number, number);
		assert_int_equal(took(&pace, &since), 2 * matrix);
	}
	device_close(dev);
}

/* 2 * 10 * 1000 * 100 operations: at 1 GFLOP/s as many ns. */
static void products_take_the_time_of_their_type(void **state)
{
	static const struct {
		const char *spec;
		bool has_16; /* its own speed for 16 bit, */
		int times;   /* so much higher */
	} cases[] = {{"virtual:gflops=1", false, 1}, {"virtual:gflops=1,gflops16=4", true, 4}};
	struct linear l = {.rows = ROWS, .out = COLUMNS, .in = 100};
	int64_t flops = 2 * ROWS * COLUMNS * (int64_t)l.in;
	(void)state;

	for (size_t i = 0; i < 2; i++) {
		struct pace pace = {0};
		struct device_options options = {.pace = &pace};
		struct device *dev;
		struct error err = {0};
		int64_t since;

		assert_int_equal(device_open(&dev, cases[i].spec, &options, &err), OK);
		since = pace_now(&pace);
		for (l.type = DTYPE_F32; l.type <= DTYPE_BF16; l.type++) {
			bool is_fp32 = l.type == DTYPE_F32;
			int64_t ns = flops / (is_fp32 ? 1 : cases[i].times);
			double rounds;

			assert_int_equal(device_multiplies(dev, l.type),
					 is_fp32 || cases[i].has_16);
			device_forward(dev, &l);
			assert_int_equal(took(&pace, &since), ns);
			device_backward_input(dev, &l);
			assert_int_equal(took(&pace, &since), ns);
			device_backward_weight(dev, &l);
			assert_int_equal(took(&pace, &since), ns);
			rounds = device_fma_rounds(dev, l.type, 1000);
			assert_int_equal(took(&pace, &since),
					 (int64_t)rounds / (is_fp32 ? 1 : cases[i].times));
		}
		device_close(dev);
	}
}

/* 3 sequences of 10 queries: 3 * 55 pairs with keys, or with 20 keys before them 3 * 255, in
   4 heads of 8, each pair 4 operations per element. */
static void attention_takes_the_time_of_its_pairs(void **state)
{
	struct pace pace = {0};
	struct device_options options = {.pace = &pace};
	struct attention a = {.sequences = 3,
			      .queries = 10,
			      .keys = 10,
			      .heads = 4,
			      .kv_heads = 2,
			      .width = 8};
	struct rotary rotary = {.rows = 30, .heads = 4, .width = 8, .length = 10};
	struct device *dev;
	struct error err = {0};
	int64_t since;
	(void)state;

	assert_int_equal(device_open(&dev, "virtual:gflops=1", &options, &err), OK);
	assert_int_equal(device_reserve_attention(dev, 10, 8, &err), OK);
	since = pace_now(&pace);
	device_attention_forward(dev, &a);
	assert_int_equal(took(&pace, &since), 4 * 3 * 55 * 32);
	device_attention_backward(dev, &a);
	assert_int_equal(took(&pace, &since), 10 * 3 * 55 * 32);
	a.first = 20;
	a.keys = 30;
	device_attention_forward(dev, &a);
	assert_int_equal(took(&pace, &since), 4 * 3 * 255 * 32);
	device_close(dev);
	assert_int_equal(
		device_open(&dev, "virtual:gflops=1e9,bandwidth=1GB/s", &options, &err), OK);
	since = pace_now(&pace);
	device_attention_forward(dev, &a); /* q and out of 30 rows, k and v of 90 */
	assert_int_equal(took(&pace, &since), 4 * (2 * 30 * 32 + 2 * 90 * 16));
	device_rotate(dev, &rotary);
	assert_int_equal(took(&pace, &since), 4 * 2 * 30 * 32);
	device_close(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_take_the_time_of_their_bytes),
		cmocka_unit_test(token_kernels_take_the_time_of_their_bytes),
		cmocka_unit_test(products_take_the_time_of_their_type),
		cmocka_unit_test(attention_takes_the_time_of_its_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
