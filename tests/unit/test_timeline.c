/* test_timeline.c - what the simulator predicts for schedules, and how it is drawn. */
#include "bubbles.h"

static void bubbles_without_latency_have_their_closed_form(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(free_messages); i++)
		for (int p = 1; p <= P_MAX; p++)
			for (int m = p; m <= M_MAX; m++) {
				struct costs c = free_messages[i];
				double pass = c.f + c.b;

				expect_bubble(SCHEDULE_GPIPE, p, m, 1, c, (p - 1) * pass);
				expect_bubble(SCHEDULE_1F1B, p, m, 1, c, (p - 1) * pass);
				expect_bubble(SCHEDULE_NAIVE, p, m, 1, c, (p - 1) * m * pass);
				for (int v = 2; v <= V_MAX && p > 1 && m % p == 0; v++)
					expect_bubble(SCHEDULE_INTERLEAVED, p, m, v, c,
						      (p - 1) * pass / v);
			}
}

/* (p-1)(f+b-2w) holds exactly where a weight gradient takes no longer than a forward; where
   it does, w takes the place of f: (p-1)(max(f,w)+b-2w), from m = p on. */
static void zb_h1_hides_weight_gradients(void **state)
{
	static const struct costs long_w[] = {COSTS(1, 3, 2, 0), COSTS(0.5, 2, 1, 0),
					      COSTS(1, 2, 1.5, 0)};
	(void)state;

	for (int p = 1; p <= P_MAX; p++)
		for (int m = p; m <= 2 * M_MAX; m++) {
			for (size_t i = 0; i < ARRAY_SIZE(free_messages); i++) {
				struct costs c = free_messages[i];

				expect_bubble(SCHEDULE_ZB_H1, p, m, 1, c,
					      (p - 1) * (c.f + c.b - 2 * c.w));
			}
			for (size_t i = 0; i < ARRAY_SIZE(long_w); i++)
				expect_bubble(SCHEDULE_ZB_H1, p, m, 1, long_w[i],
					      (p - 1) * (long_w[i].b - long_w[i].w));
		}
}

/* The 1.5B model of "Zero Bubble Pipeline Parallelism" (Qi and others, 2023): times that were
   measured on 8 GPUs, and the bubble that its authors got from them. */
static void the_published_profile_gives_the_published_bubbles(void **state)
{
	static const struct costs c = {
		.f = 18.522, .b = 18.086 + 9.337, .w = 9.337, .latency = 0.601};
	static const struct {
		enum schedule_kind kind;
		double bubble;
	} published[] = {{SCHEDULE_1F1B, 0.2431}, {SCHEDULE_ZB_H1, 0.1585}};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(published); i++) {
		struct schedule s;
		struct timeline t;

		make(&s, published[i].kind, 8, 24, 1);
		assert_int_equal(timeline_simulate(&t, &s, &c, &err), OK);
		printf("%s: bubble %.5f, published %.4f\n", schedule_name(s.kind), t.bubble,
		       published[i].bubble);
		assert_true(fabs(t.bubble - published[i].bubble) < 0.0005);
		timeline_release(&t);
		schedule_release(&s);
	}
}

/* Costs of every part that are what uniform costs say give the same timeline. */
static void parts_of_equal_cost_change_nothing(void **state)
{
	static const struct costs uniform = COSTS(2, 5, 2, 0.25);
	struct part_cost parts[P_MAX * V_MAX];
	(void)state;

	for (int p = 1; p <= P_MAX; p++)
		for (int kind = 0; kind < SCHEDULE_KIND_COUNT; kind++) {
			int v = schedule_chunks((enum schedule_kind)kind, 0);
			struct costs c = uniform;
			struct timeline a, b;
			struct schedule s;

			if (v > 1 && p == 1)
				continue;
			for (int i = 0; i < p * v; i++)
				parts[i] = (struct part_cost){.f = c.f / v,
							      .b = c.b / v,
							      .w = c.w / v,
							      .forward.latency = c.latency,
							      .backward.latency = c.latency};
			make(&s, (enum schedule_kind)kind, p, 2 * p, v);
			assert_int_equal(timeline_simulate(&a, &s, &uniform, &err), OK);
			c.parts = parts;
			assert_int_equal(timeline_simulate(&b, &s, &c, &err), OK);
			assert_true(fabs(a.makespan_ms - b.makespan_ms) < 1e-9);
			parts[p - 1].b += 1; /* and a slower one does */
			timeline_release(&b);
			assert_int_equal(timeline_simulate(&b, &s, &c, &err), OK);
			assert_true(b.makespan_ms > a.makespan_ms);
			timeline_release(&a);
			timeline_release(&b);
			schedule_release(&s);
		}
}

