/* util.h - the few helpers that every file may want. */
#ifndef KOLM_BASE_UTIL_H
#define KOLM_BASE_UTIL_H

#include <stddef.h>
#include <stdint.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static inline int imin(int a, int b)
{
	return a < b ? a : b;
}

static inline int imax(int a, int b)
{
	return a > b ? a : b;
}

static inline int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static inline int64_t ceil_div(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

static inline int64_t round_up(int64_t a, int64_t multiple)
{
	return ceil_div(a, multiple) * multiple;
}

/* Where part i of n begins when total items are split into near-equal parts. */
static inline int64_t part_begin(int64_t total, int i, int n)
{
	return total / n * i + min64(total % n, i);
}

#endif
