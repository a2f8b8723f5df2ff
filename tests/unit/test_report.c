/* test_report.c - documents, tables, charts, and what studies and runs become in a report. */
#include "pages.h"

#include "base/file.h"
#include "report/html.h"
#include "report/bundle.h"
#include "report/pdf.h"
#include "report/report.h"

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

/* ---- studies ---- */

static const char small_study[] =
	"{\"schema\": \"kolm.study/2\", \"name\": \"s\", \"title\": \"S\","
	" \"requirements\": [\"B3\"], \"tables\": [{\"id\": \"t\", \"title\": \"T\","
	" \"columns\": [{\"key\": \"ranks\", \"label\": \"ranks\", \"kind\": \"integer\"},"
	"  {\"key\": \"ms\", \"label\": \"step\", \"unit\": \"ms\", \"kind\": \"number\","
	"   \"digits\": 2, \"spread\": \"ms_spread\"}],"
	" \"rows\": [{\"device\": \"real\", \"ranks\": 4, \"ms\": 3.5, \"ms_spread\": 0.25},"
	"  {\"device\": \"real\", \"ranks\": 1, \"ms\": 10, \"failed\": null},"
	"  {\"device\": \"simulated\", \"ranks\": 1, \"ms\": 9, \"oversubscribed\": true},"
	"  {\"device\": \"simulated\", \"ranks\": 8, \"failed\": \"no memory\"}]}],"
	" \"charts\": [{\"id\": \"c\", \"table\": \"t\", \"kind\": \"line\", \"x\": \"ranks\","
	"  \"y\": [\"ms\"], \"split\": \"device\"},"
	"  {\"id\": \"d\", \"table\": \"t\", \"kind\": \"bar\", \"x\": \"ranks\", \"y\": [\"ms\"],"
	"  \"where\": {\"device\": \"real\"}}],"
	" \"gantts\": [{\"title\": \"G\", \"run\": \"runs/a\", \"step\": 3}],"
	" \"answers\": [{\"id\": \"1.1\", \"question\": \"Q?\", \"verdict\": \"A.\","
	"  \"supported\": true}],"
	" \"bottlenecks\": [{\"what\": \"w\", \"where\": \"h\", \"ms\": 1, \"share\": 0.5}]}";

static const struct block *find_block(const struct document *d, enum block_kind kind, int nth)
{
	for (size_t i = 0; i < d->count; i++)
		if (d->blocks[i].kind == kind && nth-- == 0)
			return &d->blocks[i];
	fail_msg("there is no such block");
	return NULL;
}

static void charts_show_what_tables_say(void **state)
{
	struct study s;
	struct document d;
	const struct table *t;
	const struct chart *c;
	(void)state;

	document_init(&d);
	assert_int_equal(
		study_parse(&s, small_study, strlen(small_study), "r.json", fresh(&err)), OK);
	assert_int_equal(study_add(&s, &d, NULL, fresh(&err)), OK);
	t = find_block(&d, BLOCK_TABLE, 0)->table;
	/* The device is no column, but a group of rows. */
	assert_int_equal(t->column_count, 2);
	assert_string_equal(t->rows[1].group, "On this machine");
	assert_string_equal(t->rows[2].group, "Simulated");
	assert_true(t->rows[0].values[1].number == 3.5 && t->rows[0].values[1].spread == 0.25);
	assert_string_equal(t->rows[3].failed, "failed: no memory");
	assert_int_equal(row_shown_cells(t, &t->rows[3]), 1);
	c = find_block(&d, BLOCK_CHART, 0)->chart;
	assert_int_equal(c->series_count, 2);
	assert_string_equal(c->series[0].name, "this machine");
	/* Sorted by x; the failed row is not a point. */
	assert_int_equal(c->series[0].count, 2);
	assert_true(c->series[0].points[0].x == 1 && c->series[0].points[0].y == 10);
	assert_true(c->series[0].points[1].y == 3.5 && c->series[0].points[1].spread == 0.25);
	assert_int_equal(c->series[1].count, 1);
	c = find_block(&d, BLOCK_CHART, 1)->chart;
	assert_int_equal(c->category_count, 2);
	assert_int_equal(c->series_count, 1);
	assert_string_equal(c->categories[(int)c->series[0].points[0].x], "4");
	study_release(&s);
	document_release(&d);
}

