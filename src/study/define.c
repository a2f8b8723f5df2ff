/* define.c - a study's file, checked: every member known, of the right type, and meaning
   something; see study.h */
#include "study/study.h"
#include "base/util.h"
#include "study/answer.h"
#include "study/column.h"
#include "study/members.h"

#include <stdlib.h>
#include <string.h>

#define CHECK(object, where, members) \
	members_check(object, where, members, ARRAY_SIZE(members), err)

/* A name that can be a folder's or a column's. */
static enum status check_name(const char *name, const char *where, struct error *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_-";

	if (*name && strlen(name) < STUDY_NAME_MAX / 2 && *name != '-' &&
	    strspn(name, allowed) == strlen(name))
		return OK;
	FAIL(err, ERR_USAGE, "%s: '%.40s' can't be a name", where, name);
	return HINT(err, "up to %d letters, digits, '-' and '_'", STUDY_NAME_MAX / 2 - 1);
}

/* An option of the command that a case starts. What it writes is not for a file that may have
   come from anywhere to say. */
static enum status check_option(const struct study_command *c, const char *name,
				const char *text, const char *where, struct error *err)
{
	const struct option_table *table = c->tables[0];
	const struct option *o = options_find(table, name);
	struct error inner = {.code = OK};

	if (!o && c->tables[1]) {
		table = c->tables[1];
		o = options_find(table, name);
	}
	if (o && o->reserved) {
		FAIL(err, ERR_USAGE, "%s: a study can't set --%s", where, o->name);
		return HINT(err,
			    "it writes to its own folder, and its options are in its file");
	}
	if (options_check(table, name, text, &inner) == OK)
		return OK;
	FAIL(err, ERR_USAGE, "%s: %.300s", where, inner.msg);
	return HINT(err, "%s", inner.hint);
}

static enum status check_options(const json_t *options, const struct study_command *command,
				 const char *where, struct error *err)
{
	enum status st = OK;
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)options, name, value)
	{
		char text[1024];

		if (json_is_null(value))
			continue; /* takes back what was set further up */
		if (!value_text(value, text, sizeof(text))) {
			FAIL(err, ERR_USAGE, "%s: the value of '%.40s' can't be read", where,
			     name);
			return HINT(err, "use a number, a string, true or false");
		}
		TRY(check_option(command, name, text, where, err));
	}
out:
	return st;
}

static enum status check_value(const json_t *value, const char *option,
			       const struct study_command *command, const char *where,
			       struct error *err)
{
	static const struct member members[] = {
		{"name", STRING | NEEDED}, {"value", NUMBER}, {"set", OBJECT}};
	char text[STUDY_NAME_MAX];
	enum status st;

	if (!json_is_object(value)) {
		if (!option) {
			FAIL(err, ERR_USAGE, "%s: values without an option", where);
			return HINT(err, "give the axis an 'option', or each value a 'set'");
		}
		if (!value_text(value, text, sizeof(text)))
			return FAIL(err, ERR_USAGE, "%s: a value can't be read", where);
		return check_option(command, option, text, where, err);
	}
	TRY(CHECK(value, where, members));
	if (!value_text(json_object_get(value, "name"), text, sizeof(text)) || !*text)
		return FAIL(err, ERR_USAGE, "%s: the name of a value can't be read", where);
	if (json_object_get(value, "set"))
		TRY(check_options(json_object_get(value, "set"), command, where, err));
out:
	return st;
}

static enum status check_axis(const json_t *axis, const struct study_command *command,
			      const char *where, struct error *err)
{
	static const struct member members[] = {{"name", STRING | NEEDED},  {"label", STRING},
						{"unit", STRING},	    {"option", STRING},
						{"values", ARRAY | NEEDED}, {"quick", ARRAY}};
	static const char *const lists[] = {"values", "quick"};
	static const char *const taken[] = {"case", "group", "device", "rank"};
	const char *option, *name;
	enum status st;

	TRY(CHECK(axis, where, members));
	name = json_string_value(json_object_get(axis, "name"));
	TRY(check_name(name, where, err));
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		if (!strcmp(taken[i], name))
			return FAIL(err, ERR_USAGE, "%s: every study has a '%s' already", where,
				    name);
	option = json_string_value(json_object_get(axis, "option"));
	for (size_t k = 0; k < ARRAY_SIZE(lists); k++) {
		const json_t *list = json_object_get(axis, lists[k]);

		if (list && !json_array_size(list))
			return FAIL(err, ERR_USAGE, "%s: '%s' is empty", where, lists[k]);
		for (size_t i = 0; i < json_array_size(list); i++)
			TRY(check_value(json_array_get(list, i), option, command, where, err));
	}
out:
	return st;
}

