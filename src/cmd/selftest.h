/*
 * selftest.h - what kolm selftest is made of: every kernel of a device on random shapes against
 * the CPU's reference (selftest_kernels.c, selftest_tokens.c, with selftest_twins.c below
 * them), and whole runs (selftest_run.c). The tests of GPUs use it too. Only for cmd/.
 */
#ifndef KOLM_CMD_SELFTEST_H
#define KOLM_CMD_SELFTEST_H

#include "base/error.h"
#include "device/device.h"

#include <stdbool.h>

enum { TESTED, REFERENCE, SIDES };
enum { TWINS = 24 }; /* operands of a case */

/* An operand that both devices have, with the same values at first. */
struct twin {
	const char *name;
	void *memory[SIDES];
	enum dtype type;  /* I32: tokens or labels */
	size_t n;	  /* elements */
	int rows, stride; /* of a matrix in row order */
	int out, in;	  /* of a weight matrix, in the layout of each device; else 0 */
};

struct selftest {
	struct device *dev[SIDES];
	uint64_t seed, drawn; /* numbers that were drawn so far */
	int most_rows;
	bool tiny; /* shapes for slow emulators: few, but of two blocks where there are blocks
		    */
	struct twin twins[TWINS];
	int n_twins;
	bool failed;	      /* the case that is under way */
	char difference[256]; /* its first one */
	struct error *err;
};

/* One kernel, or two that belong together, on a shape of its own choice. */
struct selftest_case {
	const char *name;
	void (*run)(struct selftest *t);
};
extern const struct selftest_case selftest_linear[], selftest_rows[], selftest_tokens[],
	selftest_sums[]; /* each ends with one without a name */

/* Both devices with working memory for what the cases do. */
enum status selftest_open(struct selftest *t, const char *spec,
			  const struct device_options *options, uint64_t seed, bool tiny,
			  struct error *err);
void selftest_close(struct selftest *t);
/* One case on a new shape: did it agree? Otherwise t->difference says where not. */
bool selftest_try(struct selftest *t, const struct selftest_case *c);

/* ---- for cases ---- */

/* A whole number of [low, high]. */
int draw(struct selftest *t, int low, int high);
float draw_float(struct selftest *t, float low, float high);
enum dtype draw_type(struct selftest *t);
/* Operands of random values: a matrix with room between its rows, an array, a weight matrix,
   tokens of [low, high], numbers. Their place is good until the case ends. */
struct twin *twin_matrix(struct selftest *t, const char *name, int rows, int columns,
			 enum dtype type);
struct twin *twin_array(struct selftest *t, const char *name, size_t n, enum dtype type);
struct twin *twin_squares(struct selftest *t, const char *name, size_t n); /* in fp32 */
struct twin *twin_weights(struct selftest *t, const char *name, int out, int in,
			  enum dtype type);
struct twin *twin_ints(struct selftest *t, const char *name, int n, int low, int high);
double *twin_numbers(struct selftest *t, int side, int n); /* that are 0 */
struct view view_on(const struct twin *twin, int side);
/* All of an operand, what lies between its rows too: relative to the largest value of it, or
   for what was rounded to 16 bits to a few of its units. */
void compare(struct selftest *t, const struct twin *twin, double tolerance);
void compare_numbers(struct selftest *t, const char *name, const double *numbers[SIDES], int n,
		     double tolerance);

#endif
