/* test_document.c - documents, tables and charts: numbers, ticks, pages. */
#include "pages.h"

#include "report/html.h"

static struct error err;

/* ---- numbers ---- */

static const char *written(enum column_kind kind, int digits, double number, double spread)
{
	static char buf[128];
	struct column c = {"", "", kind, digits};
	struct value v = {.present = true, .number = number, .spread = spread};
	struct text t;

	text_init(&t);
	value_format(&c, &v, &t);
	snprintf(buf, sizeof(buf), "%s", t.data);
	text_release(&t);
	return buf;
}

static void values_are_written_as_people_write_them(void **state)
{
	(void)state;
	assert_string_equal(written(COLUMN_NUMBER, 2, 3.214, 0.111), "3.21 ± 0.11");
	assert_string_equal(written(COLUMN_NUMBER, 2, 0.004, 0), "0.004");
	assert_string_equal(written(COLUMN_NUMBER, 2, 2e-16, 1e-16), "0.00 ± 0.00");
	assert_string_equal(written(COLUMN_PERCENT, -1, 0.312, 0.021), "31 ± 2 %");
	assert_string_equal(written(COLUMN_NUMBER, -1, 12345.6, 0), "12,346");
	assert_string_equal(written(COLUMN_NUMBER, -1, 1.414, 0.2531), "1.41 ± 0.25");
	assert_string_equal(written(COLUMN_NUMBER, -1, -0.5, 0), "-0.500");
	assert_string_equal(written(COLUMN_NUMBER, -1, 3e-9, 0), "3e-09");
	assert_string_equal(written(COLUMN_INTEGER, -1, 8192, 0), "8192");
	assert_string_equal(written(COLUMN_INTEGER, 0, 1, 0), "1");
	assert_string_equal(written(COLUMN_PERCENT, -1, 0.31, 0), "31 %");
	assert_string_equal(written(COLUMN_PERCENT, -1, 0.0312, 0), "3.1 %");
	assert_string_equal(written(COLUMN_PERCENT, -1, 1, 0), "100 %");
	assert_string_equal(written(COLUMN_BYTES, -1, 1.5 * 0x1p30, 0), "1.5 GiB");
	assert_string_equal(written(COLUMN_BYTES, -1, -1, 0), "-1 B");
	assert_string_equal(written(COLUMN_FLAG, -1, 1, 0), "yes");
	assert_string_equal(written(COLUMN_FLAG, -1, 0, 0), "");
	assert_int_equal(column_kind_of("bytes"), COLUMN_BYTES);
	assert_int_equal(column_kind_of("byte"), COLUMN_KIND_COUNT);
}

/* ---- ticks ---- */

static void check_order(const struct ticks *t, int max, double low, double high)
{
	assert_in_range(t->count, 1, (uintmax_t)max);
	for (int i = 1; i < t->count; i++)
		assert_true(t->at[i] > t->at[i - 1]);
	assert_true(t->low <= low + 1e-9 * fabs(low) && t->high >= high - 1e-9 * fabs(high));
	assert_true(t->at[0] >= t->low * (t->low > 0 ? 1 - 1e-6 : 1 + 1e-6) - 1e-300);
	assert_true(t->at[t->count - 1] <= t->high + fabs(t->high) * 1e-6);
}

/* Is it 1, 2, 2.5 or 5 times a power of ten? */
static bool is_round(double step)
{
	double first = step / pow(10, floor(log10(step) + 1e-9));

	return fabs(first - 1) < 1e-6 || fabs(first - 2) < 1e-6 || fabs(first - 2.5) < 1e-6 ||
	       fabs(first - 5) < 1e-6;
}

static void ticks_are_round_and_cover_the_range(void **state)
{
	struct random r = random_start("ticks");
	(void)state;

	for (int i = 0; i < 20000; i++) {
		double size = pow(10, random_int(&r, -20, 20));
		double low = random_int(&r, -1000, 1000) * size / 1000;
		double high = low + random_int(&r, 1, 100000) * size / 1000;
		int max = random_int(&r, 3, TICKS_MAX);
		struct ticks t = ticks_linear(low, high, max);

		check_order(&t, max, low, high);
		assert_true(t.count >= 2 && is_round(t.at[1] - t.at[0]));
		low = fabs(low) + size / 1000;
		high = low * (1 + random_int(&r, 1, 1000000) / 1000.0);
		t = ticks_log(low, high, false, max);
		check_order(&t, TICKS_MAX, low, high);
	}
}

