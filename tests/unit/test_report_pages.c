/* test_report_pages.c - pages that are not torn, figures that can be read, axes that can be
   compared. */
#include "reading.h"

#include "report/plot.h"

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
