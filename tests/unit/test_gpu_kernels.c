/*
 * test_gpu_kernels.c - every kernel of a GPU against the CPU's reference, on random shapes: on
 * whatever OpenCL this machine has, PoCL's CPU for one, in both orders of a group's items.
 */
#include "cmd/selftest.h"
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>

static const struct selftest_case *const all[] = {selftest_linear, selftest_rows,
						  selftest_tokens, selftest_sums};

static uint64_t seed;
static int rounds = 6;
static bool tiny;

static void try_all(const char *spec)
{
	struct device_options o = {.threads = 1};
	struct error err = {0};
	struct selftest t;

	assert_int_equal(selftest_open(&t, spec, &o, seed, tiny, &err), OK);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (const struct selftest_case *c = all[i]; c->name; c++)
			for (int round = 0; round < rounds; round++)
				if (!selftest_try(&t, c))
					fail_msg("%s on %s: %s (seed %llu, round %d)", c->name,
						 spec, t.difference, (unsigned long long)seed,
						 round);
	selftest_close(&t);
}

static void items_in_order(void **state)
{
	(void)state;
	try_all("opencl:0");
}

static void items_in_reverse(void **state)
{
	(void)state;
	try_all("opencl:0,reversed");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_in_order),
		cmocka_unit_test(items_in_reverse),
	};
	struct device_options o = {.threads = 1};
	struct error err = {0};
	struct device *dev;

	if (device_open(&dev, "opencl:0", &o, &err) != OK) {
		printf("skipped: %s\n", err.msg);
		return 77;
	}
	device_close(dev);
	seed = random_start("test_gpu_kernels").seed;
	if (argc > 1)
		rounds = atoi(argv[1]);
	tiny = argc > 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
