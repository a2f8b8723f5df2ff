/* test_report_reading.c - what makes a report pleasant to read: tables without needless columns
   and rows, nothing said twice, axes that can be compared. */
#include "pages.h"

#include "report/html.h"
#include "report/plot.h"
#include "report/report.h"

#include <jansson.h>

static struct error err;

/* ---- tables ---- */

#define COLUMN(key, kind) "{\"key\": \"" key "\", \"kind\": \"" kind "\"}"
#define STUDY(columns, rows, more)                                                         \
	"{\"schema\": \"kolm.study/2\", \"name\": \"s\", \"requirements\": [\"B3\"],"      \
	" \"tables\": [{\"id\": \"t\", \"title\": \"T\", \"caption\": \"dim 8, batch 4\"," \
	" \"columns\": [" columns "], \"rows\": [" rows "]}]" more "}"

struct made {
	struct study study;
	struct document d;
};

static void make(struct made *m, const char *text)
{
	document_init(&m->d);
	assert_int_equal(study_parse(&m->study, text, strlen(text), "r.json", fresh(&err)), OK);
	assert_int_equal(study_add(&m->study, &m->d, NULL, fresh(&err)), OK);
}

static void made_release(struct made *m)
{
	study_release(&m->study);
	document_release(&m->d);
}

static const struct block *nth(const struct document *d, enum block_kind kind, int n)
{
	for (size_t i = 0; i < d->count; i++)
		if (d->blocks[i].kind == kind && n-- == 0)
			return &d->blocks[i];
	return NULL;
}

static bool page_has(const struct document *d, const char *piece)
{
	struct text out;
	bool has;

	text_init(&out);
	html_format(d, &out);
	assert_null(html_problem(out.data));
	has = strstr(out.data, piece) != NULL;
	text_release(&out);
	return has;
}

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

/* ---- pages ---- */

static void a_list_is_not_divided(void **state)
{
	(void)state;

	for (int before = 1; before < 60; before++) {
		struct watcher w = {.kept = "item"};
		struct document d;

		document_init(&d);
		for (int i = 0; i < before; i++)
			document_paragraph(&d, "Text.");
		document_heading(&d, 3, "list", "item heading");
		for (int i = 0; i < 13; i++)
			document_item(&d, "item", "A verdict.", NULL);
		watch_pages(&w, &d);
		assert_int_equal(w.kept_first, w.kept_last);
		document_release(&d);
	}
}

static void a_bullet_stands_before_its_text(void **state)
{
	struct watcher w = {.pages = 0};
	struct document d;
	(void)state;

	document_init(&d);
	for (int i = 0; i < 100; i++)
		document_item(&d, "item",
			      i % 2 ? "A verdict."
				    : "A verdict that takes three lines, or nearly three, of a "
				      "page that is as wide as this one, since it says more "
				      "than a verdict should, and says it in a sentence with "
				      "words that nobody needs, up to where the third line "
				      "begins, and on.",
			      NULL);
	watch_pages(&w, &d);
	assert_true(w.pages > 2);
	assert_int_equal(w.lonely_bullets, 0);
	document_release(&d);
}

/* Text goes on where a figure has no room; no figure leaves its section. */
static void figures_leave_no_holes(void **state)
{
	struct watcher w = {.kept = "before"};
	struct document d;
	struct chart *c;
	(void)state;

	document_init(&d);
	for (int i = 0; i < 33; i++)
		document_paragraph(&d, "Text.");
	c = chart_new(&d.arena, CHART_LINE, 1);
	c->title = "title";
	c->series[0].points = arena_get(&d.arena, 1, sizeof(struct chart_point));
	c->series[0].points[0] = (struct chart_point){1, 1, 0};
	c->series[0].count = 1;
	document_chart(&d, c);
	document_paragraph(&d, "before the page ends");
	document_heading(&d, 1, "next", "after");
	document_paragraph(&d, "Text.");
	watch_pages(&w, &d);
	assert_int_equal(w.kept_last, 1);
	assert_int_equal(w.pages, 2);
	w = (struct watcher){.kept = "Figure 1"};
	watch_pages(&w, &d);
	assert_int_equal(w.kept_first, 2);
	document_release(&d);
}

