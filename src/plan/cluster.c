/* cluster.c - see cluster.h */
#include "plan/cluster.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "base/util.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name, *unit;
	double min, max;
} kinds[] = {
#define KIND(constant, text, unit, min, max, help) {text, unit, min, max},
	CLUSTER_CONSTANTS(KIND)
#undef KIND
};

/* Only members that are known, so that nobody waits for what a misspelt one would do. */
static enum status only(const json_t *object, const char *const *names, const char *what,
			const char *where, struct error *err)
{
	const char *key;
	json_t *value;

	if (!json_is_object(object))
		return FAIL(err, ERR_USAGE, "%s: %s should be an object", where, what);
	json_object_foreach((json_t *)object, key, value)
	{
		size_t i = 0;

		while (names[i] && strcmp(names[i], key))
			i++;
		if (!names[i])
			return FAIL(err, ERR_USAGE, "%s: %s has an unknown member '%.64s'",
				    where, what, key);
	}
	return OK;
}

static enum status check_origin(const json_t *object, const char *what, const char *where,
				struct error *err)
{
	const char *origin = json_string_value(json_object_get(object, "origin"));

	if (origin && *origin)
		return OK;
	FAIL(err, ERR_USAGE, "%s: %s has no origin", where, what);
	return HINT(err, "say where the value comes from: \"origin\": \"...\"");
}

static enum status check_constant(const struct cluster *c, size_t i, const char *where,
				  struct error *err)
{
	if (c->constants[i] >= kinds[i].min && c->constants[i] <= kinds[i].max)
		return OK;
	return FAIL(err, ERR_USAGE, "%s: %s %g is out of range; %g to %g", where, kinds[i].name,
		    c->constants[i], kinds[i].min, kinds[i].max);
}

static enum status read_constant(struct cluster *c, size_t i, const json_t *constants,
				 const char *where, struct error *err)
{
	static const char *const members[] = {"value", "unit", "origin", NULL};
	const char *name = kinds[i].name, *unit;
	const json_t *object = json_object_get(constants, name), *value;
	enum status st = OK;

	if (!object)
		return FAIL(err, ERR_USAGE, "%s: constants has no '%s'", where, name);
	TRY(only(object, members, name, where, err));
	value = json_object_get(object, "value");
	unit = json_string_value(json_object_get(object, "unit"));
	if (!json_is_number(value))
		return FAIL(err, ERR_USAGE, "%s: %s has no value that is a number", where,
			    name);
	c->constants[i] = json_number_value(value);
	TRY(check_constant(c, i, where, err));
	if (!unit || strcmp(unit, kinds[i].unit))
		return FAIL(err, ERR_USAGE, "%s: the unit of %s is '%s', not '%.32s'", where,
			    name, kinds[i].unit, unit ? unit : "");
	TRY(check_origin(object, name, where, err));
out:
	return st;
}

static enum status read_constants(struct cluster *c, const json_t *constants, const char *where,
				  struct error *err)
{
	const char *names[CLUSTER_CONSTANT_COUNT + 1] = {NULL};
	enum status st = OK;

	for (size_t i = 0; i < CLUSTER_CONSTANT_COUNT; i++)
		names[i] = kinds[i].name;
	TRY(only(constants, names, "constants", where, err));
	for (size_t i = 0; i < CLUSTER_CONSTANT_COUNT; i++)
		TRY(read_constant(c, i, constants, where, err));
out:
	return st;
}

/* Row i of the sums, behind the others. */
static enum status check_ring(const struct cluster *c, int i, const char *where,
			      struct error *err)
{
	const struct cluster_ring *ring = &c->rings[i];
	double least = i ? ring[-1].ranks + 1 : 2;

