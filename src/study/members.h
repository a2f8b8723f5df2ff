/* members.h - is an object of a study's file made of the members that it may have? */
#ifndef KOLM_STUDY_MEMBERS_H
#define KOLM_STUDY_MEMBERS_H

#include "base/error.h"

#include <jansson.h>
#include <stddef.h>

enum {
	STRING = 1,
	NUMBER = 2,
	OBJECT = 4,
	ARRAY = 8,
	BOOL = 16,
	NONE = 32,
	NEEDED = 64,
	WHOLE = 128, /* a number without a fraction, within the bounds of its name */
};

struct member {
	const char *name;
	int types; /* what it may be, and whether it is NEEDED */
};

/* Every member of the object is one of these and of its type, and those that are NEEDED are
   there; where names the object in messages. */
enum status members_check(const json_t *object, const char *where, const struct member *members,
			  size_t n, struct error *err);

#endif