/* Every point of every chart is the value of a row: recomputed from the sample studies. */
static void check_points(const struct document *d)
{
	const struct table *t = NULL;

	for (size_t i = 0; i < d->count; i++) {
		const struct chart *c = d->blocks[i].chart;

		if (d->blocks[i].kind == BLOCK_TABLE)
			t = d->blocks[i].table;
		if (d->blocks[i].kind != BLOCK_CHART || c->kind == CHART_CURVE)
			continue;
		for (int k = 0; k < c->series_count; k++)
			for (int n = 0; n < c->series[k].count; n++) {
				bool found = false;

				for (int row = 0; row < t->row_count; row++)
					for (int v = 0; v < t->column_count; v++)
						found |= !t->rows[row].failed &&
							 t->rows[row].values[v].number ==
								 c->series[k].points[n].y &&
							 t->rows[row].values[v].spread ==
								 c->series[k].points[n].spread;
				assert_true(found);
			}
	}
}

static enum status two_stages(const char *folder, int step, struct timeline *out,
			      struct error *e)
{
	struct costs c = {.f = 1, .b = 2, .w = 1};
	struct schedule s;
	enum status st;

	assert_non_null(strstr(folder, "runs/x-1"));
	assert_int_equal(step, 7);
	TRY(schedule_init(&s, SCHEDULE_1F1B, 2, 3, 1, e));
	st = timeline_simulate(out, &s, &c, e);
	schedule_release(&s);
out:
	return st;
}

static void the_sample_studies_make_a_report(void **state)
{
	static const char *const ids[] = {"1.2.1", "2.1", "3.1.1", "P.2"};
	struct report_options o = {.title = "T", .read_timeline = two_stages};
	struct sources sources = {.studies = NULL};
	struct watcher w = {.counted = "A step on two ranks"};
	struct document d;
	struct text out;
	(void)state;

	document_init(&d);
	assert_int_equal(sources_add(&sources, TESTS_DIR "/data/report", fresh(&err)), OK);
	assert_int_equal(sources.study_count, 4);
	assert_int_equal(report_build(&d, &sources, &o, fresh(&err)), OK);
	check_points(&d);
	watch_pages(&w, &d);
	assert_int_equal(w.outside, 0);
	assert_int_equal(w.lonely_headings, 0);
	assert_true(w.smallest >= 7);
	/* The timeline of the study is not shown twice. */
	assert_int_equal(w.count, 1);
	text_init(&out);
	html_format(&d, &out);
	assert_null(html_problem(out.data));
	/* Every answer is in the index, and the index leads to it. */
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		char cell[64];

		snprintf(cell, sizeof(cell), ">%s</a></td>", ids[i]);
		assert_non_null(strstr(out.data, cell));
	}
	text_release(&out);
	document_release(&d);
	sources_release(&sources);
}

/* The text of small_study with one piece replaced. */
static char *changed(const char *from, const char *to)
{
	const char *at = strstr(small_study, from);
	char *out;

	assert_non_null(at);
	assert_true(asprintf(&out, "%.*s%s%s", (int)(at - small_study), small_study, to,
			     at + strlen(from)) > 0);
	return out;
}