	if (!(ring->ranks >= least && ring->ranks <= 4096))
		return FAIL(err, ERR_USAGE,
			    "%s: sums over %g ranks are out of order; %g to 4096 should follow",
			    where, ring->ranks, least);
	if (!(ring->latency_us >= 0 && ring->latency_us <= 1e6 && ring->gb_per_s >= 1e-6 &&
	      ring->gb_per_s <= 1e6))
		return FAIL(err, ERR_USAGE,
			    "%s: a sum over %g ranks with %g us and %g GB/s is out of range",
			    where, ring->ranks, ring->latency_us, ring->gb_per_s);
	return OK;
}

enum status cluster_check(const struct cluster *c, const char *where, struct error *err)
{
	enum status st = OK;

	for (size_t i = 0; i < CLUSTER_CONSTANT_COUNT; i++)
		TRY(check_constant(c, i, where, err));
	for (int i = 0; i < c->ring_count; i++)
		TRY(check_ring(c, i, where, err));
out:
	return st;
}

/* [ranks, us, GB/s] */
static enum status read_ring(struct cluster *c, const json_t *row, const char *where,
			     struct error *err)
{
	struct cluster_ring *ring = &c->rings[c->ring_count];

	for (size_t i = 0; i < 3; i++)
		if (json_array_size(row) != 3 || !json_is_number(json_array_get(row, i)))
			return FAIL(err, ERR_USAGE,
				    "%s: a row of sums should be [ranks, us, GB/s]", where);
	ring->ranks = json_number_value(json_array_get(row, 0));
	ring->latency_us = json_number_value(json_array_get(row, 1));
	ring->gb_per_s = json_number_value(json_array_get(row, 2));
	return check_ring(c, c->ring_count++, where, err);
}

static enum status read_rings(struct cluster *c, const json_t *sums, const char *where,
			      struct error *err)
{
	static const char *const members[] = {"rows", "unit", "origin", NULL};
	const json_t *rows = json_object_get(sums, "rows");
	size_t count = json_array_size(rows);
	enum status st = OK;

	TRY(only(sums, members, "sums", where, err));
	TRY(check_origin(sums, "sums", where, err));
	if (count < 1 || count > CLUSTER_RINGS_MAX)
		return FAIL(err, ERR_USAGE, "%s: sums has %zu rows; 1 to %d are allowed", where,
			    count, CLUSTER_RINGS_MAX);
	for (size_t i = 0; i < count; i++)
		TRY(read_ring(c, json_array_get(rows, i), where, err));
out:
	return st;
}

enum status cluster_read(struct cluster *c, const char *bytes, size_t size, const char *where,
			 struct error *err)
{
	static const char *const members[] = {"name", "about", "constants", "sums", NULL};
	json_error_t problem;
	json_t *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &problem);
	const char *name = json_string_value(json_object_get(root, "name"));
	enum status st = OK;

	*c = (struct cluster){.ring_count = 0};
	if (!root)
		return FAIL(err, ERR_USAGE, "%s is not JSON: line %d: %.160s", where,
			    problem.line, problem.text);
	TRY(only(root, members, "a cluster", where, err));
	if (!name || !*name || strlen(name) >= sizeof(c->name)) {
		st = FAIL(err, ERR_USAGE, "%s: a cluster needs a name of at most %d letters",
			  where, CLUSTER_NAME_MAX - 1);
		goto out;
	}
	snprintf(c->name, sizeof(c->name), "%s", name);
	TRY(read_constants(c, json_object_get(root, "constants"), where, err));
	TRY(read_rings(c, json_object_get(root, "sums"), where, err));
out:
	json_decref(root);
	return st;
}

const char *cluster_builtin_name(size_t i)
{
	return i < cluster_file_count ? cluster_files[i].name : NULL;
}

const char *cluster_constant_name(enum cluster_constant which)
{
	return kinds[which].name;
}

const char *cluster_constant_unit(enum cluster_constant which)
{
	return kinds[which].unit;
}

static enum status unknown_constant(const char *name, struct error *err)
{
	const char *names[CLUSTER_CONSTANT_COUNT], *nearest;

