/* option_file.c - options from and to JSON; see option.h */
#include "config/option.h"
#include "base/text.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

/* A JSON value as a user would write it on the command line. */
static bool value_text(const json_t *value, char *buf, size_t size)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
		/* An embedded '\0' would hide what follows it. */
		if (strlen(json_string_value(value)) != json_string_length(value))
			return false;
		return snprintf(buf, size, "%s", json_string_value(value)) < (int)size;
	case JSON_INTEGER:
		return snprintf(buf, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value)) >
		       0;
	case JSON_REAL:
		return snprintf(buf, size, "%.17g", json_real_value(value)) > 0;
	case JSON_TRUE:
		return snprintf(buf, size, "true") > 0;
	case JSON_FALSE:
		return snprintf(buf, size, "false") > 0;
	case JSON_NULL:
	case JSON_ARRAY:
	case JSON_OBJECT:
		break;
	}
	return false;
}

static enum status read_members(struct option_values *v, json_t *root, const char *where,
				struct error *err)
{
	enum status st = OK;
	const char *name;
	json_t *value;

	json_object_foreach(root, name, value)
	{
		const struct option *o = options_find(v->table, name);
		struct error inner = {0};
		char text[8192];

		if (o && o->unsaved) {
			FAIL(err, ERR_USAGE, "%s: --%s can't be set in a file", where, o->name);
			return HINT(err, "give it on the command line");
		}
		if (!value_text(value, text, sizeof(text))) {
			FAIL(err, ERR_USAGE, "%s: the value of '%.64s' can't be read", where,
			     name);
			return HINT(err, "use a number, a string, true or false");
		}
		st = options_set(v, name, text, SOURCE_FILE, &inner);
		if (st != OK) {
			FAIL(err, st, "%s: %.400s", where, inner.msg);
			return HINT(err, "%s", inner.hint);
		}
	}
	return st;
}

enum status options_read_json(struct option_values *v, const char *bytes, size_t size,
			      const char *where, struct error *err)
{
	enum status st;
	json_error_t problem;
	json_t *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &problem);

	if (!root) {
		st = FAIL(err, ERR_USAGE, "%s is not valid JSON: line %d, column %d: %s", where,
			  problem.line, problem.column, problem.text);
		HINT(err, "a configuration is an object of option names and values, as in "
			  "config.json of a run");
		goto out;
	}
	if (!json_is_object(root)) {
		st = FAIL(err, ERR_USAGE, "%s is JSON, but not an object", where);
		HINT(err, "write {\"dim\": 1024, \"depth\": 8}");
		goto out;
	}
	TRY(read_members(v, root, where, err));
out:
	json_decref(root);
	return st;
}

static void write_one(const struct option_values *v, const struct option *o, struct json *j)
{
	const void *at = (const char *)v->target + o->offset;
	char name[64];
	size_t n = strlen(o->name);

	for (size_t i = 0; i <= n; i++)
		name[i] = o->name[i] == '-' ? '_' : o->name[i];
	switch (o->type) {
	case OPTION_INT:
		json_put_int(j, name, *(const int *)at);
		break;
	case OPTION_INT64:
		json_put_int(j, name, *(const int64_t *)at);
		break;
	case OPTION_FLOAT:
	case OPTION_TIME:
	case OPTION_SECONDS:
		json_put_double(j, name, *(const double *)at);
		break;
	case OPTION_SIZE:
		json_put_int(j, name, (int64_t) * (const uint64_t *)at);
		break;
	case OPTION_CHOICE:
		json_put_string(j, name, o->choices[*(const int *)at]);
		break;
	case OPTION_STRING:
		json_put_string(j, name, at);
		break;
	case OPTION_FLAG:
		json_put_bool(j, name, *(const bool *)at);
		break;
	}
}

void options_write_json(const struct option_values *v, struct json *j)
{
	for (size_t i = 0; i < v->table->count; i++)
		if (!v->table->options[i].unsaved)
			write_one(v, &v->table->options[i], j);
}
