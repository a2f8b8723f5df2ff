/* test_course.c - how a training goes: the best evaluation, bad steps, and what is kept of it.
 */
#include "testing.h"

#include "base/util.h"
#include "cmd/course.h"

#include <math.h>

static void evaluate(struct course *c, int step, double loss)
{
	course_add_evaluation(
		c, step, &(struct evaluation){.samples = 10, .loss = loss, .accuracy = 0.5});
}

/* Whatever the losses are: the best is the first of the smallest finite ones. */
static void the_best_is_the_smallest(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < 200; seed++) {
		struct course c;
		double smallest = INFINITY;
		int at = -1;

		course_init(&c);
		assert_false(course_is_best(&c));
		for (int i = 0; i < 30; i++) {
			uint32_t draw = (seed * 31 + (uint32_t)i) * 2654435761u >> 16;
			double loss = draw % 11 == 0   ? NAN
				      : draw % 13 == 0 ? INFINITY
						       : draw % 9;

			evaluate(&c, i, loss);
			if (loss < smallest) {
				smallest = loss;
				at = i;
			}
			assert_int_equal(c.best.step, at);
			assert_int_equal(c.since_best, at < 0 ? i + 1 : i - at);
			assert_int_equal(course_is_best(&c), at == i);
		}
		assert_true(at < 0 || c.best.loss == smallest);
	}
}

static void bad_steps_are_counted_in_a_row(void **state)
{
	static const double losses[] = {NAN, 2, INFINITY, NAN, -INFINITY, 1, 1, NAN};
	static const int bad[] = {1, 0, 1, 2, 3, 0, 0, 1};
	struct course c;

	(void)state;
	course_init(&c);
	for (size_t i = 0; i < ARRAY_SIZE(losses); i++) {
		assert_false(course_add_loss(&c, losses[i]));
		assert_int_equal(c.bad_steps, bad[i]);
	}
	assert_true(c.first_loss == 2);
}

static void growth_is_said_once(void **state)
{
	struct course c;

	(void)state;
	course_init(&c);
	assert_false(course_add_loss(&c, 0.5));
	assert_false(course_add_loss(&c, 0.5e6));
	assert_true(course_add_loss(&c, 0.6e6));
	assert_false(course_add_loss(&c, 1e30));
	course_init(&c);
	assert_false(course_add_loss(&c, 0)); /* nothing is a multiple of that */
	assert_false(course_add_loss(&c, 1));
}

/* Written and read back. */
static struct course copy_of(const struct course *c)
{
	struct error err = {0};
	struct course read;
	struct json j;
	json_t *root;

	json_init(&j, false);
	json_begin_object(&j, NULL);
	course_write(c, &j);
	json_end_object(&j);
	root = json_loads(j.text.data, 0, NULL);
	assert_non_null(root);
	assert_int_equal(course_read(&read, json_object_get(root, "course"), &err), OK);
	json_decref(root);
	json_release(&j);
	return read;
}

static void expect_same(const struct course *c)
{
	struct course read = copy_of(c);

	assert_true(read.best.step == c->best.step && read.since_best == c->since_best &&
		    read.bad_steps == c->bad_steps && read.has_grown == c->has_grown);
	assert_true(read.best.loss == c->best.loss || c->best.step < 0);
	assert_true(read.best.accuracy == c->best.accuracy || isnan(c->best.accuracy));
	assert_true(isnan(read.best.accuracy) == isnan(c->best.accuracy));
	assert_true(read.first_loss == c->first_loss ||
		    (isnan(read.first_loss) && isnan(c->first_loss)));
}

static void it_survives_a_restart(void **state)
{
	struct course c;

	(void)state;
	course_init(&c);
	expect_same(&c);
	course_add_loss(&c, 0.1 + 0.2);
	course_add_loss(&c, NAN);
	expect_same(&c);
	evaluate(&c, 7, 1.0 / 3);
	expect_same(&c);
	evaluate(&c, 9, 2);
	course_add_loss(&c, 1e9);
	expect_same(&c);
	course_add_evaluation(&c, 11, &(struct evaluation){.loss = 0.25, .accuracy = NAN});
	expect_same(&c);
}

/* What was not written so is refused, and leaves what was there. */
static void anything_else_is_refused(void **state)
{
	static const char *const wrong[] = {
		"[]",
		"3",
		"{}",
		"{'since_best': 0, 'bad_steps': 0}",
		"{'since_best': -1, 'bad_steps': 0, 'has_grown': false}",
		"{'since_best': 1e3, 'bad_steps': 0, 'has_grown': false}",
		"{'since_best': 9999999999, 'bad_steps': 0, 'has_grown': false}",
		"{'since_best': 0, 'bad_steps': '1', 'has_grown': false}",
		"{'since_best': 0, 'bad_steps': 0, 'has_grown': 0}",
		"{'since_best': 0, 'bad_steps': 0, 'has_grown': false, 'more': 1}",
		"{'since_best': 0, 'bad_steps': 0, 'has_grown': false, 'first_loss': null}",
		"{'since_best': 0, 'bad_steps': 0, 'has_grown': false, 'best': 1}",
		"{'since_best': 0, 'bad_steps': 0, 'has_grown': false, 'best': {'step': 1}}",
		"{'since_best': 0, 'bad_steps': 0, 'has_grown': false, 'best': {'loss': 1}}",
		"{'since_best': 0, 'bad_steps': 0, 'has_grown': false, "
		"'best': {'step': 1, 'loss': 1, 'accuracy': 2}}",
		"{'since_best': 0, 'bad_steps': 0, 'has_grown': false, "
		"'best': {'step': -1, 'loss': 1}}",
	};
	struct course c;

	(void)state;
	course_init(&c);
	c.since_best = 77;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		char text[256];
		struct error err = {0};
		json_t *root;

		snprintf(text, sizeof(text), "%s", wrong[i]);
		for (char *p = text; *p; p++)
			*p = *p == '\'' ? '"' : *p;
		root = json_loads(text, JSON_DECODE_ANY, NULL);
		assert_non_null(root);
		assert_int_equal(course_read(&c, root, &err), ERR_USAGE);
		assert_true(*err.msg && *err.hint);
		assert_int_equal(c.since_best, 77);
		json_decref(root);
	}
	assert_int_equal(course_read(&c, NULL, &(struct error){0}), ERR_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_best_is_the_smallest),
		cmocka_unit_test(bad_steps_are_counted_in_a_row),
		cmocka_unit_test(growth_is_said_once),
		cmocka_unit_test(it_survives_a_restart),
		cmocka_unit_test(anything_else_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
