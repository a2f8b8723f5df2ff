/* exact.c - see exact.h */
#include "base/exact.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum {
	LIMB_BITS = 32,
	MANTISSA_BITS = 52,
	LOWEST = -1074, /* exponent of the lowest bit of limb 0 */
	/* An addition changes a limb by less than 2^52, and a settled one is below 2^32. */
	ADDED_MOST = 1 << 10,
};

enum { SAW_PLUS = 1, SAW_MINUS = 2, SAW_NAN = 4 };

#define LIMB_MASK 0xffffffff

void exact_clear(struct exact *e)
{
	memset(e, 0, sizeof(*e));
}

/* All but the last become 0 .. 2^32 - 1; the last has the sign. */
void exact_settle(struct exact *e)
{
	int64_t carry = 0;

	for (int k = 0; k < EXACT_LIMBS - 1; k++) {
		int64_t limb = e->limbs[k] + carry;

		e->limbs[k] = limb & LIMB_MASK;
		carry = (limb - e->limbs[k]) / ((int64_t)1 << LIMB_BITS);
	}
	e->limbs[EXACT_LIMBS - 1] += carry;
	e->added = 0;
}

static uint32_t special_of(double x)
{
	return isnan(x) ? SAW_NAN : x > 0 ? SAW_PLUS : SAW_MINUS;
}

static inline void add(struct exact *e, double x)
{
	uint64_t bits, mantissa;
	int exponent, k, shift;
	int64_t low, high;

	memcpy(&bits, &x, sizeof(bits));
	exponent = (int)(bits >> MANTISSA_BITS & 0x7ff);
	mantissa = bits & (((uint64_t)1 << MANTISSA_BITS) - 1);
	if (exponent == 0x7ff) {
		e->special |= special_of(x);
		return;
	}
	if (exponent) {
		mantissa |= (uint64_t)1 << MANTISSA_BITS;
		exponent--;
	}
	/* Two limbs hold it: what is shifted out at the top of the first is in the second. */
	k = exponent / LIMB_BITS;
	shift = exponent % LIMB_BITS;
	low = (int64_t)(mantissa << shift & LIMB_MASK);
	high = (int64_t)(mantissa >> (LIMB_BITS - shift));
	e->limbs[k] += bits >> 63 ? -low : low;
	e->limbs[k + 1] += bits >> 63 ? -high : high;
}

void exact_add(struct exact *e, double x)
{
	add(e, x);
	if (++e->added == ADDED_MOST)
		exact_settle(e);
}

/*
 * Many at once: numbers of about the same size are first added up in doubles, without an
 * error. Adding and subtracting 1.5 * 2^p rounds a number of at most 2^(p - 1) to a multiple of
 * 2^(p - 52); of numbers up to 2^(p - 9), BLOCK such multiples add up exactly. What is left of
 * each is at most 2^(p - 53) and goes to the next level; what is left after the last one, which
 * is rare, as it is 2^-131 of the largest, is added by itself.
 */
enum {
	WIDE = 2,
	BLOCK = 512,
	BLOCK_BITS = 9,
	LEVELS = 3,
	STEP = 44,
	LEAST = -900,
	MOST = 1000
};

typedef double wide __attribute__((vector_size(WIDE * 8)));
typedef double wide_any __attribute__((vector_size(WIDE * 8), aligned(8), may_alias));
typedef int64_t wide_bits __attribute__((vector_size(WIDE * 8)));

/* No magnitude is above 2^that; whatever is no number is not looked at. */
static int top_of(const double *x, size_t n)
{
	wide most = {0};
	double all = 0;
	int top;

	for (size_t i = 0; i < n; i += WIDE) {
		wide v = (wide)((wide_bits) * (const wide_any *)(x + i) & INT64_MAX);
		wide_bits larger = v > most;

		most = (wide)((larger & (wide_bits)v) | (~larger & (wide_bits)most));
	}
	for (int i = 0; i < WIDE; i++)
		all = most[i] > all ? most[i] : all;
	if (isinf(all))
		return MOST + 1;
	frexp(all, &top);
	return top > LEAST ? top : LEAST;
}

static void add_rests(struct exact *e, const double *x, size_t n, const double *magic)
{
	for (size_t i = 0; i < n; i++) {
		double rest = x[i];

		for (int level = 0; level < LEVELS; level++)
			rest -= (rest + magic[level]) - magic[level];
		if (rest != 0)
			exact_add(e, rest);
	}
}

