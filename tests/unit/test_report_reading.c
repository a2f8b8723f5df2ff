/* test_report_reading.c - what makes a report pleasant to read: tables without needless columns
   and rows, nothing said twice. */
#include "reading.h"

#include <jansson.h>

/* ---- tables ---- */

static void rows_are_grouped_by_where_they_come_from(void **state)
{
	static const char *const groups[] = {"On this machine", "On this machine",
					     "On this machine, more ranks than cores",
					     "Simulated", "Simulated"};
	static const int order[] = {0, 4, 1, 2, 3};
	struct watcher w = {.counted = "Simulated"};
	const struct table *t;
	struct text csv;
	struct made m;
	(void)state;

	make(&m, STUDY(COLUMN("device", "text") "," COLUMN("n", "integer") "," COLUMN(
			       "oversubscribed", "flag"),
		       "{\"device\": \"real\", \"n\": 0},"
		       "{\"device\": \"real\", \"n\": 1, \"oversubscribed\": true},"
		       "{\"device\": \"simulated\", \"n\": 2},"
		       "{\"device\": \"simulated\", \"n\": 3},"
		       "{\"device\": \"real\", \"n\": 4, \"oversubscribed\": false}",
		       ""));
	t = nth(&m.d, BLOCK_TABLE, 0)->table;
	assert_int_equal(t->column_count, 1);
	for (int i = 0; i < 5; i++) {
		assert_string_equal(t->rows[i].group, groups[i]);
		assert_true(t->rows[i].values[0].number == order[i]);
	}
	assert_true(page_has(&m.d, ">On this machine, more ranks than cores</th>"));
	text_init(&csv);
	table_csv(t, &csv);
	assert_string_equal(csv.data, "where,n\nOn this machine,0\nOn this machine,4\n"
				      "\"On this machine, more ranks than cores\",1\n"
				      "Simulated,2\nSimulated,3\n");
	text_release(&csv);
	assert_true(page_has(&m.d, ">dim 8, batch 4</span>"));
	watch_pages(&w, &m.d);
	assert_int_equal(w.count, 1);
	made_release(&m);
}

static void a_group_that_is_all_there_is_needs_no_name(void **state)
{
	struct made m;
	(void)state;

	make(&m,
	     STUDY(COLUMN("n", "integer"),
		   "{\"device\": \"real\", \"n\": 0}, {\"device\": \"real\", \"n\": 1}", ""));
	assert_null(nth(&m.d, BLOCK_TABLE, 0)->table->rows[0].group);
	made_release(&m);
}

static void columns_without_values_are_left_out(void **state)
{
	const struct table *t;
	struct made m;
	(void)state;

	make(&m,
	     STUDY(COLUMN("n", "integer") "," COLUMN("ms", "number") "," COLUMN("x", "text"),
		   "{\"n\": 0, \"ms\": 1}, {\"n\": 1, \"failed\": \"no memory\"}", ""));
	assert_int_equal(nth(&m.d, BLOCK_TABLE, 0)->table->column_count, 2);
	made_release(&m);

	/* Where everything failed, the reasons stand beside what failed. */
	make(&m,
	     STUDY(COLUMN("n", "integer") "," COLUMN("ms", "number") "," COLUMN("x", "text"),
		   "{\"n\": 0, \"failed\": \"no\"}, {\"n\": 1, \"failed\": \"no\"}", ""));
	t = nth(&m.d, BLOCK_TABLE, 0)->table;
	assert_int_equal(t->column_count, 3);
	assert_int_equal(row_shown_cells(t, &t->rows[0]), 1);
	made_release(&m);
}

#define SAME "\"b\": 7, \"c\": 0, \"d\": 1, \"e\": 1, \"f\": 1, \"g\": 1, \"h\": 1"
#define NINE                                                                                                 \
	COLUMN("a", "integer")                                                                               \
	"," COLUMN("b", "bytes") "," COLUMN("c", "integer") "," COLUMN("d", "integer") "," COLUMN(           \
		"e",                                                                                         \
		"integer") "," COLUMN("f",                                                                   \
				      "integer") "," COLUMN("g",                                             \
							    "integer") "," COLUMN("h",                       \
										  "integer") "," COLUMN("i", \
													"integer")

