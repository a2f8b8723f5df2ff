/*
 * json.h - writing JSON. (Reading is jansson's job.)
 *
 * Inside an object every call takes the member's name, inside an array and at the
 * top the name is NULL. Numbers are written with the fewest digits that read back
 * as the same value; NaN and infinities become null, since JSON has none.
 */
#ifndef KOLM_BASE_JSON_H
#define KOLM_BASE_JSON_H

#include "base/error.h"
#include "base/text.h"

#include <stdint.h>

enum { JSON_MAX_DEPTH = 16 };

struct json {
	struct text text;
	bool pretty; /* one member per line; otherwise all on one line */
	int depth;
	bool has_members[JSON_MAX_DEPTH];
};

void json_init(struct json *j, bool pretty);
void json_release(struct json *j);
/* Start over, keeping the memory. */
void json_reset(struct json *j);

void json_begin_object(struct json *j, const char *name);
void json_end_object(struct json *j);
void json_begin_array(struct json *j, const char *name);
void json_end_array(struct json *j);

void json_put_string(struct json *j, const char *name, const char *value);
void json_put_int(struct json *j, const char *name, int64_t value);
void json_put_double(struct json *j, const char *name, double value);
void json_put_bool(struct json *j, const char *name, bool value);
void json_put_null(struct json *j, const char *name);

/* Put the document into a file, whole or not at all. */
enum status json_write_file(const struct json *j, const char *path, struct error *err);

#endif
