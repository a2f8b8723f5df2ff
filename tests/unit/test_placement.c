/* test_placement.c - where the parts of the model are: the table of a schedule, and what
   follows from it. */
#include "schedules.h"

static void check_table(struct schedule *s, void *arg)
{
	(void)arg;
	assert_int_equal(schedule_parts(s), s->stages * s->chunks);
	for (int part = 0; part < schedule_parts(s); part++) {
		struct place at = schedule_place(s, part);

		assert_in_range(at.stage, 0, s->stages - 1);
		assert_in_range(at.chunk, 0, s->chunks - 1);
		assert_int_equal(schedule_part(s, at.stage, at.chunk), part);
	}
}

static void parts_and_places_are_one_to_one(void **state)
{
	(void)state;
	for_all(check_table, NULL);
}

/* Chunks are in the order of the layers: those of a stage come one after the other. */
static void check_order(struct schedule *s, void *arg)
{
	(void)arg;
	for (int stage = 0; stage < s->stages; stage++)
		for (int chunk = 1; chunk < s->chunks; chunk++)
			assert_true(schedule_part(s, stage, chunk) >
				    schedule_part(s, stage, chunk - 1));
}

static void chunks_are_in_the_order_of_the_layers(void **state)
{
	(void)state;
	for_all(check_order, NULL);
}

static void check_peers(struct schedule *s, void *arg)
{
	(void)arg;
	for (int part = 0; part < schedule_parts(s); part++) {
		struct place at = schedule_place(s, part);
		int chunk = -1,
		    to = schedule_peer(s, at.stage, (struct action){ACTION_SEND_F, at.chunk, 0},
				       &chunk);

		if (part == schedule_parts(s) - 1 ||
		    schedule_place(s, part + 1).stage == at.stage) {
			assert_int_equal(to, -1);
			continue;
		}
		assert_int_equal(schedule_part(s, to, chunk), part + 1);
		/* and the same from the other end */
		assert_int_equal(
			schedule_peer(s, to, (struct action){ACTION_RECV_F, chunk, 0}, &chunk),
			at.stage);
		assert_int_equal(chunk, at.chunk);
	}
}

static void messages_go_to_the_next_part(void **state)
{
	(void)state;
	for_all(check_peers, NULL);
}

/* ---- another table: down the stages, and up again ---- */

static const struct place v_places[] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
static const int v_parts[] = {0, 3, 1, 2};

#define DO(kind, chunk)                 \
	{                               \
		ACTION_##kind, chunk, 0 \
	}
static const struct action v_first[] = {DO(F, 0),      DO(SEND_F, 0), DO(RECV_F, 1), DO(F, 1),
					DO(B, 1),      DO(SEND_B, 1), DO(RECV_B, 0), DO(B, 0),
					DO(REDUCE, 0), DO(REDUCE, 1), DO(STEP, 0)};
static const struct action v_second[] = {
	DO(RECV_F, 0), DO(F, 0),      DO(F, 1),	     DO(SEND_F, 1), DO(RECV_B, 1), DO(B, 1),
	DO(B, 0),      DO(SEND_B, 0), DO(REDUCE, 0), DO(REDUCE, 1), DO(STEP, 0)};

struct v_shape {
	struct schedule schedule;
	struct place places[ARRAY_SIZE(v_places)];
	int parts[ARRAY_SIZE(v_parts)];
	struct order orders[2];
	struct action first[ARRAY_SIZE(v_first)], second[ARRAY_SIZE(v_second)];
};

static void make_v(struct v_shape *v)
{
	err = (struct error){0};
	memcpy(v->places, v_places, sizeof(v_places));
	memcpy(v->parts, v_parts, sizeof(v_parts));
	memcpy(v->first, v_first, sizeof(v_first));
	memcpy(v->second, v_second, sizeof(v_second));
	v->orders[0] = (struct order){v->first, ARRAY_SIZE(v_first), ARRAY_SIZE(v_first)};
	v->orders[1] = (struct order){v->second, ARRAY_SIZE(v_second), ARRAY_SIZE(v_second)};
	v->schedule = (struct schedule){.kind = SCHEDULE_INTERLEAVED,
					.stages = 2,
					.micro_batches = 1,
					.chunks = 2,
					.places = v->places,
					.part_at = v->parts,
					.orders = v->orders};
}

static void a_v_needs_no_message_where_it_turns(void **state)
{
	struct v_shape v;
	int chunk;
	(void)state;

	make_v(&v);
	assert_int_equal(schedule_peer(&v.schedule, 1, (struct action)DO(SEND_F, 0), &chunk),
			 -1);
	if (schedule_check(&v.schedule, &err) != OK)
		fail_msg("%s", err.msg);
}

static void swap(struct action *a, struct action *b)
{
	struct action c = *a;

	*a = *b;
	*b = c;
}

static void parts_of_one_stage_keep_their_order(void **state)
{
	struct v_shape v;
	(void)state;

	make_v(&v);
	swap(&v.second[1], &v.second[2]);
	assert_int_equal(schedule_check(&v.schedule, &err), ERR_FAILED);
	assert_string_equal(err.msg,
			    "stage 1: F0.1 comes before the forward of the part before it");
	make_v(&v);
	swap(&v.second[5], &v.second[6]);
	assert_int_equal(schedule_check(&v.schedule, &err), ERR_FAILED);
	assert_string_equal(err.msg,
			    "stage 1: B0 comes before the backward of the part behind it");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_and_places_are_one_to_one),
		cmocka_unit_test(chunks_are_in_the_order_of_the_layers),
		cmocka_unit_test(messages_go_to_the_next_part),
		cmocka_unit_test(a_v_needs_no_message_where_it_turns),
		cmocka_unit_test(parts_of_one_stage_keep_their_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
