/*
 * outlet.h - bytes that come token by token, as text that may be shown: whole characters only,
 * and nothing from where it is to stop.
 *
 * Bytes that are no UTF-8 come out as \xff, control characters as \x1b, but for the ends of
 * lines and tabs: a model may write anything, and a terminal is not to obey it.
 */
#ifndef KOLM_TEXT_OUTLET_H
#define KOLM_TEXT_OUTLET_H

#include "base/text.h"

struct outlet {
	const char *stop; /* where it comes to an end; "": nowhere. Borrowed */
	struct text held; /* that can't be shown yet */
	bool stopped;
};

void outlet_init(struct outlet *o, const char *stop);
void outlet_release(struct outlet *o);

/* Add to out what can be shown now. */
void outlet_put(struct outlet *o, const char *bytes, size_t n, struct text *out);
/* Nothing follows: what is held comes out as it is. */
void outlet_end(struct outlet *o, struct text *out);

#endif
