/* test_formula.c - the numbers of a study: where they are found, what is calculated from them
   and how they are shown. */
#include "testing.h"

#include "study/answer.h"
#include "study/formula.h"
#include "study/path.h"

static struct error err;

static bool lookup(void *arg, const char *name, const char *elsewhere, double *value)
{
	(void)arg;
	*value = !strcmp(name, "x") ? 3 : NAN;
	if (elsewhere)
		*value = !strcmp(elsewhere, "a=1,b=two") ? 12 : NAN;
	return !strcmp(name, "x") || !strcmp(name, "missing");
}

static void formulas_calculate(void **state)
{
	static const struct {
		const char *text;
		double value; /* NAN: it is one */
	} good[] = {{"1 + 2 * 3", 7},	     {"(1 + 2) * 3", 9},  {"-x / 2", -1.5},
		    {"x[a=1,b=two] / x", 4}, {"max(x, 5)", 5},	  {"min(x, 5) - log2(8)", 0},
		    {"8 / 2 / 2", 2},	     {"1e3*x", 3000},	  {"missing + 1", NAN},
		    {"1 / 0", NAN},	     {"x[a=2] * 2", NAN}, {"max(missing, 1)", NAN},
		    {"abs(-2) - sqrt(4)", 0}};
	static const char *const bad[] = {"",	   "1 2",    "(1",	   "x[",  "y",
					  "f(1)",  "min(1)", "max(1,2,3)", "1 +", "* 2",
					  "x[a=1", ".",	     "min(1,"};
	double value;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		if (formula_eval(good[i].text, lookup, NULL, &value, fresh(&err)) != OK)
			fail_msg("%s: %s", good[i].text, err.msg);
		if (isnan(good[i].value) ? !isnan(value) : value != good[i].value)
			fail_msg("%s is %g", good[i].text, value);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (formula_eval(bad[i], lookup, NULL, &value, fresh(&err)) == OK)
			fail_msg("'%s' is no formula", bad[i]);
}

static void numbers_are_shown_in_one_way(void **state)
{
	static const struct {
		double value;
		int digits;
		const char *text;
	} cases[] = {
		{8192, 0, "8192"},
		{12345.6, 0, "12,346"},
		{-12345, 0, "-12,345"},
		{1073741824, 0, "1,073,741,824"},
		{35879.25, 1, "35,879.2"},
		{0.5, 3, "0.500"},
		{5.421e-12, -1, "5.42e-12"},
		{220801.4, -1, "220,801"},
		{1.4, -1, "1.4"},
	};
	char text[64];
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		number_text(cases[i].value, cases[i].digits, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
	}
}

static void paths_find_numbers(void **state)
{
	json_t *d =
		json_loads("{\"step_ms\": {\"median\": 2.5}, \"flag\": true, \"text\": \"no\","
			   "\"rows\": [{\"batch\": 7}], \"per_rank\": ["
			   "{\"rank\": 0, \"peak_bytes\": 1024, \"layers\": [0, 1, 2, 5]},"
			   "{\"rank\": 1, \"peak_bytes\": 3072, \"layers\": [3]}]}",
			   0, NULL);
	char *text;
	(void)state;

	assert_true(path_value(d, "step_ms.median", -1) == 2.5);
	assert_true(path_value(d, "rows.0.batch", -1) == 7);
	assert_true(path_value(d, "flag", -1) == 1);
	assert_true(path_value(d, "max per_rank.peak_bytes", -1) == 3072);
	assert_true(path_value(d, "min per_rank.peak_bytes", -1) == 1024);
	assert_true(path_value(d, "mean per_rank.peak_bytes", -1) == 2048);
	assert_true(path_value(d, "sum per_rank.peak_bytes", -1) == 4096);
	/* A row about one rank sees that rank, unless rank 0 is meant. */
	assert_true(path_value(d, "max per_rank.peak_bytes", 0) == 1024);
	assert_true(path_value(d, "per_rank.0.peak_bytes", 1) == 1024);
	assert_true(path_value(d, "per_rank.rank", 1) == 1);
	assert_true(isnan(path_value(d, "per_rank.rank", -1)));
	assert_true(isnan(path_value(d, "text", -1)));
	assert_true(isnan(path_value(d, "rows.3.batch", -1)));
	assert_true(isnan(path_value(d, "nowhere.at.all", -1)));
	text = path_text(d, "ranges per_rank.layers", -1);
	assert_string_equal(text, "0-2,5 | 3");
	free(text);
	text = path_text(d, "list per_rank.peak_bytes", 1);
	assert_string_equal(text, "3.0 KiB");
	free(text);
	json_decref(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formulas_calculate),
		cmocka_unit_test(numbers_are_shown_in_one_way),
		cmocka_unit_test(paths_find_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
