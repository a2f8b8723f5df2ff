/* test_tables.c - how CSV is read: headings, quotes, labels, columns, missing values. */
#include "testing.h"

#include "base/text.h"
#include "data/csv.h"
#include "data/data.h"

static struct error err;

static enum status read_as(struct table *t, struct data_form *f, const char *text,
			   struct table_options o)
{
	return table_parse_csv(t, f, text, strlen(text), "x.csv", &o, fresh(&err));
}

static void headings_separators_and_labels(void **state)
{
	static const struct {
		const char *text;
		int samples, features, classes;
	} cases[] = {
		{"1,2,0\n3,4,1\n5,6,1\n7,8,0\n", 4, 2, 2},
		{"a,b,c\n1,2,0\n3,4,1\n1,1,1\n2,2,1", 4, 2, 2},
		{"1;2;0.5\r\n3;4;1\r\n\r\n", 2, 2, 0},
		{"1\t-2e3\t7\n", 1, 2, 0},
		{"\n\n 1 , 2 , -1 \n", 1, 2, 0},
		{"\xef\xbb\xbf"
		 "1,2,0\n3,4,1\n1,2,0\n3,4,1\n",
		 4, 2, 2},
		{"1,0\n2,0\n", 2, 1, 0}, /* one class alone is no classification */
		/* pandas: columns without names, and with some */
		{"0,1,2\n5,6,1\n7,8,0\n5,6,1\n7,8,0\n", 4, 2, 2},
		{"0;1;2;3\r\n5;6;1;0\r\n", 1, 3, 0},
		{"0,1,label\n5,6,1\n7,8,0\n1,1,1\n2,2,0\n", 4, 2, 2},
		/* and with its index, whatever that holds */
		{",0,1,2\n0,5,6,1\n1,7,8,0\n2,5,6,1\n3,7,8,0\n", 4, 2, 2},
		{",a,b,label\n17,5,6,1\n4,7,8,0\n", 2, 2, 0},
		{",0,label\nrow 1,5,a\nrow 2,7,b\n", 2, 1, 2},
		{",x,y\n,5,a\n,6,b\n", 2, 1, 2},
		/* these are samples */
		{"0,1\n1,0\n", 2, 1, 0},
		{"0,1,2.5\n1,2,3\n", 2, 2, 0},
		/* a name is missing, and it is not that of an index */
		{",,c\n1,2,0\n3,4,1\n", 2, 2, 0},
		/* quotes */
		{"\"a,1\",\"b\n2\",c\n1,\"2\",\"x\"\n3,4,\"y\"\"z\"\n", 2, 2, 2},
		{"\"a\";\"b\"\n\"1\" ; \"p;q\"\n2;r", 2, 1, 2},
		/* whole numbers: so many samples for so many classes */
		{"1,7\n2,9\n3,7\n4,9\n5,7\n6,9\n7,7\n8,9\n9,7\n1,9\n", 10, 1, 2},
		{"1,7\n2,9\n3,7\n4,9\n5,7\n6,9\n7,7\n8,9\n9,7\n", 9, 1, 0},
		{"1,0\n2,1\n3,0\n4,1\n5,0\n6,1\n", 6, 1, 2},
		{"1,0.0\n2,1.0\n3,0.0\n4,1.0\n5,0.0\n6,1.0\n", 6, 1, 0},
		{"1,0\n2,1\n3,0\n4,1e0\n5,0\n6,1\n", 6, 1, 0},
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct table t;
		struct data_form f;

		if (read_as(&t, &f, cases[i].text, (struct table_options){0}) != OK)
			fail_msg("'%s': %s", cases[i].text, err.msg);
		assert_int_equal(t.samples, cases[i].samples);
		assert_int_equal(t.features, cases[i].features);
		if ((t.labelled ? t.outputs : 0) != cases[i].classes)
			fail_msg("'%s': %d classes", cases[i].text, t.outputs);
		assert_int_equal(f.n_classes, cases[i].classes);
		table_release(&t);
		data_form_release(&f);
	}
}