/* The grids and timelines that are shown can be read. */
static void drawings_can_be_read(void **state)
{
	int shown = 0;
	(void)state;

	for (int dp = 1; dp <= 32; dp++)
		for (int pp = 1; dp * pp <= 32; pp++)
			for (int mp = 1; dp * pp * mp <= 32; mp++) {
				struct grid g = {dp, pp, mp};
				struct watcher w = {.pages = 0};
				struct document d;

				if (!figure_grid_fits(&g))
					continue;
				document_init(&d);
				figure_grid(&d, &g, "");
				watch_pages(&w, &d);
				assert_true(w.smallest >= 7);
				document_release(&d);
				shown++;
			}
	assert_true(shown > 20);
	for (int stages = 1; stages < 64; stages++) {
		const struct costs costs = {.f = 1, .b = 2, .w = 1};
		struct watcher w = {.pages = 0};
		struct document d;

		document_init(&d);
		assert_int_equal(figure_schedule(&d, SCHEDULE_ZB_H1, stages, 40, &costs, "",
						 fresh(&err)),
				 OK);
		watch_pages(&w, &d);
		assert_true(w.smallest >= 7 && w.outside == 0);
		document_release(&d);
	}
}

/* ---- charts ---- */

static struct chart *chart_of(struct document *d, enum chart_kind kind, int series, int n,
			      const double *y)
{
	struct chart *c = chart_new(&d->arena, kind, series);

	c->title = "C";
	c->y_label = "ms";
	c->categories = arena_get(&d->arena, (size_t)n, sizeof(char *));
	for (int i = 0; i < n; i++)
		c->categories[i] = "x";
	c->category_count = kind == CHART_BAR || kind == CHART_STACKED ? n : 0;
	for (int s = 0; s < series; s++) {
		c->series[s].name = document_stringf(d, "series %d", s);
		c->series[s].points =
			arena_get(&d->arena, (size_t)n, sizeof(struct chart_point));
		c->series[s].count = n;
		for (int i = 0; i < n; i++)
			c->series[s].points[i] = (struct chart_point){i, y[s * n + i], 0};
	}
	return c;
}

static void axes_begin_at_zero_whatever_the_spread(void **state)
{
	struct document d;
	struct chart *c;
	struct plot p;
	(void)state;

	document_init(&d);
	c = chart_of(&d, CHART_LINE, 1, 3, (double[]){4, 5, 6});
	plot_init(&p, c, 400, NULL);
	assert_true(p.y.low == 0);
	document_chart(&d, c);
	assert_false(page_has(&d, "error bars cut at 0"));
	c->series[0].points[1].spread = 50;
	plot_init(&p, c, 400, NULL);
	assert_true(p.y.low == 0 && p.y.high >= 55);
	assert_true(page_has(&d, "ms, error bars cut at 0<"));
	/* What is negative itself is shown. */
	c->series[0].points[1].y = -5;
	plot_init(&p, c, 400, NULL);
	assert_true(p.y.low <= -55);
	document_release(&d);
}

static void a_curve_that_begins_elsewhere_says_so(void **state)
{
	struct document d;
	struct plot p;
	(void)state;

	document_init(&d);
	document_chart(&d, chart_of(&d, CHART_CURVE, 1, 3, (double[]){1.5, 1.2, 1.1}));
	assert_true(page_has(&d, "ms, axis from 1.1<"));
	plot_init(&p, chart_of(&d, CHART_CURVE, 1, 3, (double[]){20, 5, 5}), 400, NULL);
	assert_true(p.y.low == 0);
	document_release(&d);
}