/* Stop and wait: nothing overlaps, all that takes time adds up. */
static void stop_and_wait_hides_nothing(void **state)
{
	struct costs c = {.f = 1, .b = 2, .w = 1, .latency = 0.5, .transfer = 0.25};
	(void)state;

	c.stop_and_wait = true;
	for (int p = 1; p <= P_MAX; p++)
		for (int m = 1; m <= 4; m++) {
			struct timeline t;
			struct schedule s;
			double want =
				m * (p * (c.f + c.b) + 2 * (p - 1) * (c.transfer + c.latency));

			make(&s, SCHEDULE_NAIVE, p, m, 1);
			assert_int_equal(timeline_simulate(&t, &s, &c, &err), OK);
			assert_true(fabs(t.makespan_ms - want) < 1e-9);
			timeline_release(&t);
			schedule_release(&s);
		}
}

/* Every message has its own cost: of two slow boundaries only the one that is made slower
   makes the pipeline slower, by as much as the messages over it. */
static void messages_take_what_their_part_says(void **state)
{
	struct part_cost parts[3] = {{.f = 1, .b = 2}, {.f = 1, .b = 2}, {.f = 1, .b = 2}};
	struct costs c = {.parts = parts};
	struct timeline t;
	struct schedule s;
	(void)state;

	make(&s, SCHEDULE_NAIVE, 3, 1, 1);
	parts[0].forward = (struct message_cost){.transfer = 10, .latency = 20};
	parts[2].backward = (struct message_cost){.transfer = 100, .latency = 200};
	parts[2].forward.transfer = parts[0].backward.transfer = 1e6; /* never sent */
	assert_int_equal(timeline_simulate(&t, &s, &c, &err), OK);
	assert_true(fabs(t.makespan_ms - (9 + 30 + 300)) < 1e-9);
	assert_true(fabs(t.totals[2].sent_ms - (30 + 3 + 2 + 300)) < 1e-9);
	timeline_release(&t);
	schedule_release(&s);
}

/* A chunk has places for so many gradients on their way: fewer places are never faster, as
   many as there are micro-batches are as good as no limit; one place is a gradient at a time.
 */
static void gradients_wait_for_a_place(void **state)
{
	struct random r = random_start("places for gradients");
	(void)state;

	for (int round = 0; round < 200; round++) {
		int p = random_int(&r, 2, P_MAX), m = random_int(&r, 1, 12), kind, v;
		struct costs c = {.f = 1,
				  .b = 2,
				  .w = 1,
				  .transfer = random_int(&r, 0, 40) * 0.25,
				  .latency = random_int(&r, 0, 8) * 0.25};
		double before = INFINITY;
		struct timeline t;
		struct schedule s;

		kind = random_int(&r, 0, SCHEDULE_KIND_COUNT - 1);
		v = schedule_chunks((enum schedule_kind)kind, 0);
		make(&s, (enum schedule_kind)kind, p, m, v);
		for (c.gradients_sent = 1; c.gradients_sent <= m; c.gradients_sent++) {
			assert_int_equal(timeline_simulate(&t, &s, &c, &err), OK);
			assert_true(t.makespan_ms <= before + 1e-9);
			before = t.makespan_ms;
			timeline_release(&t);
		}
		c.gradients_sent = 0;
		assert_int_equal(timeline_simulate(&t, &s, &c, &err), OK);
		assert_true(fabs(t.makespan_ms - before) < 1e-9);
		timeline_release(&t);
		c.gradients_sent = 1;
		assert_int_equal(timeline_simulate(&t, &s, &c, &err), OK);
		if (v == 1) /* all but the first wait for the one before to arrive */
			assert_true(t.totals[p - 1].sent_ms >=
				    t.totals[p - 1].begin_ms +
					    m * (c.transfer + c.latency + c.b - c.w) - 1e-9);
		timeline_release(&t);
		schedule_release(&s);
	}
}

/* A stage that begins later makes the step later by no more than that, and the last stage
   of one that has time to spare by nothing. */
