/* test_schedule.c - schedules: their orders, what lowering adds, and the checker. */
#include "schedules.h"

static void check_counts(struct schedule *s, void *arg)
{
	int messages = 0;
	int *made = arg;

	for (int i = 0; i < s->stages; i++) {
		const struct order *o = &s->orders[i];

		assert_true(schedule_activations(o) <= schedule_activation_bound(s, i));
		assert_int_equal(o->actions[o->count - 1].kind, ACTION_STEP);
		messages += schedule_messages(o);
	}
	assert_int_equal(messages, 2 * s->micro_batches * crossings(s));
	++*made;
}

static void all_schedules_pass_the_checker(void **state)
{
	int made = 0;
	(void)state;

	for_all(check_counts, &made);
	assert_int_equal(made, (4 * P_MAX + (P_MAX - 1) * (V_MAX - 1)) * M_MAX);
}

static const struct example {
	enum schedule_kind kind;
	int stage, stages, mbs, chunks;
	const char *want;
} examples[] = {
	{SCHEDULE_NAIVE, 1, 2, 3, 1, "F0 B0 F1 B1 F2 B2"},
	{SCHEDULE_GPIPE, 0, 2, 3, 1, "F0 F1 F2 B0 B1 B2"},
	{SCHEDULE_1F1B, 0, 3, 4, 1, "F0 F1 F2 B0 F3 B1 B2 B3"},
	{SCHEDULE_1F1B, 2, 3, 4, 1, "F0 B0 F1 B1 F2 B2 F3 B3"},
	{SCHEDULE_INTERLEAVED, 0, 2, 2, 2, "F0 F1 F0.1 F1.1 B0.1 B1.1 B0 B1"},
	{SCHEDULE_INTERLEAVED, 1, 2, 2, 2, "F0 F1 F0.1 B0.1 F1.1 B1.1 B0 B1"},
	{SCHEDULE_INTERLEAVED, 1, 2, 3, 2, "F0 F1 F0.1 B0.1 F1.1 B1.1 F2 B0 B1 F2.1 B2.1 B2"},
	{SCHEDULE_ZB_H1, 0, 3, 4, 1, "F0 F1 F2 I0 W0 F3 I1 W1 I2 W2 I3 W3"},
	{SCHEDULE_ZB_H1, 2, 3, 4, 1, "F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3"},
};

static void orders_are_those_of_the_examples(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		const struct example *e = &examples[i];
		struct schedule s;
		struct text text;

		text_init(&text);
		make(&s, e->kind, e->stages, e->mbs, e->chunks);
		order_format(&s.orders[e->stage], false, &text);
		assert_string_equal(text.data, e->want);
		text_release(&text);
		schedule_release(&s);
	}
}

static void lowering_puts_messages_beside_their_operations(void **state)
{
	static const struct example lowered[] = {
		{SCHEDULE_1F1B, 0, 2, 2, 1, "F0 F0> F1 F1> <B0 B0 <B1 B1 reduce0 step"},
		{SCHEDULE_1F1B, 1, 2, 2, 1, "<F0 F0 B0 B0> <F1 F1 B1 B1> reduce0 step"},
		{SCHEDULE_ZB_H1, 1, 3, 1, 1, "<F0 F0 F0> <B0 I0 B0> W0 reduce0 step"},
		{SCHEDULE_INTERLEAVED, 0, 2, 1, 2,
		 "F0 F0> <F0.1 F0.1 F0.1> <B0.1 B0.1 B0.1> reduce1 <B0 B0 reduce0 step"},
		{SCHEDULE_GPIPE, 0, 1, 2, 1, "F0 F1 B0 B1 reduce0 step"},
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(lowered); i++) {
		const struct example *e = &lowered[i];
		struct schedule s;
		struct text text;

		text_init(&text);
		make(&s, e->kind, e->stages, e->mbs, e->chunks);
		order_format(&s.orders[e->stage], true, &text);
		assert_string_equal(text.data, e->want);
		text_release(&text);
		schedule_release(&s);
	}
}

static void sizes_that_do_not_fit_are_refused(void **state)
{
	static const struct {
		enum schedule_kind kind;
		int p, m, v;
		const char *hint;
	} cases[] = {
		{SCHEDULE_1F1B, 2, 2, 2, "interleaved"},
		{SCHEDULE_ZB_H1, 2, 2, 3, "--chunks"},
		{SCHEDULE_INTERLEAVED, 2, 2, 1, "--chunks 2"},
		{SCHEDULE_INTERLEAVED, 1, 2, 2, "--pp 2"},
		{SCHEDULE_1F1B, 0, 1, 1, ""},
		{SCHEDULE_1F1B, 1, 0, 1, ""},
		{SCHEDULE_GPIPE, 2, 1 << 30, 1, ""},
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct schedule s;

		err = (struct error){0};
		assert_int_equal(schedule_init(&s, cases[i].kind, cases[i].p, cases[i].m,
					       cases[i].v, fresh(&err)),
				 ERR_USAGE);
		assert_non_null(strstr(err.hint, cases[i].hint));
		assert_null(s.orders);
	}
}

/* ---- mutations: whatever is wrong is found ---- */

static void refused(const struct schedule *s, const char *what, int stage, int index)
{
	if (schedule_check(s, fresh(&err)) == OK)
		fail_msg("%s p %d m %d v %d: %s action %d of stage %d went unnoticed",
			 schedule_name(s->kind), s->stages, s->micro_batches, s->chunks, what,
			 index, stage);
	assert_int_equal(err.code, ERR_FAILED);
	assert_int_equal(strncmp(err.msg, "stage ", 6), 0);
}