static void errors_say_where(void **state)
{
	static const struct {
		const char *text, *in_message;
		struct table_options o;
	} cases[] = {
		{"", "empty", {0}},
		{"\n \n", "empty", {0}},
		{"a,b\n", "no samples", {0}},
		{"0,1,2\n", "no samples", {0}},
		{"x,1\n1,2\n", "line 1, column 1: 'x' is not a number", {0}},
		{"0,1,x,3\n1,2,3,4\n", "line 1, column 3: 'x'", {0}},
		{",0\n1,2\n", "line 1, column 1: '' is a value that is missing", {0}},
		{",0,1\n5,6\n", "line 2 has 2 columns, the first has 3", {0}},
		{"1\n", "one column", {0}},
		{"1,2\n3\n", "line 2 has 1 columns", {0}},
		{"1,2\n3,x\n", "line 2, column 2: 'x' is not a number, and others", {0}},
		{"1,2\ninf,4\n", "line 2, column 1: 'inf' is not finite", {0}},
		{"1,2\n3,\n", "line 2, column 2: '' is a value that is missing", {0}},
		{"0x10,1\n", "column 1: '0x10'", {0}},
		{"1e99,1\n", "not finite", {0}},
		{"1\t2\t3\n\t\t\n", "line 2, column 1: '' is a value", {0}},
		{"a,b,c\n1,2,3\n1,?,3\n", "line 3, column 2 'b': '?' is a value", {0}},
		{"a,b,c\n1,2,3\n1,x,3\n", "line 3, column 2 'b': 'x' is not a number", {0}},
		{"1,\"2\n3,4\n", "line 1: a quote that does not end", {0}},
		{"1,\"2\"3\n3,4\n", "line 1: '3' behind a quote", {0}},
		{"1,1.5\n2,1\n",
		 "line 1, column 2: '1.5' is no label",
		 {.task = TASK_CLASSIFICATION}},
		{"1,3\n2,3\n", "1 different label", {.task = TASK_CLASSIFICATION}},
		{"1,a\n2,b\n", "'a' is not a number", {.task = TASK_REGRESSION}},
		{"a,b\n1,2\n", "no such column", {.target = "c"}},
		{"a,b\n1,2\n", "no such column", {.target = "3"}},
		{"a,b\n1,2\n", "no such column", {.target = "0"}},
		{"a,a\n1,2\n", "2 columns", {.target = "a"}},
		{"a,b\n1,2\n", "another use already", {.target = "a,1"}},
		{"a,b\n1,2\n", "no column is left", {.target = "a,b"}},
		{"a,b\n1,2\n", "no column is left", {.ignore = "a"}},
		{"a,b,c\n1,2,3\n",
		 "with 2 targets",
		 {.target = "a,b", .task = TASK_CLASSIFICATION}},
		{"1,\n2,3\n", "line 1, column 2: ''", {.missing = MISSING_IS_MEAN}},
		{"1,\n?,3\n", "no sample is left", {.missing = MISSING_IS_DROP}},
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct table t;
		struct data_form f;

		if (read_as(&t, &f, cases[i].text, cases[i].o) != ERR_USAGE)
			fail_msg("'%s' was read", cases[i].text);
		if (!strstr(err.msg, cases[i].in_message))
			fail_msg("'%s' gave: %s", cases[i].text, err.msg);
		assert_true(*err.hint);
	}
}

