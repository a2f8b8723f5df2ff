/* test_scaler.c - the loss scale goes where PyTorch's goes (tests/golden/scaler/scales.json).
 */
#include "testing.h"

#include "engine/scaler.h"

#include <jansson.h>

static double number(const json_t *j, const char *name)
{
	return json_number_value(json_object_get(j, name));
}

static void scales_are_those_of_pytorch(void **state)
{
	json_t *root = json_load_file(TESTS_DIR "/golden/scaler/scales.json", 0, NULL),
	       *sequence;
	size_t i, k;
	(void)state;

	assert_non_null(root);
	json_array_foreach(json_object_get(root, "sequences"), i, sequence)
	{
		struct scaler s = {.scale = number(sequence, "init"),
				   .growth = number(sequence, "growth"),
				   .backoff = number(sequence, "backoff"),
				   .interval = (int)number(sequence, "interval")};
		json_t *step;
		struct error err = {0};

		assert_true(json_array_size(json_object_get(sequence, "steps")) > 50);
		json_array_foreach(json_object_get(sequence, "steps"), k, step)
		{
			bool skipped = json_integer_value(json_array_get(step, 0)) != 0;
			double want = json_number_value(json_array_get(step, 1));

			assert_int_equal(scaler_update(&s, skipped, &err), OK);
			if (fabs(s.scale - want) > 1e-6 * want) /* PyTorch's is a float */
				fail_msg("sequence %zu, step %zu: %g, PyTorch has %g", i, k,
					 s.scale, want);
		}
	}
	assert_true(i > 2);
	json_decref(root);
}

static void a_scale_that_falls_for_ever_is_an_error(void **state)
{
	struct scaler s = {.scale = 65536, .growth = 2, .backoff = 0.5, .interval = 2000};
	struct error err = {0};
	int steps = 0;
	(void)state;

	while (scaler_update(&s, true, &err) == OK)
		assert_true(++steps < 100);
	assert_true(steps > 30);
	assert_non_null(strstr(err.msg, "not finite even with a loss scale of"));
}

static void a_fixed_scale_stays(void **state)
{
	struct scaler s = {.scale = 128};
	struct error err = {0};
	(void)state;

	for (int i = 0; i < 5000; i++)
		assert_int_equal(scaler_update(&s, i % 3 == 0, &err), OK);
	assert_true(s.scale == 128);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scales_are_those_of_pytorch),
		cmocka_unit_test(a_scale_that_falls_for_ever_is_an_error),
		cmocka_unit_test(a_fixed_scale_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
