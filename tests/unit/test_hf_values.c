/* test_hf_values.c - numbers of files: of any type, in both orders, aligned or not. */
#include "testing.h"

#include "base/half.h"
#include "hf/hf.h"

static void values_are_those_of_the_file(void **state)
{
	static const enum dtype types[] = {DTYPE_F32, DTYPE_F16, DTYPE_BF16};
	struct random r = random_start("values");
	(void)state;

	for (int i = 0; i < 60; i++) {
		enum dtype type = types[i % 3];
		size_t rows = (size_t)random_int(&r, 1, 90), size = dtype_size(type);
		size_t columns = (size_t)random_int(&r, 1, 90), n = rows * columns;
		size_t first = (size_t)random_int(&r, 0, (int)rows - 1), many = rows - first;
		bool turned = random_int(&r, 0, 1);
		float *plain = malloc(n * sizeof(*plain)), *out = malloc(n * sizeof(*out));
		uint16_t *halves = malloc(n * sizeof(float)); /* of any type */
		char *bytes = malloc(n * size + 1);
		struct hf_values v = {.data = bytes + 1,
				      .type = type,
				      .row_step = turned ? 1 : columns,
				      .column_step = turned ? rows : 1};

		random_fill(&r, plain, n);
		for (size_t k = 0; k < n; k++)
			float_to(halves, k, type, plain[k]);
		memcpy(bytes + 1, halves, n * size);
		hf_values_rows(&v, first, many, columns, out);
		for (size_t y = 0; y < many; y++)
			for (size_t x = 0; x < columns; x++) {
				size_t at = turned ? x * rows + first + y
						   : (first + y) * columns + x;
				float wanted = float_from(halves, at, type);

				assert_memory_equal(&out[y * columns + x], &wanted,
						    sizeof(wanted));
			}
		free(plain);
		free(out);
		free(halves);
		free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_those_of_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