static void charts_of_the_same_share_their_axes(void **state)
{
	const struct chart *a, *b;
	struct plot p, q;
	struct made m;
	(void)state;

	make(&m, STUDY(COLUMN("n", "integer") "," COLUMN("ms", "number"),
		       "{\"device\": \"real\", \"n\": 1, \"ms\": 2},"
		       "{\"device\": \"real\", \"n\": 2, \"ms\": 2},"
		       "{\"device\": \"simulated\", \"n\": 8, \"ms\": 90}",
		       ", \"charts\": [{\"id\": \"c\", \"table\": \"t\", \"x\": \"n\","
		       " \"y\": [\"ms\"], \"where\": {\"device\": \"real\"}},"
		       " {\"id\": \"d\", \"table\": \"t\", \"x\": \"n\", \"y\": [\"ms\"],"
		       " \"where\": {\"device\": \"simulated\"}}]"));
	a = nth(&m.d, BLOCK_CHART, 0)->chart;
	b = nth(&m.d, BLOCK_CHART, 1)->chart;
	plot_init(&p, a, 400, NULL);
	plot_init(&q, b, 400, NULL);
	assert_true(p.y.low == q.y.low && p.y.high == q.y.high && p.y.high >= 90);
	assert_true(p.x.low == 1 && p.x.high == 8 && q.x.low == 1 && q.x.high == 8);
	made_release(&m);
}

static void all_bars_are_labelled_or_none(void **state)
{
	static const double short_ones[] = {7.77, 8.88, 9.99, 6.66},
			    a_long_one[] = {7.77, 8.88, 9.99, 66666666};
	struct document d;
	struct chart *b;
	(void)state;

	for (int kind = CHART_BAR; kind <= CHART_STACKED; kind++) {
		document_init(&d);
		document_chart(&d, chart_of(&d, (enum chart_kind)kind, 1, 4, short_ones));
		assert_true(page_has(&d, ">7.77</text>") && page_has(&d, ">6.66</text>"));
		document_release(&d);
	}
	document_init(&d);
	document_chart(&d, chart_of(&d, CHART_BAR, 2, 2, a_long_one));
	assert_false(page_has(&d, ">7.77</text>"));
	/* Nor has the chart beside it. */
	b = chart_of(&d, CHART_BAR, 1, 4, short_ones);
	document_chart(&d, b);
	assert_true(page_has(&d, ">7.77</text>"));
	b->beside = nth(&d, BLOCK_CHART, 0)->chart;
	assert_false(page_has(&d, ">7.77</text>"));
	document_release(&d);
}

static void a_hidden_line_is_named(void **state)
{
	struct document d;
	struct chart *c;
	(void)state;

	document_init(&d);
	c = chart_of(&d, CHART_LINE, 3, 2, (double[]){1, 5, 3, 4, 1.001, 5.01});
	document_chart(&d, c);
	assert_true(page_has(&d, ">series 0 (under series 2)</text>"));
	assert_true(page_has(&d, ">series 1</text>"));
	/* On a logarithmic axis these are far from each other. */
	c->log_y = true;
	c->series[0].points[0].y = 1e-6;
	c->series[2].points[0].y = 1e-9;
	assert_true(page_has(&d, ">series 0</text>"));
	document_release(&d);
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
		cmocka_unit_test(a_list_is_not_divided),
		cmocka_unit_test(a_bullet_stands_before_its_text),
		cmocka_unit_test(figures_leave_no_holes),
		cmocka_unit_test(drawings_can_be_read),
		cmocka_unit_test(axes_begin_at_zero_whatever_the_spread),
		cmocka_unit_test(a_curve_that_begins_elsewhere_says_so),
		cmocka_unit_test(charts_of_the_same_share_their_axes),
		cmocka_unit_test(all_bars_are_labelled_or_none),
		cmocka_unit_test(a_hidden_line_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
