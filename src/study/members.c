/* members.c - see members.h */
#include "study/members.h"
#include "base/text.h"
#include "base/util.h"
#include "study/study.h"

#include <string.h>

static const struct {
	const char *name;
	int min, max;
} bounds[] = {{"repetitions", 1, STUDY_REPS_MAX}, {"digits", -1, 12}};

static int type_of(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
		return STRING;
	case JSON_INTEGER:
	case JSON_REAL:
		return NUMBER;
	case JSON_OBJECT:
		return OBJECT;
	case JSON_ARRAY:
		return ARRAY;
	case JSON_NULL:
		return NONE;
	case JSON_TRUE:
	case JSON_FALSE:
		break;
	}
	return BOOL;
}

static const struct member *find(const struct member *members, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(members[i].name, name))
			return &members[i];
	return NULL;
}

static enum status unknown_member(const char *where, const char *name,
				  const struct member *members, size_t n, struct error *err)
{
	const char *names[32], *nearest;

	for (size_t i = 0; i < n; i++)
		names[i] = members[i].name;
	nearest = name_nearest(name, names, n);
	FAIL(err, ERR_USAGE, "%s: unknown member '%.40s'", where, name);
	if (nearest)
		return HINT(err, "did you mean '%s'?", nearest);
	return HINT(err, "docs/studies.md lists them");
}

static enum status check_whole(const char *name, const json_t *value, const char *where,
			       struct error *err)
{
	json_int_t number = json_integer_value(value);
	size_t i = 0;

	while (strcmp(bounds[i].name, name))
		i++;
	if (json_is_integer(value) && number >= bounds[i].min && number <= bounds[i].max)
		return OK;
	return FAIL(err, ERR_USAGE, "%s: '%s' must be a whole number from %d to %d", where,
		    name, bounds[i].min, bounds[i].max);
}

/* Is it what the member may be? */
static enum status check_member(const struct member *m, const json_t *value, const char *where,
				struct error *err)
{
	if (m->types & WHOLE)
		return check_whole(m->name, value, where, err);
	if (m->types & type_of(value))
		return OK;
	FAIL(err, ERR_USAGE, "%s: '%s' is of the wrong type", where, m->name);
	return HINT(err, "docs/studies.md shows how it is written");
}

enum status members_check(const json_t *object, const char *where, const struct member *members,
			  size_t n, struct error *err)
{
	const char *name;
	json_t *value;
	enum status st = OK;

	if (!json_is_object(object))
		return FAIL(err, ERR_USAGE, "%s must be an object", where);
	json_object_foreach((json_t *)object, name, value)
	{
		const struct member *m = find(members, n, name);

		if (!m)
			return unknown_member(where, name, members, n, err);
		TRY(check_member(m, value, where, err));
	}
	for (size_t i = 0; i < n; i++)
		if (members[i].types & NEEDED && !json_object_get(object, members[i].name)) {
			FAIL(err, ERR_USAGE, "%s: '%s' is missing", where, members[i].name);
			return HINT(err, "'kolm study show strong-scaling' prints an example");
		}
out:
	return st;
}
