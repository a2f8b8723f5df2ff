/*
 * exact.h - the exact sum of doubles, which depends neither on their order nor on how they were
 * grouped: whoever adds up a part merges it, and the result is rounded once.
 *
 * Plain data of fixed size that may be sent as bytes; all zero bytes are the empty sum. It
 * is a number in two's complement of 32 bits per limb, the lowest of which is that of the
 * smallest double: every finite double is added without an error, and there is room for 2^40 of
 * the largest. A limb has 64 bits, so that most additions carry nothing.
 *
 * What is not finite is remembered: the value is NaN if a NaN was added or infinities of both
 * signs, otherwise the infinity, whatever else there was and in whatever order.
 */
#ifndef KOLM_BASE_EXACT_H
#define KOLM_BASE_EXACT_H

#include <stddef.h>
#include <stdint.h>

enum { EXACT_LIMBS = 68 };

struct exact {
	int64_t limbs[EXACT_LIMBS]; /* number k counts multiples of 2^(32 k - 1074) */
	int32_t added;		    /* since carries were last handed on */
	uint32_t special;	    /* what was not finite, see exact.c */
};

void exact_clear(struct exact *e);
void exact_add(struct exact *e, double x);
void exact_add_all(struct exact *e, const double *x, size_t n);
void exact_merge(struct exact *to, const struct exact *from);
/* Hand carries on: equal sums have equal bytes then. So do they after exact_merge. */
void exact_settle(struct exact *e);
/* Rounded once, to nearest, ties to even; beyond the largest double it is infinite. The sum of
   nothing is +0, and so is that of numbers that cancel. */
double exact_value(const struct exact *e);

#endif