	for (size_t i = 0; i < CLUSTER_CONSTANT_COUNT; i++)
		names[i] = kinds[i].name;
	nearest = name_nearest(name, names, CLUSTER_CONSTANT_COUNT);
	FAIL(err, ERR_USAGE, "--set %.64s: a cluster has no such constant", name);
	return HINT(err, nearest ? "did you mean %s?" : "docs/plan.md says where they are%s",
		    nearest ? nearest : "");
}

/* One change; text is changed on the way. */
static enum status set_one(struct cluster *c, char *text, struct error *err)
{
	char *value = strchr(text, '=');
	size_t i = 0, length;
	double number;
	bool times;

	if (!value)
		return FAIL(err, ERR_USAGE, "--set %.64s should be NAME=VALUE or NAME=2x",
			    text);
	*value++ = '\0';
	while (i < CLUSTER_CONSTANT_COUNT && !name_equal(kinds[i].name, text))
		i++;
	if (i == CLUSTER_CONSTANT_COUNT)
		return unknown_constant(text, err);
	length = strlen(value);
	times = length && value[length - 1] == 'x';
	if (times)
		value[length - 1] = '\0';
	if (!units_parse_float(value, &number))
		return FAIL(err, ERR_USAGE, "--set %s: '%.64s' is not a number", text, value);
	if (times)
		number *= c->constants[i];
	if (!(number >= kinds[i].min && number <= kinds[i].max))
		return FAIL(err, ERR_USAGE, "--set %s: %g is out of range; %g to %g", text,
			    number, kinds[i].min, kinds[i].max);
	c->constants[i] = number;
	return OK;
}

enum status cluster_set(struct cluster *c, const char *changes, struct error *err)
{
	char *copy = strdup(changes), *rest = copy, *one;
	enum status st = OK;

	if (!copy)
		return FAIL(err, ERR_MEMORY, "no memory for --set");
	while ((one = strsep(&rest, ";")))
		if (*one)
			TRY(set_one(c, one, err));
out:
	free(copy);
	return st;
}

static enum status unknown(const char *name, struct error *err)
{
	char names[200] = "";
	size_t length = 0;

	for (size_t i = 0; i < cluster_file_count && length < sizeof(names); i++)
		length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s",
					   i ? ", " : "", cluster_files[i].name);
	FAIL(err, ERR_USAGE, "there is no cluster '%.64s', and no such file", name);
	return HINT(err, "there are %s; or give a file (docs/plan.md)", names);
}

/* The only one of the same device, by the first word of its name; NULL: there are several, or
   none. */
static const struct cluster_file *only_like(const char *name)
{
	const struct cluster_file *found = NULL;
	size_t word = strcspn(name, "-");

	for (size_t i = 0; i < cluster_file_count; i++) {
		if (strcspn(cluster_files[i].name, "-") != word ||
		    strncmp(cluster_files[i].name, name, word))
			continue;
		if (found)
			return NULL;
		found = &cluster_files[i];
	}
	return found;
}

static enum status read_builtin(struct cluster *c, const struct cluster_file *f,
				struct error *err)
{
	return cluster_read(c, (const char *)f->bytes, f->size, f->name, err);
}

enum status cluster_find(struct cluster *c, const char *name, struct error *err)
{
	struct error own = {0};
	char *bytes;
	size_t size;
	enum status st;

	for (size_t i = 0; i < cluster_file_count; i++)
		if (!strcmp(cluster_files[i].name, name))
			return read_builtin(c, &cluster_files[i], err);
	if (!strchr(name, '/') && !strchr(name, '.')) {
		const struct cluster_file *like = only_like(name);

		return like ? read_builtin(c, like, err) : unknown(name, err);
	}
	st = file_read(name, CLUSTER_FILE_MAX, &bytes, &size, &own);
	if (st != OK)
		return error_copy(err, &own);
	st = cluster_read(c, bytes, size, name, err);
	free(bytes);
	return st;
}
