/* test_trace_records.c - what is made of records that are not so simple, and of garbage. */
#include "testing.h"

#include "base/file.h"
#include "trace/compare.h"

static struct error err;

/* ---- records ---- */

static struct schedule two_stages;

static struct record record(int kind, int64_t begin, int64_t end)
{
	return (struct record){
		.begin = begin, .end = end, .kind = (int16_t)kind, .micro_batch = -1};
}

static struct record message(int kind, int64_t begin, int64_t end, int peer, uint64_t sequence)
{
	struct record r = record(kind, begin, end);

	r.peer = (int16_t)peer;
	r.sequence = sequence;
	return r;
}

static void fill(struct trace *t, int rank, const struct record *records, int n)
{
	t->ranks[rank].records = malloc((size_t)n * sizeof(*records));
	memcpy(t->ranks[rank].records, records, (size_t)n * sizeof(*records));
	t->ranks[rank].count = n;
}

static const struct record *find(const struct trace *t, int rank, int kind, int number)
{
	for (int64_t i = 0; i < t->ranks[rank].count; i++)
		if (t->ranks[rank].records[i].kind == kind && number-- == 0)
			return &t->ranks[rank].records[i];
	fail_msg("rank %d has no such record", rank);
	return NULL;
}

static struct trace two_ranks(void)
{
	struct trace t = {
		.grid = {1, 2, 1}, .schedule = SCHEDULE_GPIPE, .micro_batches = 2, .chunks = 1};

	assert_int_equal(trace_init(&t, fresh(&err)), OK);
	assert_int_equal(schedule_init(&two_stages, SCHEDULE_GPIPE, 2, 2, 1, fresh(&err)), OK);
	return t;
}

/* Two sends are under way at once, and the receiver has posted early without knowing when
   its partner came, as over MPI. */
static void transfers_follow_each_other_and_ends_fit(void **state)
{
	struct record sender[] = {
		record(RECORD_STEP, 1000, 2000), message(RECORD_SEND, 1100, 1400, 1, 7),
		message(RECORD_SEND, 1150, 1390, 1, 8),
		message(RECORD_SEND, 900, 950, 1, 6), /* before the step */
	};
	struct record receiver[] = {
		record(RECORD_STEP, 1000, 2000),
		message(RECORD_RECEIVE, 1001, 1300, 0, 7),
		message(RECORD_RECEIVE, 1001, 1350, 0, 8),
		message(RECORD_WAIT, 1001, 1300, 0, 7),
		record(RECORD_PAUSE, 1500, 1500), /* no time */
	};
	struct trace t = two_ranks();
	(void)state;

	receiver[3].of = RECORD_RECEIVE;
	fill(&t, 0, sender, ARRAY_SIZE(sender));
	fill(&t, 1, receiver, ARRAY_SIZE(receiver));
	assert_int_equal(trace_arrange(&t, 8, &two_stages, fresh(&err)), OK);
	assert_int_equal(t.ranks[0].count, 3);
	assert_int_equal(t.ranks[1].count, 4);
	/* What has arrived is no longer sent; the second one follows the first. */
	assert_int_equal(find(&t, 0, RECORD_SEND, 0)->begin, 100);
	assert_int_equal(find(&t, 0, RECORD_SEND, 0)->end, 300);
	assert_int_equal(find(&t, 0, RECORD_SEND, 1)->begin, 300);
	assert_int_equal(find(&t, 0, RECORD_SEND, 1)->end, 350);
	assert_int_equal(find(&t, 1, RECORD_RECEIVE, 0)->begin, 100);
	assert_int_equal(find(&t, 1, RECORD_RECEIVE, 1)->begin, 300);
	assert_int_equal(find(&t, 1, RECORD_WAIT, 0)->ready, 100);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(find(&t, 0, RECORD_SEND, i)->micro_batch, i);
		assert_int_equal(find(&t, 1, RECORD_RECEIVE, i)->micro_batch, i);
		assert_int_equal(find(&t, 0, RECORD_SEND, i)->sequence,
				 find(&t, 1, RECORD_RECEIVE, i)->sequence);
	}
	trace_release(&t);
	schedule_release(&two_stages);
}

