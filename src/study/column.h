/*
 * column.h - what can be known about a case: where it belongs (group, device, axes), what
 * its runs have written (a path into summary.json), what follows from that (a formula).
 */
#ifndef KOLM_STUDY_COLUMN_H
#define KOLM_STUDY_COLUMN_H

#include "study/study.h"

enum column_kind {
	KIND_INTEGER,
	KIND_NUMBER,
	KIND_PERCENT,
	KIND_BYTES,
	KIND_TEXT,
	KIND_FLAG,
};
extern const char *const column_kinds[];

struct column {
	const char *key, *label, *unit;
	enum column_kind kind;
	int digits;
	const char *from;    /* "[max|min|mean|sum|list|ranges ]a.b.0.c", or NULL */
	const char *formula; /* or NULL; both NULL: known from the case itself */
	bool axis;
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

/* A value as tables show it. */
void column_text(const struct column *c, double value, char *buf, size_t size);

#endif
