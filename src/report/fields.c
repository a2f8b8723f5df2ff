/* fields.c - see fields.h */
#include "report/fields.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

json_t *fields_parse(struct fields *f, const char *bytes, size_t size)
{
	json_error_t problem;
	json_t *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &problem);

	if (root && json_is_object(root))
		return root;
	if (root)
		f->status = FAIL(f->err, ERR_USAGE, "%s is JSON, but not an object", f->where);
	else
		f->status =
			FAIL(f->err, ERR_USAGE, "%s is not valid JSON: line %d, column %d: %s",
			     f->where, problem.line, problem.column, problem.text);
	HINT(f->err, "was it changed by hand, or cut short?");
	json_decref(root);
	return NULL;
}

size_t fields_enter(struct fields *f, const char *array, size_t i)
{
	size_t length = strlen(f->path);

	snprintf(f->path + length, sizeof(f->path) - length, "%s%s[%zu]", length ? "." : "",
		 array, i);
	return length;
}

void fields_leave(struct fields *f, size_t length)
{
	f->path[length] = '\0';
}

void fields_fail(struct fields *f, const char *name, const char *fmt, ...)
{
	char what[256];
	va_list ap;

	if (f->status != OK)
		return;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	f->status = FAIL(f->err, ERR_USAGE, "%s: %s%s%.64s %s", f->where, f->path,
			 *f->path && *name ? "." : "", name, what);
	HINT(f->err, "kolm study writes such files; was it changed by hand?");
}

static json_t *member(const json_t *o, const char *name)
{
	json_t *value = json_object_get(o, name);

	return value && !json_is_null(value) ? value : NULL;
}

const char *field_string(struct fields *f, const json_t *o, const char *name,
			 const char *fallback)
{
	const json_t *value = member(o, name);

	if (value && json_is_string(value))
		return json_string_value(value);
	if (value)
		fields_fail(f, name, "is not a string");
	else if (!fallback)
		fields_fail(f, name, "is missing");
	return fallback ? fallback : "";
}

double field_number(struct fields *f, const json_t *o, const char *name, double fallback)
{
	const json_t *value = member(o, name);

	if (!value)
		return fallback;
	if (!json_is_number(value)) {
		fields_fail(f, name, "is not a number");
		return fallback;
	}
	return json_number_value(value);
}

bool field_bool(struct fields *f, const json_t *o, const char *name, bool fallback)
{
	const json_t *value = member(o, name);

	if (!value)
		return fallback;
	if (!json_is_boolean(value)) {
		fields_fail(f, name, "is neither true nor false");
		return fallback;
	}
	return json_is_true(value);
}

json_t *field_array(struct fields *f, const json_t *o, const char *name)
{
	json_t *value = member(o, name);

	if (value && !json_is_array(value)) {
		fields_fail(f, name, "is not an array");
		return NULL;
	}
	return value;
}

json_t *field_object(struct fields *f, const json_t *o, const char *name)
{
	json_t *value = member(o, name);

	if (value && !json_is_object(value)) {
		fields_fail(f, name, "is not an object");
		return NULL;
	}
	return value;
}

json_t *field_element(struct fields *f, const json_t *array, size_t i)
{
	json_t *value = json_array_get(array, i);

	if (!json_is_object(value)) {
		fields_fail(f, "", "is not an object");
		return NULL;
	}
	return value;
}
