/* test_suggestions.c - what an option that does not exist is answered with. */
#include "testing.h"

#include "base/text.h"
#include "config/config.h"
#include "config/foreign.h"

static struct error err;

/* A name of another engine's leads to an option that there is, and is none itself. */
static void names_of_other_engines_lead_to_ours(void **state)
{
	(void)state;

	for (size_t i = 0; i < foreign_count; i++) {
		const struct foreign *f = &foreign_names[i];

		assert_non_null(options_find(&config_table, f->ours));
		assert_null(options_find(&config_table, f->theirs));
		for (size_t k = 0; k < i; k++)
			assert_false(name_equal(f->theirs, foreign_names[k].theirs));
		assert_int_equal(options_check(&config_table, f->theirs, "1", fresh(&err)),
				 ERR_USAGE);
		assert_non_null(strstr(err.hint, f->ours));
	}
}

/* What is said where a value is missing is not cut short. */
static void every_help_text_fits_a_hint(void **state)
{
	(void)state;

	for (size_t i = 0; i < config_table.count; i++) {
		const struct option *o = &config_table.options[i];
		size_t n = strlen("-- :  (default none)") + strlen(o->name) + strlen(o->help) +
			   strlen(o->meta ? o->meta : "") + strlen(o->initial);

		if (n >= sizeof(err.hint))
			fail_msg("--%s: the hint has %zu characters", o->name, n);
	}
}

static void what_is_not_there_has_no_suggestion(void **state)
{
	static const char *const names[] = {"epochs",  "num-workers", "lr-schedule", "ep",
					    "experts", "master-addr", "local-rank"};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (options_find(&config_table, names[i]))
			continue;
		assert_int_equal(options_check(&config_table, names[i], "1", fresh(&err)),
				 ERR_USAGE);
		assert_null(strstr(err.hint, "did you mean"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_other_engines_lead_to_ours),
		cmocka_unit_test(every_help_text_fits_a_hint),
		cmocka_unit_test(what_is_not_there_has_no_suggestion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