static enum status check_group(const struct study_command *c, const json_t *group,
			       const char *where, struct error *err)
{
	static const char *const devices[] = {"auto", "real", "virtual", "both"};
	const json_t *axes = json_object_get(group, "axes");
	const char *command = json_string_value(json_object_get(group, "command"));
	const char *device = json_string_value(json_object_get(group, "devices"));
	const json_t *quick = json_object_get(group, "quick");
	bool placed = !device;
	char place[160];
	enum status st = OK;

	while (command && c->name && strcmp(c->name, command))
		c++;
	for (size_t i = 0; device && i < ARRAY_SIZE(devices); i++)
		placed = placed || !strcmp(devices[i], device);
	if (!c->name) {
		FAIL(err, ERR_USAGE, "%s: '%.40s' can't be the command of a case", where,
		     command);
		return HINT(err, "train, max-batch or schedule");
	}
	if (!placed) {
		FAIL(err, ERR_USAGE, "%s: devices '%.40s'", where, device);
		return HINT(err, "auto, real, virtual or both");
	}
	TRY(check_options(json_object_get(group, "set"), c, where, err));
	TRY(check_options(json_object_get(quick, "set"), c, where, err));
	if (json_array_size(axes) > STUDY_AXES_MAX)
		return FAIL(err, ERR_USAGE, "%s: more than %d axes", where, STUDY_AXES_MAX);
	for (size_t i = 0; i < json_array_size(axes); i++) {
		snprintf(place, sizeof(place), "%s: axes[%zu]", where, i);
		TRY(check_axis(json_array_get(axes, i), c, place, err));
	}
out:
	return st;
}

static enum status check_groups(const struct study *s, const struct study_command *commands,
				const char *where, struct error *err)
{
	static const struct member members[] = {{"name", STRING | NEEDED}, {"command", STRING},
						{"set", OBJECT},	   {"quick", OBJECT},
						{"devices", STRING},	   {"axes", ARRAY}};
	static const struct member quick[] = {{"set", OBJECT}};
	const json_t *groups = json_object_get(s->root, "groups");
	char place[128];
	enum status st = OK;

	if (groups && (json_object_get(s->root, "axes") || !json_array_size(groups))) {
		FAIL(err, ERR_USAGE, "%s: 'groups' and 'axes' at once, or no group", where);
		return HINT(err, "axes belong into the groups, or leave out 'groups'");
	}
	for (size_t i = 0; i < json_array_size(groups); i++) {
		const json_t *group = json_array_get(groups, i);

		snprintf(place, sizeof(place), "%s: groups[%zu]", where, i);
		TRY(CHECK(group, place, members));
		if (json_object_get(group, "quick"))
			TRY(CHECK(json_object_get(group, "quick"), place, quick));
		TRY(check_name(json_string_value(json_object_get(group, "name")), place, err));
		TRY(check_group(commands, group, place, err));
	}
	if (!groups)
		TRY(check_group(commands, s->root, where, err));
out:
	return st;
}

/* Lists whose elements have members of their own; what these name is checked later. */
static enum status check_lists(const struct study *s, const char *where, struct error *err)
{
	static const struct member table[] = {
		{"id", STRING | NEEDED},     {"title", STRING | NEEDED}, {"per", STRING},
		{"columns", ARRAY | NEEDED}, {"where", OBJECT},		 {"note", STRING}};
	static const struct member chart[] = {
		{"id", STRING | NEEDED},   {"table", STRING | NEEDED},
		{"kind", STRING | NEEDED}, {"title", STRING | NEEDED},
		{"caption", STRING},	   {"x", STRING | NEEDED},
		{"x_label", STRING},	   {"y", ARRAY | NEEDED},
		{"y_label", STRING},	   {"split", STRING},
		{"log_x", BOOL},	   {"log_y", BOOL},
		{"ideal", STRING},	   {"where", OBJECT}};
	static const struct member curve[] = {
		{"id", STRING | NEEDED}, {"title", STRING | NEEDED},
		{"y", STRING | NEEDED},	 {"y_label", STRING},
		{"log_y", BOOL},	 {"label", STRING | NEEDED},
		{"where", OBJECT}};
	static const struct member gantt[] = {{"title", STRING | NEEDED}, {"where", OBJECT}};
	static const struct member column[] = {{"key", STRING | NEEDED}, {"label", STRING},
					       {"unit", STRING},	 {"kind", STRING},
					       {"digits", WHOLE},	 {"formula", STRING},
					       {"from", STRING},	 {"observe", ARRAY}};
	static const struct member question[] = {{"id", STRING | NEEDED},
						 {"question", STRING | NEEDED},
						 {"verdict", STRING | OBJECT | NEEDED},
						 {"facts", ARRAY},
						 {"say", ARRAY},
						 {"where", OBJECT},
						 {"at", OBJECT},
						 {"per", STRING},
						 {"shared", BOOL},
						 {"table", STRING},
						 {"figures", ARRAY},
						 {"rows", ARRAY}};
	static const struct {
		const char *name;
		const struct member *members;
		size_t count;
	} lists[] = {{"tables", table, ARRAY_SIZE(table)},
		     {"charts", chart, ARRAY_SIZE(chart)},
		     {"curves", curve, ARRAY_SIZE(curve)},
		     {"gantts", gantt, ARRAY_SIZE(gantt)},
		     {"columns", column, ARRAY_SIZE(column)},
		     {"questions", question, ARRAY_SIZE(question)}};
	char place[128];
	enum status st = OK;