/* Classes are in order, of numbers or of texts, wherever they begin. */
static void classes_are_the_different_values_in_order(void **state)
{
	static const struct {
		const char *text, *classes[3], *note;
		enum data_task task;
		int first; /* label of the first sample */
	} cases[] = {
		{"1,setosa\n2,virginica\n3,iris\n",
		 {"iris", "setosa", "virginica"},
		 "is text",
		 TASK_AUTO,
		 1},
		{"1,10\n2,9\n3,-1\n", {"-1", "9", "10"}, "", TASK_CLASSIFICATION, 2},
		{"1,3.0\n2,1\n3,2e0\n", {"1", "2", "3"}, "", TASK_CLASSIFICATION, 2},
		{"1,b\n2,10\n3,9\n", {"10", "9", "b"}, "", TASK_CLASSIFICATION, 2},
	};
	struct table t;
	struct data_form f;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(read_as(&t, &f, cases[i].text,
					 (struct table_options){.task = cases[i].task}),
				 OK);
		assert_int_equal(f.n_classes, 3);
		for (int k = 0; k < 3; k++)
			assert_string_equal(f.classes[k], cases[i].classes[k]);
		assert_int_equal(t.labels[0], cases[i].first);
		assert_non_null(strstr(t.note, cases[i].note));
		table_release(&t);
		data_form_release(&f);
	}
}

/* Whatever could be meant otherwise is said, with the option that does so. */
static void a_guess_is_said(void **state)
{
	static const struct {
		const char *text, *note;
	} cases[] = {
		{"1,0\n2,1\n3,0\n4,1\n", "2 different whole numbers for 4 samples: taken as "
					 "classes; --loss mse"},
		{"1,31\n2,17\n", "taken as targets; --loss cross-entropy"},
		{"1,1.0\n2,0.0\n3,1.0\n4,0.0\n", "written with a point or an exponent"},
	};
	struct table t;
	struct data_form f;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(read_as(&t, &f, cases[i].text, (struct table_options){0}), OK);
		if (!strstr(t.note, cases[i].note))
			fail_msg("'%s': '%s'", cases[i].text, t.note);
		table_release(&t);
		data_form_release(&f);
	}
	assert_int_equal(read_as(&t, &f, "1,0.5\n2,1.5\n", (struct table_options){0}), OK);
	assert_string_equal(t.note, "");
	table_release(&t);
	data_form_release(&f);
}

static void targets_are_chosen_by_name_and_number(void **state)
{
	static const struct {
		const char *target, *ignore;
		float first_feature, first_target;
		int features, targets;
	} cases[] = {
		{"", "", 1, 4, 3, 1},	{"a", "", 2, 1, 3, 1},	 {"2", "", 1, 2, 3, 1},
		{"-4", "", 2, 1, 3, 1}, {"d,a", "", 2, 4, 2, 2}, {"b,-1", "1", 3, 2, 1, 2},
		{"", "d", 1, 3, 2, 1},	{"\"q", "", 1, 3, 3, 1},
	};
	static const char text[] = "a,b,\"\"\"q\",d\n1,2,3,4\n0.5,0.5,0.5,0.5\n";
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct table t;
		struct data_form f;
		struct table_options o = {.target = cases[i].target, .ignore = cases[i].ignore};

		if (read_as(&t, &f, text, o) != OK)
			fail_msg("%s", err.msg);
		assert_int_equal(t.features, cases[i].features);
		assert_int_equal(t.outputs, cases[i].targets);
		assert_true(t.values[0] == cases[i].first_feature);
		assert_true(t.targets[0] == cases[i].first_target);
		assert_true(f.named);
		table_release(&t);
		data_form_release(&f);
	}
}

/* ---- random tables, written and read back ---- */

enum { ROWS = 60, COLUMNS = 6 };

struct made {
	float values[ROWS][COLUMNS];
	bool missing[ROWS][COLUMNS];
	int labels[ROWS];
	char names[COLUMNS + 1][40];
	struct text text;
	int rows, columns;
};

static const char *const class_names[] = {"a,b", "an \"other\"", "line\nbreak", "plain"};

static void add_cell(struct text *t, const char *text, char separator, bool quoted, bool last)
{
	bool needs = quoted || strpbrk(text, ",;\t\"\n");

	text_add(t, needs ? "\"" : "");
	for (; *text; text++)
		text_addf(t, *text == '"' ? "\"%c" : "%c", *text);
	text_add(t, needs ? "\"" : "");
	text_addf(t, "%c", last ? '\n' : separator);
}

