/*
 * column.h - what can be known about a case: where it belongs (group, device, axes), what
 * its runs have written (a path into summary.json), what follows from that (a formula).
 */
#ifndef KOLM_STUDY_COLUMN_H
#define KOLM_STUDY_COLUMN_H

#include "base/names.h"
#include "study/study.h"

#define COLUMN_KINDS(X)       \
	X(INTEGER, "integer") \
	X(NUMBER, "number")   \
	X(PERCENT, "percent") \
	X(BYTES, "bytes")     \
	X(TEXT, "text")       \
	X(FLAG, "flag")
#define COLUMN_KIND(name, ...) KIND_##name,
enum column_kind { COLUMN_KINDS(COLUMN_KIND) };
extern const char *const column_kinds[]; /* NULL-terminated */

struct column {
	const char *key, *label, *unit;
	enum column_kind kind;
	int digits;	       /* behind the point; -1: three that count */
	const char *from;      /* "[max|min|mean|sum|list|ranges ]a.b.0.c", or NULL */
	const char *formula;   /* or NULL; none of the three: known from the case itself */
	const json_t *observe; /* claims about its row that make its text, or NULL */
	bool axis;
	bool timed; /* what it is depends on how long something took */
};

struct columns {
	struct column *list;
	int count;
};

/* Those of every study, the study's axes, and its own, in this order. */
enum status columns_init(struct columns *c, const struct study *s, struct error *err);
void columns_release(struct columns *c);
/* Its number, or -1. */
int columns_find(const struct columns *c, const char *key);

/* Do tables, charts, formulas and filters name what there is? */
enum status columns_check(const struct study *s, const char *where, struct error *err);

/* A name of the caller's that a formula may use as well; one without a name ends a list. */
struct constant {
	const char *name;
	double value;
};
/* Does a formula name columns that there are? more may be NULL. */
enum status columns_check_formula(const struct columns *c, const char *formula,
				  const struct constant *more, const char *where,
				  struct error *err);

/* With so many digits behind the point, or (-1) three that count; thousands are set apart from
   five digits on: 8192 is a dimension, 12,345 a quantity. */
void number_text(double value, int digits, char *buf, size_t size);
/* A value as tables show it. */
void column_text(const struct column *c, double value, char *buf, size_t size);

#endif
