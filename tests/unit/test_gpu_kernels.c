/*
 * test_gpu_kernels.c - every kernel of a GPU against the CPU's reference, on random shapes: on
 * whatever OpenCL this machine has, PoCL's CPU for one, in both orders of a group's items.
 */
#include "cmd/selftest.h"
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct selftest_case *const all[] = {selftest_linear, selftest_rows,
						  selftest_tokens, selftest_sums};

static uint64_t seed;
static int rounds = 6;
static bool tiny;	    /* for emulators */
static char *const *wanted; /* what the names of cases begin with; NULL: all */

static bool is_wanted(const char *name)
{
	bool found = !wanted || !*wanted;

	for (char *const *w = wanted; w && *w; w++)
		found |= !strncmp(name, *w, strlen(*w));
	return found;
}

static void try_all(const char *spec)
{
	struct device_options o = {.threads = 1};
	struct error err = {0};
	struct selftest t;

	assert_int_equal(selftest_open(&t, spec, &o, seed, tiny, &err), OK);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (const struct selftest_case *c = all[i]; c->name; c++)
			for (int round = 0; round < rounds && is_wanted(c->name); round++)
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
	if (!getenv("KOLM_GPU_REVERSED")) /* everything is built anew for it */
		skip();
	try_all("opencl:0,reversed");
}

/* A kernel that is wrong on one side is found, with the place. */
static void add_wrongly(struct selftest *t)
{
	struct twin *to = twin_matrix(t, "to", 5, 7, DTYPE_F32);
	struct twin *from = twin_matrix(t, "from", 5, 7, DTYPE_F32);

	for (int i = 0; i < SIDES; i++)
		device_add(t->dev[i], view_on(to, i), view_on(from, i), 5, i == TESTED ? 6 : 7);
	compare(t, to, 0);
}

static void differences_are_found(void **state)
{
	static const struct selftest_case wrong = {"wrong", add_wrongly};
	struct device_options o = {.threads = 1};
	struct error err = {0};
	struct selftest t;

	(void)state;
	assert_int_equal(selftest_open(&t, "opencl:0", &o, seed, true, &err), OK);
	assert_false(selftest_try(&t, &wrong));
	assert_non_null(strstr(t.difference, "to[6] of "));
	selftest_close(&t);
}

/* test_gpu_kernels [ROUNDS [tiny [NAMES...]]] */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_in_order),
		cmocka_unit_test(items_in_reverse),
		cmocka_unit_test(differences_are_found),
	};
	struct device_options o = {.threads = 1};
	struct error err = {0};
	struct device *dev;

#ifdef __SANITIZE_THREAD__
	printf("skipped: drivers have threads that nobody has told ThreadSanitizer of\n");
	return 77;
#endif
	if (device_open(&dev, "opencl:0", &o, &err) != OK) {
		printf("skipped: %s\n", err.msg);
		return 77;
	}
	device_close(dev);
	seed = random_start("test_gpu_kernels").seed;
	if (argc > 1)
		rounds = atoi(argv[1]);
	tiny = argc > 2;
	wanted = argc > 3 ? argv + 3 : NULL;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
