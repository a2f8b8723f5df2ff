/* option.c - parsing and storing options; see option.h */
#include "config/option.h"
#include "base/text.h"
#include "base/units.h"
#include "base/util.h"
#include "config/foreign.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void *field(const struct option_values *v, const struct option *o)
{
	return (char *)v->target + o->offset;
}

const struct option *options_find(const struct option_table *table, const char *name)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct option *o = &table->options[i];

		if (name_equal(name, o->name) || (o->alias && name_equal(name, o->alias)))
			return o;
	}
	return NULL;
}

enum option_source options_source(const struct option_values *v, const char *name)
{
	const struct option *o = options_find(v->table, name);

	assert(o);
	return (enum option_source)v->source[o - v->table->options];
}

void options_mark(struct option_values *v, const char *name, enum option_source source)
{
	const struct option *o = options_find(v->table, name);

	assert(o);
	v->source[o - v->table->options] = (unsigned char)source;
}

/* What was meant by a name that is not in the table, or NULL. */
static const char *meant(const struct option_table *table, const char *name)
{
	const char *names[2 * OPTION_MAX + 1], *ours = foreign_find(name);
	size_t n = 0;

	if (ours && options_find(table, ours))
		return ours;
	for (size_t i = 0; i < table->count; i++) {
		names[n++] = table->options[i].name;
		if (table->options[i].alias)
			names[n++] = table->options[i].alias;
	}
	names[n++] = "help";
	return name_nearest(name, names, n);
}

static enum status unknown(const struct option_table *table, const char *name,
			   struct error *err)
{
	const char *nearest = meant(table, name);

	FAIL(err, ERR_USAGE, "unknown option '--%.64s'", name);
	if (nearest)
		return HINT(err, "did you mean --%s?", nearest);
	return HINT(err, "'kolm %s --help' lists the options", table->command);
}

static enum status bad_value(const struct option *o, const char *text, const char *wanted,
			     struct error *err)
{
	FAIL(err, ERR_USAGE, "--%s %.128s is not %s", o->name, *text ? text : "''", wanted);
	return HINT(err, "--%s %s: %s (default %s)", o->name, o->meta ? o->meta : "", o->help,
		    *o->initial ? o->initial : "none");
}

static enum status check_range(const struct option *o, double value, const char *text,
			       struct error *err)
{
	if (o->min == o->max || (value >= o->min && value <= o->max))
		return OK;
	FAIL(err, ERR_USAGE, "--%s %.64s is out of range", o->name, text);
	return HINT(err, "it takes %.15g to %.15g", o->min, o->max);
}

static enum status set_choice(const struct option *o, const char *text, int *out,
			      struct error *err)
{
	struct text list;

	for (int i = 0; o->choices[i]; i++)
		if (!strcmp(o->choices[i], text)) {
			*out = i;
			return OK;
		}
	text_init(&list);
	for (int i = 0; o->choices[i]; i++)
		text_addf(&list, "%s%s", i ? ", " : "", o->choices[i]);
	FAIL(err, ERR_USAGE, "--%s %.64s is not a known choice", o->name, *text ? text : "''");
	HINT(err, "choose one of %s", list.data);
	text_release(&list);
	return ERR_USAGE;
}

static enum status set_number(const struct option *o, const char *text,
			      enum option_source source, void *at, struct error *err)
{
	enum status st = OK;
	int64_t whole = 0;
	double real = 0;
	uint64_t bytes = 0;
	/* config.json has the number, people write the word. */
	bool is_zero_word = o->zero && (!strcmp(o->zero, text) ||
					(source == SOURCE_FILE && !strcmp(text, "0")));

