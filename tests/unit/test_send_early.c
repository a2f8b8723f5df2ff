/* test_send_early.c - the gradient of a stage's input that is sent before that of its weights
   is computed. */
#include "bubbles.h"

static double makespan(const struct schedule *s, const struct costs *c)
{
	struct timeline t;
	double ms;

	assert_int_equal(timeline_simulate(&t, s, c, &err), OK);
	ms = t.makespan_ms;
	timeline_release(&t);
	return ms;
}

static double random_ms(struct random *r, int most)
{
	return random_int(r, 0, 8 * most) * 0.125;
}

static struct part_cost random_part(struct random *r)
{
	struct part_cost part = {.f = random_ms(r, 4), .w = random_ms(r, 4)};

	part.b = part.w + random_ms(r, 4);
	part.forward = (struct message_cost){random_ms(r, 2), random_ms(r, 2)};
	part.backward = (struct message_cost){random_ms(r, 2), random_ms(r, 2)};
	return part;
}

struct rounds {
	struct random random;
	int shorter, splits; /* schedules that gained, and those that have no B */
};

static void check_never_longer(struct schedule *s, void *arg)
{
	struct rounds *rounds = arg;
	struct part_cost parts[P_MAX * V_MAX];
	struct costs c = {.parts = parts};
	double late, early;

	for (int i = 0; i < schedule_parts(s); i++)
		parts[i] = random_part(&rounds->random);
	c.stop_and_wait = random_int(&rounds->random, 0, 3) == 0;
	c.gradients_sent = random_int(&rounds->random, 0, 2);
	late = makespan(s, &c);
	c.send_early = true;
	early = makespan(s, &c);
	if (early > late + 1e-9)
		fail_msg("%s p %d m %d v %d: %g ms, %g ms if gradients are sent early",
			 schedule_name(s->kind), s->stages, s->micro_batches, s->chunks, late,
			 early);
	rounds->shorter += early < late - 1e-9;
	if (s->kind == SCHEDULE_ZB_H1) { /* its weight gradients are apart anyway */
		assert_true(early == late);
		rounds->splits++;
	}
}

static void it_never_takes_longer(void **state)
{
	struct rounds rounds = {random_start("sent early"), 0, 0};
	(void)state;

	for (int round = 0; round < 3; round++)
		for_all(check_never_longer, &rounds);
	assert_true(rounds.shorter > 1000);
	assert_true(rounds.splits > 0);
}

/*
 * The last stage works from (p-1) F on without a gap. Its last gradient leaves W before its
 * end, and each stage before it adds B-W until the first one has it, which computes all of B:
 * (p-1)F + m(F+B) - W + (p-2)(B-W) + B, that is (p-1)(F+B-W) beyond the work.
 */
static void bubbles_are_shorter_by_the_weight_gradients(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(free_messages); i++)
		for (int p = 1; p <= P_MAX; p++)
			for (int m = p; m <= M_MAX; m++) {
				struct costs c = free_messages[i];
				double pass = c.f + c.b - c.w;

				c.send_early = true;
				expect_bubble(SCHEDULE_1F1B, p, m, 1, c, (p - 1) * pass);
				expect_bubble(SCHEDULE_GPIPE, p, m, 1, c, (p - 1) * pass);
				expect_bubble(SCHEDULE_NAIVE, p, m, 1, c, (p - 1) * m * pass);
				for (int v = 2; v <= V_MAX && p > 1 && m % p == 0; v++)
					expect_bubble(SCHEDULE_INTERLEAVED, p, m, v, c,
						      (p - 1) * pass / v);
			}
}

static void that_holds_for_all_costs_of_1f1b(void **state)
{
	struct random r = random_start("closed form");
	(void)state;

	for (int round = 0; round < 300; round++) {
		int p = random_int(&r, 1, P_MAX), m = random_int(&r, p, 2 * M_MAX);
		struct costs c = {.f = 0.125 + random_ms(&r, 4), .w = random_ms(&r, 4)};

		c.b = c.w + random_ms(&r, 4);
		c.send_early = true;
		expect_bubble(SCHEDULE_1F1B, p, m, 1, c, (p - 1) * (c.f + c.b - c.w));
	}
}

/* B0 of the last stage takes 4 ms; its message needs 1 ms and is there before that. */
static void a_message_leaves_when_the_input_part_is_ready(void **state)
{
	const struct costs late = {.f = 1, .b = 4, .w = 3, .transfer = 0.5, .latency = 0.5};
	struct costs early = late;
	struct schedule s;
	struct timeline t;
	(void)state;

	early.send_early = true;
	make(&s, SCHEDULE_GPIPE, 2, 1, 1);
	assert_true(makespan(&s, &late) == 1 + 1 + 1 + 4 + 1 + 4);
	assert_true(makespan(&s, &early) == 1 + 1 + 1 + (4 - 3) + 1 + 4);
	assert_int_equal(timeline_simulate(&t, &s, &early, &err), OK);
	assert_true(t.totals[1].end_ms == 1 + 1 + 1 + 4);
	assert_true(t.totals[1].sent_ms == 1 + 1 + 1 + 1 + 1);
	timeline_release(&t);
	early.stop_and_wait = true; /* the message is there: no stop, but no shorter B either */
	assert_int_equal(timeline_simulate(&t, &s, &early, &err), OK);
	assert_true(t.totals[1].end_ms == 1 + 1 + 1 + 4);
	timeline_release(&t);
	schedule_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_never_takes_longer),
		cmocka_unit_test(bubbles_are_shorter_by_the_weight_gradients),
		cmocka_unit_test(that_holds_for_all_costs_of_1f1b),
		cmocka_unit_test(a_message_leaves_when_the_input_part_is_ready),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