	for (size_t k = 0; k < ARRAY_SIZE(lists); k++) {
		const json_t *list = json_object_get(s->root, lists[k].name);

		for (size_t i = 0; i < json_array_size(list); i++) {
			const json_t *one = json_array_get(list, i);

			snprintf(place, sizeof(place), "%s: %s[%zu]", where, lists[k].name, i);
			TRY(members_check(one, place, lists[k].members, lists[k].count, err));
			/* Those of questions are the course's: 1.2.3. */
			if (json_object_get(one, "id") && strcmp(lists[k].name, "questions"))
				TRY(check_name(json_string_value(json_object_get(one, "id")),
					       place, err));
		}
	}
out:
	return st;
}

static enum status check_top(struct study *s, const struct study_command *usual,
			     const char *where, struct error *err)
{
	static const struct member members[] = {
		{"name", STRING | NEEDED}, {"title", STRING | NEEDED},
		{"requirements", ARRAY},   {"about", STRING},
		{"base", OBJECT},	   {"quick", OBJECT},
		{"repetitions", WHOLE},	   {"groups", ARRAY},
		{"axes", ARRAY},	   {"command", STRING},
		{"set", OBJECT},	   {"devices", STRING},
		{"columns", ARRAY},	   {"tables", ARRAY | NEEDED},
		{"charts", ARRAY},	   {"curves", ARRAY},
		{"gantts", ARRAY},	   {"questions", ARRAY}};
	static const struct member quick[] = {
		{"base", OBJECT}, {"set", OBJECT}, {"repetitions", WHOLE}};
	const json_t *list;
	enum status st;

	TRY(CHECK(s->root, where, members));
	s->name = json_string_value(json_object_get(s->root, "name"));
	s->title = json_string_value(json_object_get(s->root, "title"));
	s->about = json_string_value(json_object_get(s->root, "about"));
	s->about = s->about ? s->about : "";
	TRY(check_name(s->name, where, err));
	if (json_object_get(s->root, "quick"))
		TRY(CHECK(json_object_get(s->root, "quick"), where, quick));
	TRY(check_options(json_object_get(s->root, "base"), usual, where, err));
	TRY(check_options(json_object_get(json_object_get(s->root, "quick"), "base"), usual,
			  where, err));
	list = json_object_get(s->root, "requirements");
	for (size_t i = 0; i < json_array_size(list); i++)
		if (!json_is_string(json_array_get(list, i)))
			return FAIL(err, ERR_USAGE, "%s: requirements are strings", where);
out:
	return st;
}

enum status study_load(struct study *s, const struct study_command *commands, const char *bytes,
		       size_t size, const char *where, struct error *err)
{
	json_error_t problem;
	enum status st;

	*s = (struct study){.root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &problem)};
	if (!s->root) {
		st = FAIL(err, ERR_USAGE, "%s is not valid JSON: line %d, column %d: %s", where,
			  problem.line, problem.column, problem.text);
		HINT(err, "'kolm study show strong-scaling' prints an example");
		goto out;
	}
	TRY(check_top(s, commands, where, err));
	TRY(check_groups(s, commands, where, err));
	TRY(check_lists(s, where, err));
	TRY(columns_check(s, where, err));
	TRY(questions_check(s, where, err));
out:
	if (st != OK)
		study_unload(s);
	return st;
}

void study_unload(struct study *s)
{
	json_decref(s->root);
	*s = (struct study){0};
}