/* The ring of one rank has lost a part of step 3: it begins with step 4. */
static void only_whole_steps_are_kept(void **state)
{
	struct trace t = two_ranks();
	struct record all[2][8];
	(void)state;

	for (int rank = 0; rank < 2; rank++)
		for (int i = 0; i < 8; i++) {
			all[rank][i] = record(RECORD_STEP, 1000 * i, 1000 * i + 900);
			all[rank][i].step = i + rank * 3;
		}
	fill(&t, 0, all[0], 8); /* steps 0 to 7 */
	fill(&t, 1, all[1], 8); /* steps 3 to 10 */
	t.ranks[1].overwritten = true;
	assert_int_equal(trace_arrange(&t, 100, &two_stages, fresh(&err)), OK);
	assert_int_equal(t.first_step, 4);
	assert_int_equal(t.last_step, 7);
	assert_int_equal(t.ranks[0].count, 4);
	assert_int_equal(t.ranks[1].count, 4);
	trace_release(&t);
	schedule_release(&two_stages);
}

static void a_ring_keeps_the_newest(void **state)
{
	struct records r;
	(void)state;

	assert_int_equal(records_init(&r, 4, fresh(&err)), OK);
	for (int i = 0; i < 7; i++) {
		struct record what = record(RECORD_FORWARD, i, i + 1);

		r.step = i;
		records_add(&r, &what);
	}
	assert_int_equal(records_kept(&r), 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(records_at(&r, i)->begin, i + 3);
		assert_int_equal(records_at(&r, i)->step, i + 3);
	}
	records_release(&r);
	assert_int_equal(records_init(&r, 0, fresh(&err)), OK);
	records_add(&r, &(struct record){0});
	assert_int_equal(records_kept(&r), 0);
}

/* ---- garbage ---- */

static void parse(const char *bytes, size_t size)
{
	struct trace t;
	struct comparison c;

	err = (struct error){0};
	if (trace_parse(&t, bytes, size, "garbage", fresh(&err)) != OK) {
		assert_true(*err.msg);
		return;
	}
	if (compare_step(&c, &t, t.last_step, true, fresh(&err)) == OK) {
		struct text out;

		text_init(&out);
		comparison_draw_text(&c, 50, &out);
		comparison_draw_svg(&c, &t, &out);
		text_release(&out);
		comparison_release(&c);
	}
	trace_release(&t);
}

static void spoil(struct random *random, const char *name)
{
	char path[600], *bytes, *copy;
	size_t size;

	snprintf(path, sizeof(path), TESTS_DIR "/fuzz/corpus/timeline/%s", name);
	assert_int_equal(file_read(path, 1 << 20, &bytes, &size, fresh(&err)), OK);
	copy = malloc(size);
	for (int i = 0; i < 200; i++) {
		memcpy(copy, bytes, size);
		for (int k = random_int(random, 1, 4); k > 0; k--)
			copy[random_int(random, 0, (int)size - 1)] =
				"0123456789-{}[],:\"e."[random_int(random, 0, 19)];
		parse(copy, i % 3 ? size : (size_t)random_int(random, 0, (int)size));
	}
	free(copy);
	free(bytes);
}

static void garbage_is_an_error(void **state)
{
	struct random random = random_start("garbage");
	(void)state;

	spoil(&random, "pipeline");
	spoil(&random, "replicas");
}

static void what_does_not_fit_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{\"otherData\": {\"schema\": \"other\"}}",
		"{\"otherData\": {\"schema\": \"kolm.timeline/1\"}}",
	};
	struct trace t;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(trace_parse(&t, bad[i], strlen(bad[i]), "bad", fresh(&err)),
				 ERR_USAGE);
	assert_int_equal(trace_load(&t, "/nonexistent", fresh(&err)), ERR_USAGE);
	assert_non_null(strstr(err.msg, "/nonexistent"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ring_keeps_the_newest),
		cmocka_unit_test(transfers_follow_each_other_and_ends_fit),
		cmocka_unit_test(only_whole_steps_are_kept),
		cmocka_unit_test(garbage_is_an_error),
		cmocka_unit_test(what_does_not_fit_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