static void what_is_wrong_is_named_with_its_place(void **state)
{
	static const struct {
		const char *from, *to, *message;
	} cases[] = {
		{"kolm.study/2", "kolm.study/9", "r.json: schema is 'kolm.study/9', not"},
		{"\"name\": \"s\"", "\"name\": 3", "r.json: name is not a string"},
		{"[\"B3\"]", "[3]", "requirements has an element that is not a string"},
		{"\"integer\"", "\"int\"", "tables[0].columns[0].kind 'int' is no kind"},
		{"\"key\": \"ms\"", "\"kez\": 1", "tables[0].columns[1].key is missing"},
		{"\"ms\": 3.5", "\"ms\": \"x\"", "tables[0].rows[0].ms is not a number"},
		{"\"failed\": \"no memory\"", "\"failed\": 1",
		 "rows[3].failed is not a string"},
		{"\"id\": \"t\"", "\"id\": \"u\"", "charts[0].table 't' is the id of no table"},
		{"\"kind\": \"line\"", "\"kind\": \"pie\"", "charts[0].kind 'pie' is not line"},
		{"\"x\": \"ranks\"", "\"x\": \"rank\"", "charts[0].x 'rank' is no column"},
		{"\"y\": [\"ms\"]", "\"y\": []", "charts[0].y names no column"},
		{"\"where\": {\"device\": \"real\"}", "\"where\": 1",
		 "charts[1].where is not an object"},
		{"\"verdict\": \"A.\"", "\"verdicts\": \"A.\"",
		 "answers[0].verdict is missing"},
		{"\"gantts\": [", "\"gantts\": 1, \"g\": [", "gantts is not an array"},
		{"\"name\": \"s\",", "", "name is missing"},
		{"}]}", "}]", "r.json is not valid JSON: line 1, column"},
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *text = changed(cases[i].from, cases[i].to);
		struct document d;
		struct study s;
		enum status st;

		document_init(&d);
		st = study_parse(&s, text, strlen(text), "r.json", fresh(&err));
		if (st == OK)
			st = study_add(&s, &d, NULL, fresh(&err));
		assert_int_equal(st, ERR_USAGE);
		if (!strstr(err.msg, cases[i].message))
			fail_msg("'%s' is not in '%s'", cases[i].message, err.msg);
		study_release(&s);
		document_release(&d);
		free(text);
	}
}

/* ---- runs ---- */

static void a_run_shows_its_ranks_and_losses(void **state)
{
	static const char summary[] =
		"{\"schema\": \"kolm.summary/1\", \"grid\": {\"dp\": 2, \"pp\": 1, \"mp\": 1},"
		" \"ranks\": 2, \"step_ms\": {\"median\": 2, \"stdev\": 0.5},"
		" \"breakdown_ms\": {\"compute\": 1.5, \"comm_exposed\": 0.5},"
		" \"per_rank\": [{\"rank\": 0, \"params_bytes\": 1024, \"layers\": [0, 1, 2, 5]},"
		" {\"rank\": 1, \"params_bytes\": 2048}]}";
	static const char metrics[] = "{\"step\": 0, \"loss\": 2, \"loss_scale\": 65536}\n"
				      "{\"step\": 1, \"loss\": 1.5, \"loss_scale\": 32768}\n"
				      "{\"step\": 2, \"lo";
	static const char no_grid[] = "{\"schema\": \"kolm.summary/1\", \"grid\": {\"dp\": 0}}";
	struct run_result r;
	struct document d;
	const struct chart *c;
	const struct table *t;
	(void)state;

	document_init(&d);
	assert_int_equal(
		run_result_parse(&r, summary, strlen(summary), metrics, "s.json", fresh(&err)),
		OK);
	run_result_add(&r, &d, NULL);
	t = find_block(&d, BLOCK_TABLE, 0)->table;
	assert_string_equal(t->rows[0].values[t->column_count - 1].text, "0 to 2, 5");
	c = find_block(&d, BLOCK_CHART, 0)->chart;
	assert_true(c->series[1].points[0].y == 0.5);
	c = find_block(&d, BLOCK_CHART, 1)->chart;
	assert_true(c->series[0].points[1].y == 2048);
	c = find_block(&d, BLOCK_CHART, 2)->chart;
	assert_int_equal(c->series[0].count, 2);
	assert_true(c->series[0].points[1].y == 1.5);
	assert_string_equal(find_block(&d, BLOCK_CHART, 3)->chart->title,
			    "Figure 4. Loss scale");
	run_result_release(&r);
	document_release(&d);
	assert_int_equal(
		run_result_parse(&r, no_grid, strlen(no_grid), "", "s.json", fresh(&err)),
		ERR_USAGE);
	assert_non_null(strstr(err.msg, "s.json: grid is no grid"));
}

