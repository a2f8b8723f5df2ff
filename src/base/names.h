/*
 * names.h - names that a person types, and the enum that they stand for, as one list.
 *
 * LIST(X) is X(NAME, "name", ...) for every member, beside the code that owns the enum:
 *
 *	#define COLOURS(X) X(RED, "red") X(GREEN, "green")
 *	#define COLOUR(name, ...) COLOUR_##name,
 *	enum colour { COLOURS(COLOUR) };
 *	enum { COLOUR_COUNT = NAMES_COUNT(COLOURS) };
 *	const char *const colour_names[] = {NAMES_OF(COLOURS)};
 *
 * The count is no member: a switch over all members is complete without it.
 */
#ifndef KOLM_BASE_NAMES_H
#define KOLM_BASE_NAMES_H

#include <stddef.h>

#define NAMES_ONE(name, text, ...)  +1 /* NOLINT(bugprone-macro-parentheses): a term */
#define NAMES_TEXT(name, text, ...) text,

#define NAMES_COUNT(LIST) (0 LIST(NAMES_ONE))
/* By the enum, and NULL at the end: as the choices of an option. */
#define NAMES_OF(LIST)	  LIST(NAMES_TEXT) NULL

#endif