static void stages_begin_when_they_can(void **state)
{
	double begin[3] = {0, 0, 2};
	struct costs c = {.f = 1, .b = 2, .w = 1, .begin = begin};
	struct timeline t;
	struct schedule s;
	(void)state;

	make(&s, SCHEDULE_1F1B, 3, 4, 1);
	assert_int_equal(timeline_simulate(&t, &s, &c, &err), OK);
	assert_true(fabs(t.makespan_ms - 18) < 1e-9); /* it waits for two forwards anyway */
	timeline_release(&t);
	begin[0] = 5;
	assert_int_equal(timeline_simulate(&t, &s, &c, &err), OK);
	assert_true(fabs(t.makespan_ms - 23) < 1e-9);
	timeline_release(&t);
	schedule_release(&s);
}

/* Messages that take longer than computing queue up on the link. */
static void links_carry_one_message_at_a_time(void **state)
{
	struct costs c = {.f = 1, .b = 1, .w = 0.5, .transfer = 10};
	struct timeline t;
	struct schedule s;
	(void)state;

	make(&s, SCHEDULE_GPIPE, 2, 4, 1);
	assert_int_equal(timeline_simulate(&t, &s, &c, &err), OK);
	/* 1 + 4 messages there, the last forward and the first backward, 4 back, 1 */
	assert_true(fabs(t.makespan_ms - (1 + 40 + 1 + 1 + 40 + 1)) < 1e-9);
	timeline_release(&t);
	schedule_release(&s);
}

/* Spans of a stage follow each other, and no forward begins before its input is there. */
static void check_causes(struct schedule *s, void *arg)
{
	struct costs c = COSTS(1, 2, 0.75, 0.125);
	double ended[P_MAX * V_MAX][M_MAX];
	struct timeline t;

	(void)arg;
	assert_int_equal(timeline_simulate(&t, s, &c, &err), OK);
	for (int i = 0; i < t.count; i++) {
		struct span *x = &t.spans[i];

		if (i && x[-1].stage == x->stage)
			assert_true(x->begin_ms >= x[-1].end_ms);
		if (x->action.kind == ACTION_F)
			ended[schedule_part(s, x->stage, x->action.chunk)]
			     [x->action.micro_batch] = x->end_ms;
	}
	for (int i = 0; i < t.count; i++) {
		struct span *x = &t.spans[i];
		int part = schedule_part(s, x->stage, x->action.chunk);
		double message = 0;

		if (x->action.kind != ACTION_F || part == 0)
			continue;
		if (schedule_place(s, part - 1).stage != x->stage)
			message = c.latency;
		assert_true(x->begin_ms >= ended[part - 1][x->action.micro_batch] + message);
	}
	timeline_release(&t);
}

static void simulated_operations_wait_for_their_input(void **state)
{
	(void)state;
	for_all(check_causes, NULL);
}

static void drawings_show_every_stage(void **state)
{
	struct schedule s;
	struct timeline t;
	struct text text;
	struct costs c = COSTS(1, 2, 1, 0);
	(void)state;

	make(&s, SCHEDULE_ZB_H1, 2, 2, 1);
	assert_int_equal(timeline_simulate(&t, &s, &c, &err), OK);
	text_init(&text);
	timeline_draw_text(&t, 14, &text);
	assert_string_equal(text.data, "stage 0   0=1=..0-0+1-1+\n"
				       "stage 1   ..0=0-1=1-0+1+\n");
	text_release(&text);
	text_init(&text);
	timeline_draw_svg(&t, "two stages", &text);
	assert_non_null(strstr(text.data, ">stage 1</text>"));
	assert_non_null(strstr(text.data, "</svg>"));
	text_release(&text);
	timeline_release(&t);
	schedule_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bubbles_without_latency_have_their_closed_form),
		cmocka_unit_test(zb_h1_hides_weight_gradients),
		cmocka_unit_test(parts_of_equal_cost_change_nothing),
		cmocka_unit_test(stop_and_wait_hides_nothing),
		cmocka_unit_test(messages_take_what_their_part_says),
		cmocka_unit_test(gradients_wait_for_a_place),
		cmocka_unit_test(stages_begin_when_they_can),
		cmocka_unit_test(links_carry_one_message_at_a_time),
		cmocka_unit_test(the_published_profile_gives_the_published_bubbles),
		cmocka_unit_test(simulated_operations_wait_for_their_input),
		cmocka_unit_test(drawings_show_every_stage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