static void bottlenecks_are_ranked_by_their_share(void **state)
{
	struct sources sources = {.studies = NULL};
	struct document d;
	const struct table *t = NULL;
	double last = 2;
	(void)state;

	document_init(&d);
	assert_int_equal(sources_add(&sources, TESTS_DIR "/data/report", fresh(&err)), OK);
	report_add_bottlenecks(&d, &sources);
	t = find_block(&d, BLOCK_TABLE, 0)->table;
	assert_true(t->row_count >= 2 && t->row_count <= 3);
	for (int i = 0; i < t->row_count; i++) {
		assert_true(t->rows[i].values[1].number <= last);
		last = t->rows[i].values[1].number;
		/* Each kind of cost once. */
		for (int k = 0; k < i; k++)
			assert_string_not_equal(t->rows[i].values[0].text,
						t->rows[k].values[0].text);
	}
	assert_string_equal(t->rows[0].values[0].text, "bubble");
	assert_true(t->rows[0].values[1].number == 0.75);
	assert_string_equal(sources.conclusion.id, "P.5");
	document_release(&d);
	sources_release(&sources);
}

static void a_pdf_is_whole(void **state)
{
	struct document d;
	struct text pdf;
	(void)state;

	if (!pdf_library())
		skip();
	document_init(&d);
	text_init(&pdf);
	d.title = "Title";
	document_heading(&d, 1, "one", "One");
	document_paragraph(&d, "Text.");
	assert_int_equal(pdf_format(&d, &pdf, fresh(&err)), OK);
	assert_true(pdf.len > 1000 && !memcmp(pdf.data, "%PDF-", 5));
	assert_non_null(memmem(pdf.data + pdf.len - 10, 10, "%%EOF", 5));
	text_release(&pdf);
	document_release(&d);
}

static const struct text *bundled(const struct bundle *b, const char *name)
{
	for (int i = 0; i < b->count; i++)
		if (!strcmp(b->files[i].name, name))
			return &b->files[i].bytes;
	fail_msg("no %s", name);
	return NULL;
}

static void a_bundle_has_every_table_and_figure(void **state)
{
	struct sources none = {.studies = NULL};
	struct bundle b = {.files = NULL};
	struct document d;
	struct table *t;
	(void)state;

	document_init(&d);
	t = table_new(&d.arena, 3, 2);
	t->title =
		"Steps, and \"more\" of what is rather long to be said in the name of a file";
	t->columns[0].label = "who, \"what\"";
	t->columns[1] = (struct column){"step", "ms", COLUMN_NUMBER, 1};
	t->columns[2] = (struct column){"idle", "", COLUMN_PERCENT, 0};
	t->rows[0].values[0] = (struct value){.present = true, .text = "a, b"};
	t->rows[0].values[1] =
		(struct value){.present = true, .number = 1.23456, .spread = 0.5};
	t->rows[0].values[2] = (struct value){.present = true, .number = 0.25};
	t->rows[1].failed = "failed: no memory";
	document_table(&d, t);
	document_table(&d, table_new(&d.arena, 1, 1)); /* without a title it is no evidence */
	figure_grid(&d, &(struct grid){2, 2, 1}, "The grid.");
	assert_int_equal(bundle_make(&b, &d, &none, true, fresh(&err)), OK);
	assert_int_equal(b.count, 3 + (pdf_library() != NULL));
	assert_string_equal(
		bundled(&b,
			"tables/table-1-steps-and-more-of-what-is-rather-long-to-be-said-in.csv")
			->data,
		"\"who, \"\"what\"\"\",step (ms),±,idle\n\"a, b\",1.23456,0.5,0.25\n,,,,failed: no memory\n");
	assert_non_null(strstr(bundled(&b, "figures/figure-1-the-grid.svg")->data, "</svg>"));
	bundle_release(&b);
	assert_int_equal(bundle_make(&b, &d, &none, false, fresh(&err)), OK);
	assert_int_equal(b.count, 1 + (pdf_library() != NULL));
	bundle_release(&b);
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
		cmocka_unit_test(charts_show_what_tables_say),
		cmocka_unit_test(the_sample_studies_make_a_report),
		cmocka_unit_test(what_is_wrong_is_named_with_its_place),
		cmocka_unit_test(a_run_shows_its_ranks_and_losses),
		cmocka_unit_test(bottlenecks_are_ranked_by_their_share),
		cmocka_unit_test(a_pdf_is_whole),
		cmocka_unit_test(a_bundle_has_every_table_and_figure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