static void wide_tables_tell_constants_in_a_sentence(void **state)
{
	const struct table *t;
	struct made m;
	(void)state;

	make(&m, STUDY(NINE,
		       "{\"a\": 1, \"i\": 1, " SAME "}, {\"a\": 2, \"i\": 1, " SAME
		       "}, {\"a\": 3, \"i\": 2, " SAME "}, {\"a\": 4, \"failed\": \"no\"}",
		       ""));
	t = nth(&m.d, BLOCK_TABLE, 0)->table;
	assert_int_equal(t->column_count, 2);
	assert_string_equal(t->columns[1].label, "i");
	assert_non_null(strstr(t->note, "In every row: b 7 B, c 0, d 1"));
	made_release(&m);

	/* A narrow one has room for them. */
	make(&m, STUDY(COLUMN("a", "integer") "," COLUMN("b", "integer"),
		       "{\"a\": 1, \"b\": 7}, {\"a\": 2, \"b\": 7}, {\"a\": 3, \"b\": 7}", ""));
	assert_int_equal(nth(&m.d, BLOCK_TABLE, 0)->table->column_count, 2);
	made_release(&m);
}

static void ranks_that_are_alike_share_a_row(void **state)
{
	static const char *const ranks[] = {"0", "1-3", "0", "1", "2-3"};
	const struct table *t;
	struct made m;
	(void)state;

	make(&m, STUDY(COLUMN("case", "text") "," COLUMN("rank", "integer") "," COLUMN(
			       "busy", "percent"),
		       "{\"case\": \"x\", \"rank\": 0, \"busy\": 0.5},"
		       "{\"case\": \"x\", \"rank\": 1, \"busy\": 0.3},"
		       "{\"case\": \"x\", \"rank\": 2, \"busy\": 0.3001},"
		       "{\"case\": \"x\", \"rank\": 3, \"busy\": 0.2999},"
		       "{\"case\": \"y\", \"rank\": 0, \"busy\": 0.3},"
		       "{\"case\": \"y\", \"rank\": 1, \"busy\": 0.9},"
		       "{\"case\": \"y\", \"rank\": 2, \"busy\": 0.4},"
		       "{\"case\": \"y\", \"rank\": 3, \"busy\": 0.4}",
		       ""));
	t = nth(&m.d, BLOCK_TABLE, 0)->table;
	assert_int_equal(t->row_count, ARRAY_SIZE(ranks));
	for (size_t i = 0; i < ARRAY_SIZE(ranks); i++) {
		struct text cell;

		text_init(&cell);
		value_format(&t->columns[1], &t->rows[i].values[1], &cell);
		assert_string_equal(cell.data, ranks[i]);
		text_release(&cell);
	}
	made_release(&m);
}

/* A table of a key and so many numbers, each with so many digits; whether it has room. */
static bool keyed_table(struct document *d, int columns, int digits)
{
	const struct font font = {.size = 7};
	struct table *t = table_new(&d->arena, columns, 4);
	struct column number = {"ms", "", COLUMN_NUMBER, digits};
	struct text cell;
	double width;

	text_init(&cell);
	value_format(&number, &(struct value){.present = true, .number = 1.5}, &cell);
	width = font_width(&font, "2 x 2 x 2 and more") + 4.2 * columns +
		(columns - 1) * font_width(&font, cell.data);
	text_release(&cell);
	for (int k = 0; k < columns; k++) {
		t->columns[k] = k ? number : (struct column){"grid", "", COLUMN_TEXT, -1};
		for (int i = 0; i < t->row_count; i++)
			t->rows[i].values[k] = (struct value){
				.present = true, .text = "2 x 2 x 2 and more", .number = 1.5};
	}
	document_table(d, t);
	return width < PAGE_WIDTH - 2 * 48;
}

/* Short texts stay on a line as long as there is room for that in any type. */
static void key_columns_stay_on_a_line(void **state)
{
	int kept = 0;
	(void)state;

	for (int size = 0; size < 200; size++) {
		struct watcher w = {.counted = "2 x 2 x 2 and more"};
		struct document d;
		bool has_room;

		document_init(&d);
		has_room = keyed_table(&d, 2 + size / 10, 1 + size % 10);
		watch_pages(&w, &d);
		assert_true(!has_room || w.count == 4);
		kept += has_room;
		document_release(&d);
	}
	assert_true(kept > 50);
}

