/* test_report.c - what studies and runs become in a report. */
#include "pages.h"

#include "base/file.h"
#include "report/html.h"
#include "report/bundle.h"
#include "report/pdf.h"
#include "report/report.h"

static struct error err;

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
