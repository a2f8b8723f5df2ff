/*
 * formula.h - small formulas over the columns of a row: "step_ms[ranks=1] / step_ms".
 *
 * Numbers, names, + - * /, brackets, min(a, b), max(a, b), abs(a), log2(a), sqrt(a).
 * name[axis=value, ...] is that column in the row that differs in these axes only.
 */
#ifndef KOLM_STUDY_FORMULA_H
#define KOLM_STUDY_FORMULA_H

#include "base/error.h"

/*
 * What a name stands for. elsewhere is what the brackets held, or NULL. false: nobody
 * knows that name. A value that is not there is NAN, and so is what is made of it.
 */
typedef bool formula_lookup(void *arg, const char *name, const char *elsewhere, double *value);

enum status formula_eval(const char *text, formula_lookup *lookup, void *arg, double *value,
			 struct error *err);

#endif