/* Without one action, and with it twice at some later place. */
static void drop_and_double(struct schedule *s, int stage, struct random *r)
{
	struct order *o = &s->orders[stage], whole = *o;
	int i = random_int(r, 0, whole.count - 1), at = random_int(r, i + 1, whole.count);

	o->actions = calloc((size_t)whole.count + 1, sizeof(*o->actions));
	assert_non_null(o->actions);
	memcpy(o->actions, whole.actions, (size_t)i * sizeof(*o->actions));
	memcpy(o->actions + i, whole.actions + i + 1,
	       (size_t)(whole.count - i - 1) * sizeof(*o->actions));
	o->count = whole.count - 1;
	refused(s, "dropping", stage, i);

	memcpy(o->actions, whole.actions, (size_t)at * sizeof(*o->actions));
	o->actions[at] = whole.actions[i];
	memcpy(o->actions + at + 1, whole.actions + at,
	       (size_t)(whole.count - at) * sizeof(*o->actions));
	o->count = whole.count + 1;
	refused(s, "doubling", stage, i);
	free(o->actions);
	*o = whole;
}

/* Must not change places: an F and its own backward, an I and its W, an operation and its
   messages, two messages of a channel. */
static bool bound_together(struct action a, struct action b)
{
	bool same = a.chunk == b.chunk && a.micro_batch == b.micro_batch;

	if (a.kind == b.kind)
		return !same && a.kind >= ACTION_SEND_F && a.kind <= ACTION_RECV_B;
	if (!same)
		return false;
	return (a.kind == ACTION_F && (b.kind == ACTION_B || b.kind == ACTION_I)) ||
	       (a.kind == ACTION_I && b.kind == ACTION_W) ||
	       (a.kind == ACTION_F && b.kind == ACTION_SEND_F) ||
	       (a.kind == ACTION_RECV_F && b.kind == ACTION_F) ||
	       (a.kind == ACTION_RECV_B && (b.kind == ACTION_B || b.kind == ACTION_I));
}

static int swap_bound(struct schedule *s, int stage, struct random *r)
{
	struct action *actions = s->orders[stage].actions;
	int i = random_int(r, 0, s->orders[stage].count - 1), swaps = 0;
	struct action a = actions[i];

	for (int k = i + 1; k < s->orders[stage].count; k++) {
		struct action b = actions[k];

		if (!bound_together(a, b))
			continue;
		actions[i] = b;
		actions[k] = a;
		refused(s, "swapping", stage, i);
		actions[i] = a;
		actions[k] = b;
		swaps++;
	}
	return swaps;
}

struct mutations {
	struct random random;
	int swaps;
};

static void mutate(struct schedule *s, void *arg)
{
	struct mutations *mutations = arg;
	int stage = random_int(&mutations->random, 0, s->stages - 1);

	drop_and_double(s, stage, &mutations->random);
	mutations->swaps += swap_bound(s, stage, &mutations->random);
	assert_int_equal(schedule_check(s, fresh(&err)), OK);
}

static void mutations_are_refused(void **state)
{
	struct mutations mutations = {random_start("mutations"), 0};
	(void)state;

	for (int round = 0; round < 5; round++)
		for_all(mutate, &mutations);
	assert_true(mutations.swaps > 1000);
}

/* Each stage on its own is fine, together they wait for each other. */
static void deadlock_is_named(void **state)
{
	struct schedule naive, gpipe;
	struct order kept;
	(void)state;

	make(&naive, SCHEDULE_NAIVE, 2, 2, 1);
	make(&gpipe, SCHEDULE_GPIPE, 2, 2, 1);
	kept = gpipe.orders[0];
	gpipe.orders[0] = naive.orders[0]; /* wants B0 before it gives F1 */
	assert_int_equal(schedule_check(&gpipe, fresh(&err)), ERR_FAILED);
	assert_string_equal(err.msg, "stage 0: <B0 waits for stage 1, which waits at <F1");
	gpipe.orders[0] = kept;
	schedule_release(&gpipe);
	schedule_release(&naive);
}

/* The same again for messages that overtake each other. */
static void unequal_orders_of_a_channel_are_named(void **state)
{
	struct schedule s;
	struct action *a;
	(void)state;

	make(&s, SCHEDULE_GPIPE, 2, 2, 1);
	a = s.orders[0].actions; /* F0 F0> F1 F1> becomes F0 F1 F1> F0> */
	a[1] = (struct action){ACTION_F, 0, 1};
	a[2] = (struct action){ACTION_SEND_F, 0, 1};
	a[3] = (struct action){ACTION_SEND_F, 0, 0};
	assert_int_equal(schedule_check(&s, fresh(&err)), ERR_FAILED);
	assert_string_equal(err.msg, "stage 1: <F0, but the next message of stage 0 is F1>");
	schedule_release(&s);
}

static void too_many_activations_are_refused(void **state)
{
	struct schedule s;
	(void)state;

	make(&s, SCHEDULE_GPIPE, 3, 4, 1);
	s.kind = SCHEDULE_1F1B;
	assert_int_equal(schedule_check(&s, fresh(&err)), ERR_FAILED);
	assert_string_equal(err.msg,
			    "stage 0: 4 activations are alive at once, 1f1b promises 3");
	schedule_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_schedules_pass_the_checker),
		cmocka_unit_test(orders_are_those_of_the_examples),
		cmocka_unit_test(lowering_puts_messages_beside_their_operations),
		cmocka_unit_test(sizes_that_do_not_fit_are_refused),
		cmocka_unit_test(mutations_are_refused),
		cmocka_unit_test(deadlock_is_named),
		cmocka_unit_test(unequal_orders_of_a_channel_are_named),
		cmocka_unit_test(too_many_activations_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