/* Before a table is divided, large numbers have fewer digits. */
static void large_numbers_are_brief_where_room_is_short(void **state)
{
	struct watcher w = {.counted = "12,346 ± 1235"}, small = {.counted = "12,345.678"},
		       loss = {.counted = "1.33206"};
	struct document d;
	struct table *t;
	(void)state;

	document_init(&d);
	for (int columns = 3; columns <= 7; columns += 4) {
		t = table_new(&d.arena, columns, 1);
		for (int k = 0; k < columns; k++) {
			t->columns[k] = (struct column){"step", "ms", COLUMN_NUMBER, 3};
			t->rows[0].values[k] =
				(struct value){.present = true,
					       .number = 12345.678,
					       .spread = columns == 7 ? 1234.567 : 0};
		}
		t->columns[0].digits = 5;
		t->rows[0].values[0] = (struct value){.present = true, .number = 1.33206};
		document_table(&d, t);
	}
	watch_pages(&w, &d);
	assert_int_equal(w.count, 6);
	watch_pages(&loss, &d);
	assert_int_equal(loss.count, 2);
	watch_pages(&small, &d);
	assert_int_equal(small.count, 2);
	document_release(&d);
}

/* ---- nothing is said twice ---- */

#define ANSWER(real, simulated)                                                            \
	", \"charts\": [{\"id\": \"c\", \"table\": \"t\", \"x\": \"n\", \"y\": [\"ms\"]}," \
	" {\"id\": \"d\", \"table\": \"t\", \"x\": \"n\", \"y\": [\"ms\"]}],"              \
	" \"answers\": [{\"id\": \"1.1\", \"question\": \"Q?\", \"verdict\": \"Yes.\","    \
	" \"table\": \"t\", \"figures\": [\"c\", \"d\"], \"parts\": ["                     \
	"{\"device\": \"real\", \"verdict\": \"Yes.\", \"sentences\": [" real "]},"        \
	"{\"device\": \"simulated\", \"verdict\": \"No.\", \"sentences\": [" simulated "]}]}]"

static void an_answer_says_nothing_twice(void **state)
{
	struct made m;
	(void)state;

	make(&m,
	     STUDY(COLUMN("n", "integer") "," COLUMN("ms", "number"), "{\"n\": 1, \"ms\": 2}",
		   ANSWER("\"A is 1.\", \"It is the law.\"",
			  "\"A is 2.\", \"It is the law.\"")));
	assert_string_equal(nth(&m.d, BLOCK_LED, 0)->answer, "A is 1. It is the law.");
	assert_string_equal(nth(&m.d, BLOCK_LED, 1)->answer,
			    "No. A is 2. See table 1 and figures 1, 2.");
	made_release(&m);
}

#define LONG_SENTENCE                                                                       \
	"\"A sentence of about two lines of a page, which has no other purpose than to be " \
	"long enough that some of them together would be a solid block of print, and hard " \
	"to read.\""

/* No paragraph of an answer has more than eight lines. */
static void a_long_answer_has_paragraphs(void **state)
{
	struct document whole;
	struct made m;
	const struct block *b;
	(void)state;

	make(&m,
	     STUDY(COLUMN("n", "integer") "," COLUMN("ms", "number"), "{\"n\": 1, \"ms\": 2}",
		   ANSWER(LONG_SENTENCE "," LONG_SENTENCE "," LONG_SENTENCE "," LONG_SENTENCE
					"," LONG_SENTENCE "," LONG_SENTENCE,
			  "\"A is 2.\"")));
	assert_string_equal(nth(&m.d, BLOCK_LED, 0)->text, "On this machine:");
	assert_string_equal(nth(&m.d, BLOCK_LED, 1)->text, "");
	for (int i = 0; (b = nth(&m.d, BLOCK_LED, i)); i++) {
		struct watcher w = {.counted = ""};

		document_init(&whole);
		document_led(&whole, b->text, b->answer);
		watch_pages(&w, &whole);
		/* The page has its number, and the paragraph its lead. */
		assert_true(w.texts <= 8 + 3);
		document_release(&whole);
	}
	made_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_grouped_by_where_they_come_from),
		cmocka_unit_test(a_group_that_is_all_there_is_needs_no_name),
		cmocka_unit_test(columns_without_values_are_left_out),
		cmocka_unit_test(wide_tables_tell_constants_in_a_sentence),
		cmocka_unit_test(ranks_that_are_alike_share_a_row),
		cmocka_unit_test(key_columns_stay_on_a_line),
		cmocka_unit_test(large_numbers_are_brief_where_room_is_short),
		cmocka_unit_test(an_answer_says_nothing_twice),
		cmocka_unit_test(a_long_answer_has_paragraphs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