/* n is a multiple of WIDE. False: too large, or no numbers. */
static bool add_block(struct exact *e, const double *x, size_t n)
{
	int top = top_of(x, n);
	double magic[LEVELS], sums[LEVELS] = {0};
	wide lanes[LEVELS] = {{0}};
	wide_bits left = {0};

	if (top > MOST)
		return false;
	for (int level = 0; level < LEVELS; level++)
		magic[level] = ldexp(1.5, top + BLOCK_BITS - level * STEP);
	for (size_t i = 0; i < n; i += WIDE) {
		wide rest = *(const wide_any *)(x + i), part;

		part = (rest + magic[0]) - magic[0];
		lanes[0] += part;
		rest -= part;
		part = (rest + magic[1]) - magic[1];
		lanes[1] += part;
		rest -= part;
		part = (rest + magic[2]) - magic[2];
		lanes[2] += part;
		left |= rest != part;
	}
	for (int level = 0; level < LEVELS; level++)
		for (int i = 0; i < WIDE; i++)
			sums[level] += lanes[level][i];
	if (!isfinite(sums[0]))
		return false;
	for (int level = 0; level < LEVELS; level++)
		exact_add(e, sums[level]);
	for (int i = 0; i < WIDE; i++)
		if (left[i]) {
			add_rests(e, x, n, magic);
			break;
		}
	return true;
}

void exact_add_all(struct exact *e, const double *x, size_t n)
{
	while (n > 0) {
		size_t some = n < WIDE ? n : n < BLOCK ? n / WIDE * WIDE : BLOCK;

		if (some < 32 || !add_block(e, x, some))
			for (size_t i = 0; i < some; i++)
				exact_add(e, x[i]);
		x += some;
		n -= some;
	}
}

void exact_merge(struct exact *to, const struct exact *from)
{
	exact_settle(to);
	for (int k = 0; k < EXACT_LIMBS; k++)
		to->limbs[k] += from->limbs[k];
	exact_settle(to);
	to->special |= from->special;
}

/* The magnitude of a settled sum; true if it was negative. */
static bool take_sign(struct exact *e)
{
	if (e->limbs[EXACT_LIMBS - 1] >= 0)
		return false;
	for (int k = 0; k < EXACT_LIMBS; k++)
		e->limbs[k] = -e->limbs[k];
	exact_settle(e);
	return true;
}

/* Bits [low, low + 64) of the magnitude, 0 where there are none. */
static uint64_t window(const struct exact *e, int low)
{
	uint64_t bits = 0;

	for (int k = 0; k < EXACT_LIMBS; k++) {
		int at = k * LIMB_BITS - low;

		if (at > -LIMB_BITS && at < 0)
			bits |= (uint64_t)e->limbs[k] >> -at;
		else if (at >= 0 && at < 64)
			bits |= (uint64_t)e->limbs[k] << at;
	}
	return bits;
}

static bool has_below(const struct exact *e, int low)
{
	for (int k = 0; k < EXACT_LIMBS && k * LIMB_BITS < low; k++) {
		int n = low - k * LIMB_BITS;
		uint64_t mask = n >= LIMB_BITS ? LIMB_MASK : ((uint64_t)1 << n) - 1;

		if ((uint64_t)e->limbs[k] & mask)
			return true;
	}
	return false;
}

/* A magnitude, rounded. */
static double magnitude(const struct exact *e)
{
	int k = EXACT_LIMBS - 1, top, low;
	uint64_t bits, kept, rest;

	while (k > 0 && !e->limbs[k])
		k--;
	if (!e->limbs[k])
		return 0;
	top = k * LIMB_BITS + 63 - __builtin_clzll((uint64_t)e->limbs[k]);
	if (top <= MANTISSA_BITS) /* all of it fits, of subnormals too */
		return ldexp((double)window(e, 0), LOWEST);
	low = top - 63;
	bits = window(e, low);
	kept = bits >> (63 - MANTISSA_BITS);
	rest = (bits & (((uint64_t)1 << (63 - MANTISSA_BITS)) - 1)) << 1;
	rest |= has_below(e, low); /* in units of a 2^-12 of the last place */
	if (rest > 1u << (63 - MANTISSA_BITS) ||
	    (rest == 1u << (63 - MANTISSA_BITS) && (kept & 1)))
		kept++;
	return ldexp((double)kept, low + 63 - MANTISSA_BITS + LOWEST);
}

double exact_value(const struct exact *e)
{
	struct exact copy = *e;
	bool minus;
	double value;

	if (e->special)
		return e->special == SAW_PLUS	 ? (double)INFINITY
		       : e->special == SAW_MINUS ? -(double)INFINITY
						 : (double)NAN;
	exact_settle(&copy);
	minus = take_sign(&copy);
	value = magnitude(&copy);
	return minus ? -value : value;
}