static void ticks_survive_what_has_no_range(void **state)
{
	static const double values[] = {0, 1, -1, 1e-300, 1e29, 1 + 1e-15, 0.1};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		struct ticks t = ticks_linear(values[i], values[i], 7);

		check_order(&t, 7, values[i], values[i]);
		if (values[i] > 1e-30) {
			t = ticks_log(values[i], values[i], true, 7);
			check_order(&t, TICKS_MAX, values[i], values[i]);
		}
	}
}

/* ---- documents ---- */

static void text_can_break_nothing(void **state)
{
	static const char evil[] = "<b>&\"'</title><script>\x01\xff\xc3(\xef\xbf\xbf tail é";
	struct document d;
	struct table *t;
	struct text out;
	(void)state;

	document_init(&d);
	d.title = document_string(&d, evil);
	document_heading(&d, 1, evil, evil);
	document_paragraph(&d, evil);
	document_code(&d, evil);
	document_item(&d, evil, evil, NULL);
	document_answer(&d, evil, evil, evil, false);
	document_led(&d, evil, evil);
	t = table_new(&d.arena, 1, 2);
	t->title = t->columns[0].label = document_string(&d, evil);
	t->rows[0].values[0] = (struct value){.present = true, .text = t->title};
	t->rows[1].failed = t->title;
	document_table(&d, t);
	text_init(&out);
	html_format(&d, &out);
	assert_null(html_problem(out.data));
	assert_true(text_is_utf8(out.data));
	assert_null(strstr(out.data, "<b>"));
	assert_null(strchr(out.data, '\x01'));
	assert_non_null(strstr(out.data, "&lt;b&gt;&amp;&quot;&#39;"));
	assert_non_null(strstr(out.data, "? tail é"));
	text_release(&out);
	document_release(&d);
}

/* Words of all lengths, some longer than a line. */
static const char *random_text(struct random *r, struct document *d, int words)
{
	struct text t;
	const char *s;

	text_init(&t);
	for (int i = 0; i < words; i++) {
		int length = random_int(r, 1, random_int(r, 0, 30) ? 12 : 200);

		for (int k = 0; k < length; k++)
			text_add(&t, random_int(r, 0, 20) ? "n" : "µ");
		text_add(&t, random_int(r, 0, 12) ? " " : "\n");
	}
	s = document_string(d, t.data);
	text_release(&t);
	return s;
}

static struct table *random_table(struct random *r, struct document *d)
{
	int columns = random_int(r, 1, 16), rows = random_int(r, 0, 90);
	struct table *t = table_new(&d->arena, columns, rows);

	t->title = random_text(r, d, 4);
	t->note = random_text(r, d, random_int(r, 0, 30));
	for (int i = 0; i < columns; i++)
		t->columns[i] = (struct column){random_text(r, d, random_int(r, 1, 4)), "ms",
						(enum column_kind)random_int(r, 0, 5), -1};
	for (int i = 0; i < rows; i++) {
		for (int k = 0; k < columns; k++)
			t->rows[i].values[k] =
				(struct value){.present = random_int(r, 0, 4) > 0,
					       .text = random_text(r, d, random_int(r, 0, 5)),
					       .number = random_int(r, 0, 100000) / 7.0,
					       .spread = random_int(r, 0, 2)};
		if (!random_int(r, 0, 9))
			t->rows[i].failed = random_text(r, d, random_int(r, 1, 60));
	}
	return t;
}

static struct chart *random_chart(struct random *r, struct document *d)
{
	int series = random_int(r, 1, 9), n = random_int(r, 1, 20);
	struct chart *c = chart_new(&d->arena, (enum chart_kind)random_int(r, 0, 3), series);
	bool bars = c->kind == CHART_BAR || c->kind == CHART_STACKED;