	switch (o->type) {
	case OPTION_INT:
	case OPTION_INT64:
		if (!is_zero_word && !units_parse_int(text, &whole))
			return bad_value(o, text, "a whole number", err);
		if (!is_zero_word)
			TRY(check_range(o, (double)whole, text, err));
		if (o->type == OPTION_INT64)
			*(int64_t *)at = whole;
		else
			*(int *)at = (int)whole;
		break;
	case OPTION_FLOAT:
		if (!is_zero_word && !units_parse_float(text, &real))
			return bad_value(o, text, "a number", err);
		if (!is_zero_word)
			TRY(check_range(o, real, text, err));
		*(double *)at = real + 0.0; /* -0 would be written and not read back */
		break;
	case OPTION_TIME:
	case OPTION_SECONDS:
		if (o->type == OPTION_SECONDS && units_parse_float(text, &real))
			real *= 1e3;
		else if (!is_zero_word && !units_parse_time(text, &real))
			return bad_value(o, text, "a time such as 10ms or 2s", err);
		if (o->type == OPTION_SECONDS)
			real /= 1e3;
		if (!is_zero_word)
			TRY(check_range(o, real, text, err));
		*(double *)at = real + 0.0;
		break;
	case OPTION_SIZE:
		if (!is_zero_word && !units_parse_size(text, &bytes))
			return bad_value(o, text, "a size such as 512MiB or 2GB", err);
		*(uint64_t *)at = bytes;
		break;
	case OPTION_CHOICE:
	case OPTION_STRING:
	case OPTION_FLAG:
		assert(!"no number");
	}
out:
	return st;
}

static enum status set_value(const struct option *o, const char *text,
			     enum option_source source, void *at, struct error *err)
{
	switch (o->type) {
	case OPTION_CHOICE:
		return set_choice(o, text, at, err);
	case OPTION_STRING:
		if (!text_is_utf8(text)) {
			FAIL(err, ERR_USAGE, "--%s: the value is not valid UTF-8", o->name);
			return HINT(err, "no JSON file could hold it; a file can be renamed");
		}
		if (strlen(text) >= o->capacity) {
			FAIL(err, ERR_USAGE, "--%s: %zu bytes are too long", o->name,
			     strlen(text));
			return HINT(err, "there is room for %zu", o->capacity - 1);
		}
		memcpy(at, text, strlen(text) + 1);
		return OK;
	case OPTION_FLAG:
		if (strcmp(text, "true") && strcmp(text, "false"))
			return bad_value(o, text, "true or false", err);
		*(bool *)at = !strcmp(text, "true");
		return OK;
	case OPTION_INT:
	case OPTION_INT64:
	case OPTION_FLOAT:
	case OPTION_SIZE:
	case OPTION_TIME:
	case OPTION_SECONDS:
		break;
	}
	return set_number(o, text, source, at, err);
}

void options_forget(struct option_values *v, const char *name)
{
	const struct option *o = options_find(v->table, name);
	struct error err = {0};

	assert(o);
	set_value(o, o->initial, SOURCE_DEFAULT, field(v, o), &err);
	options_mark(v, name, SOURCE_DEFAULT);
}

/* Once more an option that may be repeated. */
static enum status append(const struct option *o, const char *text, char *at, struct error *err)
{
	size_t used = strlen(at);

	if (used + 1 + strlen(text) >= o->capacity)
		return FAIL(err, ERR_USAGE, "--%s: more than %zu characters in all", o->name,
			    o->capacity - 1);
	if (!text_is_utf8(text))
		return set_value(o, text, SOURCE_COMMAND_LINE, at, err);
	at[used] = ';';
	memcpy(at + used + 1, text, strlen(text) + 1);
	return OK;
}

enum status options_check(const struct option_table *table, const char *name, const char *text,
			  struct error *err)
{
	const struct option *o = options_find(table, name);
	char *spare;
	enum status st;

	if (!o)
		return unknown(table, name, err);
	spare = calloc(1, o->capacity + sizeof(double));
	st = spare ? set_value(o, text, SOURCE_FILE, spare, err)
		   : FAIL(err, ERR_MEMORY, "no memory for an option");
	free(spare);
	return st;
}

enum status options_set(struct option_values *v, const char *name, const char *text,
			enum option_source source, struct error *err)
{
	const struct option *o = options_find(v->table, name);
	size_t i;

