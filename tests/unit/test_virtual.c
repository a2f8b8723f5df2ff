/* test_virtual.c - on a virtual device kernels that move data take the time of what they move.
 */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_take_the_time_of_their_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
