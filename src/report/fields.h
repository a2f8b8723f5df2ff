/*
 * fields.h - reading members of JSON objects that somebody else has written: what is wrong
 * is named with its file and its place, such as tables[0].columns[2].kind.
 *
 * The first problem is kept in status and err; reading goes on with harmless values.
 */
#ifndef KOLM_REPORT_FIELDS_H
#define KOLM_REPORT_FIELDS_H

#include "base/error.h"

#include <jansson.h>

struct fields {
	const char *where; /* the file */
	char path[160];	   /* of the object that is read now */
	enum status status;
	struct error *err;
};

/* Parse a file's bytes; NULL with an error if that is no object. The caller's. */
json_t *fields_parse(struct fields *f, const char *bytes, size_t size);

/* Go to element i of the array of that name, and back. */
size_t fields_enter(struct fields *f, const char *array, size_t i);
void fields_leave(struct fields *f, size_t length);

void fields_fail(struct fields *f, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Absent and null give fallback; for strings, NULL as fallback makes it required. */
const char *field_string(struct fields *f, const json_t *o, const char *name,
			 const char *fallback);
double field_number(struct fields *f, const json_t *o, const char *name, double fallback);
bool field_bool(struct fields *f, const json_t *o, const char *name, bool fallback);
/* Absent and null give NULL, which has no elements for jansson. */
json_t *field_array(struct fields *f, const json_t *o, const char *name);
json_t *field_object(struct fields *f, const json_t *o, const char *name);
/* Element i of an array, which must be an object; otherwise NULL, which has no members. */
json_t *field_element(struct fields *f, const json_t *array, size_t i);

#endif