	if (!o)
		return unknown(v->table, name, err);
	i = (size_t)(o - v->table->options);
	if (source < v->source[i])
		return options_check(v->table, name, text, err); /* hidden by a higher source */
	if (o->repeat && source == v->source[i] && source != SOURCE_DEFAULT)
		return append(o, text, field(v, o), err);
	v->source[i] = (unsigned char)source;
	return set_value(o, text, source, field(v, o), err);
}

void options_init(struct option_values *v, const struct option_table *table, void *target)
{
	struct error err = {0};

	assert(table->count <= OPTION_MAX);
	*v = (struct option_values){.table = table, .target = target};
	for (size_t i = 0; i < table->count; i++) {
		enum status st = set_value(&table->options[i], table->options[i].initial,
					   SOURCE_DEFAULT, field(v, &table->options[i]), &err);

		assert(st == OK);
		(void)st;
	}
}

/* argv[*i] is --name, --name=value or --name value; *i moves over what it used. */
static enum status parse_one(struct option_values *v, int argc, char *const *argv, int *i,
			     struct error *err)
{
	const char *word = argv[*i] + 2, *equals = strchr(word, '=');
	const struct option *o;
	char name[64];
	size_t n = equals ? (size_t)(equals - word) : strlen(word);

	if (n >= sizeof(name))
		n = sizeof(name) - 1;
	memcpy(name, word, n);
	name[n] = '\0';
	if (!strcmp(name, "help")) {
		v->help = true;
		return OK;
	}
	o = options_find(v->table, name);
	if (!o)
		return unknown(v->table, name, err);
	if (equals && (equals[1] || o->type != OPTION_STRING))
		return options_set(v, name, equals + 1, SOURCE_COMMAND_LINE, err);
	if (!equals && o->type == OPTION_FLAG)
		return options_set(v, name, "true", SOURCE_COMMAND_LINE, err);
	/* "--run-dir --quiet" is a forgotten value, not a folder of that name. */
	if (equals || *i + 1 >= argc || !argv[*i + 1][0] || !strncmp(argv[*i + 1], "--", 2)) {
		FAIL(err, ERR_USAGE, "--%s needs a value", o->name);
		return HINT(err, "--%s %s: %s", o->name, o->meta ? o->meta : "", o->help);
	}
	++*i;
	return options_set(v, name, argv[*i], SOURCE_COMMAND_LINE, err);
}

enum status options_parse(struct option_values *v, int argc, char *const *argv,
			  struct error *err)
{
	bool only_names = false; /* behind "--", whatever they begin with */
	enum status st = OK;

	for (int i = 0; i < argc && !v->help; i++) {
		if (!only_names && !strcmp(argv[i], "-h")) {
			v->help = true;
		} else if (!only_names && !strcmp(argv[i], "--")) {
			only_names = true;
		} else if (!only_names && !strncmp(argv[i], "--", 2)) {
			TRY(parse_one(v, argc, argv, &i, err));
		} else if ((only_names || argv[i][0] != '-') &&
			   v->positionals < v->table->positional) {
			v->positional[v->positionals++] = argv[i];
		} else {
			FAIL(err, ERR_USAGE, "unexpected argument '%.64s'", argv[i]);
			return HINT(
				err,
				"options begin with two dashes; 'kolm %s --help' lists them",
				v->table->command);
		}
	}
out:
	return st;
}

enum status options_split(struct option_values *v, int argc, char *const *argv, char **rest,
			  int *n, struct error *err)
{
	enum status st = OK;

	for (int i = 0; i < argc; i++) {
		const char *equals = strchr(argv[i], '=');
		char name[64] = "";
		const struct option *o;
		int used = 1;

		if (!strncmp(argv[i], "--", 2))
			snprintf(name, sizeof(name), "%.*s",
				 (int)(equals ? equals - argv[i] - 2 : 60), argv[i] + 2);
		o = *name ? options_find(v->table, name) : NULL;
		if (!o && strcmp(argv[i], "--help") && strcmp(argv[i], "-h")) {
			rest[(*n)++] = argv[i];
			continue;
		}
		if (o && o->type != OPTION_FLAG && !equals && i + 1 < argc)
			used = 2;
		TRY(options_parse(v, used, argv + i, err));
		i += used - 1;
	}
out:
	return st;
}
