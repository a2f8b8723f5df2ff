/* testing.h - what every unit test needs: cmocka, a seed that is printed, a folder. */
#ifndef KOLM_TESTS_TESTING_H
#define KOLM_TESTS_TESTING_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
/* cmocka wants the four headers above first. */
#include <cmocka.h>

#include "base/error.h"
#include "base/rng.h"
#include "base/util.h"

/* A sequence of random numbers for a test; KOLM_SEED repeats a run. */
struct random {
	uint64_t seed, next;
};

static inline struct random random_start(const char *what)
{
	const char *fixed = getenv("KOLM_SEED");
	struct random r = {fixed ? strtoull(fixed, NULL, 10) : (uint64_t)time(NULL), 0};

	printf("%s: KOLM_SEED=%llu\n", what, (unsigned long long)r.seed);
	return r;
}

/* Uniform over low .. high. */
static inline int random_int(struct random *r, int low, int high)
{
	return low + (int)rng_below(r->seed, 1, r->next++, (uint32_t)(high - low + 1));
}

static inline void random_fill(struct random *r, float *out, size_t n)
{
	rng_uniform(r->seed, 2, r->next, n, -1, 1, out);
	r->next += n;
}

/* For a new operation: what the last one said is forgotten. */
static inline struct error *fresh(struct error *err)
{
	error_clear(err);
	return err;
}

/* A new folder below TMPDIR; test_folder_remove deletes it with all that is in it. */
static inline void test_folder(char *path, size_t size)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(path, size, "%s/kolm-test-XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(path));
}

static inline void test_folder_remove(const char *path)
{
	char command[4096];

	snprintf(command, sizeof(command), "rm -rf '%s'", path);
	assert_int_equal(system(command), 0);
}

#endif
