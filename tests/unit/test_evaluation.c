/* test_evaluation.c - schedules of forwards only, for all kinds and sizes. */
#include "schedules.h"

#include "schedule/timeline.h"

/* Is there such a part, and on another stage? */
static bool is_elsewhere(const struct schedule *s, int part, int stage)
{
	return part >= 0 && part < schedule_parts(s) && schedule_place(s, part).stage != stage;
}

static void check_stage(const struct schedule *s, int stage)
{
	const struct order *o = &s->orders[stage];
	int at = 0, computed = 0;

	for (int mb = 0; mb < s->micro_batches; mb++)
		for (int part = 0; part < schedule_parts(s); part++) {
			struct place place = schedule_place(s, part);

			if (place.stage != stage)
				continue;
			if (is_elsewhere(s, part - 1, stage))
				assert_int_equal(o->actions[at++].kind, ACTION_RECV_F);
			assert_int_equal(o->actions[at].kind, ACTION_E);
			assert_int_equal(o->actions[at].chunk, place.chunk);
			assert_int_equal(o->actions[at++].micro_batch, mb);
			if (is_elsewhere(s, part + 1, stage))
				assert_int_equal(o->actions[at++].kind, ACTION_SEND_F);
			computed++;
		}
	assert_int_equal(at, o->count);
	assert_int_equal(computed, s->chunks * s->micro_batches);
	assert_int_equal(schedule_activations(o), 0);
}

static void evaluate_like(struct schedule *like, void *arg)
{
	int *made = arg;

	for (int m = 1; m <= 5; m += 2) {
		struct schedule s;

		if (schedule_init_forward(&s, like, m, &err) != OK)
			fail_msg("%s", err.msg);
		assert_int_equal(s.kind, like->kind);
		assert_int_equal(s.stages, like->stages);
		assert_int_equal(s.chunks, like->chunks);
		assert_int_equal(s.micro_batches, m);
		for (int part = 0; part < schedule_parts(like); part++)
			assert_memory_equal(&s.places[part], &like->places[part],
					    sizeof(struct place));
		for (int stage = 0; stage < s.stages; stage++)
			check_stage(&s, stage);
		++*made;
		schedule_release(&s);
	}
}

static void every_part_sees_every_micro_batch_once(void **state)
{
	int made = 0;
	(void)state;

	for_all(evaluate_like, &made);
	assert_true(made > 1000);
}

static void its_text_has_an_e(void **state)
{
	struct schedule like, s;
	struct text text;
	(void)state;

	make(&like, SCHEDULE_INTERLEAVED, 2, 4, 2);
	assert_int_equal(schedule_init_forward(&s, &like, 2, &err), OK);
	text_init(&text);
	order_format(&s.orders[1], true, &text);
	assert_string_equal(text.data, "<F0 E0 F0> <F0.1 E0.1 <F1 E1 F1> <F1.1 E1.1");
	text_release(&text);
	text_init(&text);
	order_format(&s.orders[0], false, &text);
	assert_string_equal(text.data, "E0 E0.1 E1 E1.1");
	text_release(&text);
	schedule_release(&s);
	schedule_release(&like);
}

static void it_takes_forwards_only(void **state)
{
	const struct costs costs = {.f = 3, .b = 7, .w = 2};
	struct schedule like, s;
	struct timeline t;
	(void)state;

	make(&like, SCHEDULE_1F1B, 4, 2, 1);
	assert_int_equal(schedule_init_forward(&s, &like, 6, &err), OK);
	assert_int_equal(timeline_simulate(&t, &s, &costs, &err), OK);
	assert_int_equal(t.count, 4 * 6);
	assert_true(t.makespan_ms == (4 - 1 + 6) * 3);
	timeline_release(&t);
	schedule_release(&s);
	schedule_release(&like);
}

static void refused(const struct schedule *s, const char *why)
{
	err = (struct error){0};
	assert_int_equal(schedule_check(s, &err), ERR_FAILED);
	assert_string_equal(err.msg, why);
}

static void nothing_else_belongs_there(void **state)
{
	struct schedule like, s;
	(void)state;

	make(&like, SCHEDULE_GPIPE, 1, 2, 1); /* F0 F1 B0 B1 reduce0 step */
	assert_int_equal(schedule_init_forward(&s, &like, 2, &err), OK);
	s.orders[0].actions[1].kind = ACTION_F;
	refused(&s, "stage 0: F1 does not belong into an evaluation");
	s.orders[0].actions[1].kind = ACTION_STEP;
	refused(&s, "stage 0: step does not belong into an evaluation");
	s.orders[0].actions[1] = (struct action){ACTION_E, 0, 0};
	refused(&s, "stage 0: E0 comes twice");
	s.orders[0].count = 1;
	refused(&s, "stage 0: E1 is missing");
	like.orders[0].actions[0].kind = ACTION_E;
	refused(&like, "stage 0: E0 does not belong into a step");
	schedule_release(&s);
	schedule_release(&like);
}

static void sizes_are_checked(void **state)
{
	struct schedule like, s;
	(void)state;

	make(&like, SCHEDULE_1F1B, 2, 1, 1);
	err = (struct error){0};
	assert_int_equal(schedule_init_forward(&s, &like, 0, &err), ERR_USAGE);
	assert_null(s.orders);
	schedule_release(&like);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_part_sees_every_micro_batch_once),
		cmocka_unit_test(its_text_has_an_e),
		cmocka_unit_test(it_takes_forwards_only),
		cmocka_unit_test(nothing_else_belongs_there),
		cmocka_unit_test(sizes_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