static void make(struct made *m, struct random *r, bool gaps)
{
	static const char *const absent[] = {"", "NA", "NaN", "nan", "?", "null"};
	char separator = ",;\t"[random_int(r, 0, 2)], cell[64];

	memset(m, 0, sizeof(*m));
	text_init(&m->text);
	m->rows = random_int(r, 20, ROWS);
	m->columns = random_int(r, 1, COLUMNS);
	for (int k = 0; k <= m->columns; k++) {
		snprintf(m->names[k], sizeof(m->names[k]), "%s%d",
			 k % 2 ? "say \"x\"; " : "name, ", k);
		add_cell(&m->text, m->names[k], separator, false, k == m->columns);
	}
	for (int i = 0; i < m->rows; i++) {
		random_fill(r, m->values[i], (size_t)m->columns);
		for (int k = 0; k < m->columns; k++) {
			m->missing[i][k] = gaps && random_int(r, 0, 9) == 0;
			snprintf(cell, sizeof(cell), "%.9g", (double)m->values[i][k]);
			add_cell(&m->text,
				 m->missing[i][k] ? absent[random_int(r, 0, 5)] : cell,
				 separator, random_int(r, 0, 3) == 0, false);
		}
		m->labels[i] = i < 4 ? i : random_int(r, 0, 3);
		add_cell(&m->text, class_names[m->labels[i]], separator, false, true);
	}
}

static bool is_whole(const struct made *m, int row)
{
	for (int k = 0; k < m->columns; k++)
		if (m->missing[row][k])
			return false;
	return true;
}

static void random_tables_come_back(void **state)
{
	struct random r = random_start("tables");
	(void)state;

	for (int round = 0; round < 300; round++) {
		enum data_missing rule = (enum data_missing)random_int(&r, 0, 2);
		struct table_options o = {.missing = rule, .task = TASK_CLASSIFICATION};
		struct made m;
		struct table t;
		struct data_form f;
		int64_t at = 0, dropped = 0;

		make(&m, &r, rule != MISSING_IS_ERROR);
		if (read_as(&t, &f, m.text.data, o) != OK) {
			/* Dropping may leave too little. */
			assert_int_equal(rule, MISSING_IS_DROP);
			text_release(&m.text);
			continue;
		}
		assert_int_equal(t.features, m.columns);
		for (int k = 0; k < m.columns; k++)
			assert_string_equal(f.features[k].name, m.names[k]);
		for (int i = 0; i < m.rows; i++) {
			const char *class;

			if (rule == MISSING_IS_DROP && !is_whole(&m, i)) {
				dropped++;
				continue;
			}
			for (int k = 0; k < m.columns; k++) {
				float v = t.values[at * m.columns + k];

				assert_true(m.missing[i][k] ? isnan(v) : v == m.values[i][k]);
			}
			class = f.classes[t.labels[at]];
			assert_string_equal(class, m.labels[i] == 2 ? "line\\nbreak"
								    : class_names[m.labels[i]]);
			at++;
		}
		assert_int_equal(t.samples, at);
		assert_int_equal(t.dropped, dropped);
		table_release(&t);
		/* Read as itself it is the same, with or without its labels' order known. */
		assert_int_equal(table_parse_csv_like(&t, &f, m.text.data, m.text.len, "x.csv",
						      fresh(&err)),
				 OK);
		assert_int_equal(t.samples, at);
		table_release(&t);
		data_form_release(&f);
		text_release(&m.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headings_separators_and_labels),
		cmocka_unit_test(errors_say_where),
		cmocka_unit_test(classes_are_the_different_values_in_order),
		cmocka_unit_test(a_guess_is_said),
		cmocka_unit_test(targets_are_chosen_by_name_and_number),
		cmocka_unit_test(random_tables_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