	c->title = random_text(r, d, 5);
	c->caption = random_text(r, d, random_int(r, 0, 20));
	c->x_label = "x";
	c->y_label = "y";
	c->log_x = random_int(r, 0, 1);
	c->log_y = random_int(r, 0, 1);
	c->ideal = (enum chart_ideal)random_int(r, 0, 2);
	c->y_kind = (enum column_kind)random_int(r, COLUMN_NUMBER, COLUMN_BYTES);
	c->categories = arena_get(&d->arena, (size_t)n, sizeof(char *));
	for (int i = 0; i < n; i++)
		c->categories[i] = random_text(r, d, random_int(r, 1, 3));
	c->category_count = bars ? n : 0;
	for (int i = 0; i < series; i++) {
		c->series[i].name = random_text(r, d, 2);
		c->series[i].points =
			arena_get(&d->arena, (size_t)n, sizeof(struct chart_point));
		c->series[i].count = n;
		for (int k = 0; k < n; k++)
			c->series[i].points[k] = (struct chart_point){
				bars ? k : random_int(r, -5, 500),
				random_int(r, -3, 1000) * pow(10, random_int(r, -4, 4)),
				random_int(r, 0, 9)};
	}
	return c;
}

static void add_random_block(struct random *r, struct document *d)
{
	switch (random_int(r, 0, 6)) {
	case 0:
		document_heading(d, random_int(r, 1, 3), "id",
				 random_text(r, d, random_int(r, 1, 12)));
		break;
	case 1:
		document_paragraph(d, random_text(r, d, random_int(r, 1, 300)));
		break;
	case 2:
		document_code(d, random_text(r, d, random_int(r, 1, 200)));
		break;
	case 3:
		document_table(d, random_table(r, d));
		break;
	case 4:
		document_chart(d, random_chart(r, d));
		break;
	case 5:
		document_answer(d, "1.2.3", random_text(r, d, 9), random_text(r, d, 60),
				random_int(r, 0, 1));
		break;
	default:
		document_item(d, random_text(r, d, 2), random_text(r, d, 30), NULL);
	}
}

static void nothing_is_outside_the_page(void **state)
{
	struct random r = random_start("pages");
	(void)state;

	for (int i = 0; i < 40; i++) {
		struct watcher w = {.pages = 0};
		struct document d;
		struct text out;

		document_init(&d);
		d.title = random_text(&r, &d, 6);
		document_contents(&d);
		for (int k = 0; k < 40; k++)
			add_random_block(&r, &d);
		document_heading(&d, 1, "end", "End");
		document_paragraph(&d, "The end.");
		watch_pages(&w, &d);
		assert_true(w.pages > 1 && w.texts > 100);
		assert_int_equal(w.outside, 0);
		assert_int_equal(w.lonely_headings, 0);
		assert_int_equal(w.lonely_bullets, 0);
		assert_true(w.smallest >= 7);
		text_init(&out);
		html_format(&d, &out);
		assert_null(html_problem(out.data));
		text_release(&out);
		assert_int_equal(document_check(&d, fresh(&err)), OK);
		document_release(&d);
	}
}

static void a_long_table_repeats_its_heading(void **state)
{
	struct watcher w = {.counted = "heading"};
	struct document d;
	struct table *t;
	(void)state;

	document_init(&d);
	t = table_new(&d.arena, 1, 300);
	t->columns[0] = (struct column){"heading", "", COLUMN_INTEGER, 0};
	for (int i = 0; i < t->row_count; i++)
		t->rows[i].values[0] = (struct value){.present = true, .number = i};
	document_table(&d, t);
	watch_pages(&w, &d);
	assert_true(w.pages >= 5);
	assert_int_equal(w.count, w.pages);
	document_release(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_written_as_people_write_them),
		cmocka_unit_test(ticks_are_round_and_cover_the_range),
		cmocka_unit_test(ticks_survive_what_has_no_range),
		cmocka_unit_test(text_can_break_nothing),
		cmocka_unit_test(nothing_is_outside_the_page),
		cmocka_unit_test(a_long_table_repeats_its_heading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
