/* course.c - see course.h */
#include "cmd/course.h"
#include "base/util.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static const double GROWN = 1e6;

void course_init(struct course *c)
{
	*c = (struct course){.best = {.step = -1, .loss = NAN, .accuracy = NAN},
			     .first_loss = NAN};
}

bool course_add_loss(struct course *c, double loss)
{
	bool had_grown = c->has_grown;

	if (!isfinite(loss)) {
		c->bad_steps++;
		return false;
	}
	c->bad_steps = 0;
	if (isnan(c->first_loss))
		c->first_loss = loss;
	c->has_grown |= c->first_loss > 0 && loss > GROWN * c->first_loss;
	return c->has_grown && !had_grown;
}

void course_add_evaluation(struct course *c, int step, const struct evaluation *e)
{
	c->since_best++;
	if (!isfinite(e->loss) || (c->best.step >= 0 && e->loss >= c->best.loss))
		return;
	c->best = (struct best_evaluation){
		.step = step, .loss = e->loss, .accuracy = e->accuracy};
	c->since_best = 0;
}

bool course_is_best(const struct course *c)
{
	return c->best.step >= 0 && !c->since_best;
}

void course_write(const struct course *c, struct json *j)
{
	json_begin_object(j, "course");
	if (c->best.step >= 0)
		metrics_put_best(j, &c->best);
	json_put_int(j, "since_best", c->since_best);
	json_put_int(j, "bad_steps", c->bad_steps);
	if (!isnan(c->first_loss))
		json_put_double(j, "first_loss", c->first_loss);
	json_put_bool(j, "has_grown", c->has_grown);
	json_end_object(j);
}

/* ---- reading it back ---- */

static enum status bad(const char *name, const char *why, struct error *err)
{
	FAIL(err, ERR_USAGE, "the course of the training: %.40s %s", name, why);
	return HINT(err, "the file was changed, or is of another version of kolm");
}

static enum status check_names(const json_t *object, const char *const *names, size_t count,
			       struct error *err)
{
	const char *key;
	json_t *value;
	size_t i;

	json_object_foreach((json_t *)(uintptr_t)object, key, value)
	{
		for (i = 0; i < count && strcmp(key, names[i]); i++)
			;
		if (i == count)
			return bad(key, "is unknown", err);
	}
	return OK;
}

static enum status read_count(const json_t *from, const char *name, int *out, struct error *err)
{
	const json_t *value = json_object_get(from, name);

	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
	    json_integer_value(value) > INT_MAX)
		return bad(name, "is not a count", err);
	*out = (int)json_integer_value(value);
	return OK;
}

/* Where there is none, it stays as it is. */
static enum status read_number(const json_t *from, const char *name, double *out,
			       struct error *err)
{
	const json_t *value = json_object_get(from, name);

	if (value && !json_is_number(value))
		return bad(name, "is not a number", err);
	if (value)
		*out = json_number_value(value);
	return OK;
}

static enum status read_best(struct best_evaluation *b, const json_t *from, struct error *err)
{
	static const char *const names[] = {"step", "loss", "accuracy"};
	enum status st;
	int step;

	if (!from)
		return OK;
	if (!json_is_object(from))
		return bad("best", "is not an object", err);
	TRY(check_names(from, names, ARRAY_SIZE(names), err));
	TRY(read_count(from, "step", &step, err));
	TRY(read_number(from, "loss", &b->loss, err));
	TRY(read_number(from, "accuracy", &b->accuracy, err));
	if (isnan(b->loss))
		return bad("best", "has no loss", err);
	if (b->accuracy < 0 || b->accuracy > 1)
		return bad("accuracy", "is not from 0 to 1", err);
	b->step = step;
out:
	return st;
}

enum status course_read(struct course *c, const json_t *from, struct error *err)
{
	static const char *const names[] = {"best", "since_best", "bad_steps", "first_loss",
					    "has_grown"};
	const json_t *has_grown = json_object_get(from, "has_grown");
	struct course read;
	enum status st;

	course_init(&read);
	if (!json_is_object(from))
		return bad("it", "is not an object", err);
	TRY(check_names(from, names, ARRAY_SIZE(names), err));
	TRY(read_best(&read.best, json_object_get(from, "best"), err));
	TRY(read_count(from, "since_best", &read.since_best, err));
	TRY(read_count(from, "bad_steps", &read.bad_steps, err));
	TRY(read_number(from, "first_loss", &read.first_loss, err));
	if (!json_is_boolean(has_grown))
		return bad("has_grown", "is neither true nor false", err);
	read.has_grown = json_is_true(has_grown);
	*c = read;
out:
	return st;
}
