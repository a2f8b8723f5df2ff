/* test_base.c - random generator, units, names, messages, JSON writer. */
#include "testing.h"

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"

#include <jansson.h>

/* Known answers of Philox4x32-10, published with Random123. */
static void philox_gives_the_published_vectors(void **state)
{
	static const struct {
		uint32_t counter[4], key[2], want[4];
	} cases[] = {
		{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{{~0u, ~0u, ~0u, ~0u},
		 {~0u, ~0u},
		 {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
		 {0xa4093822, 0x299f31d0},
		 {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t out[4];

		rng_philox(cases[i].counter, cases[i].key, out);
		assert_memory_equal(out, cases[i].want, sizeof(out));
	}
}

/* What a rank holds must not depend on where its part begins. */
static void any_window_of_a_stream_is_the_same(void **state)
{
	float uniform[512], normal[512], part[512];
	struct random r = random_start("windows");
	(void)state;

	rng_uniform(3, 9, 0, 512, -2, 5, uniform);
	rng_normal(3, 9, 0, 512, normal);
	for (int i = 0; i < 300; i++) {
		int first = random_int(&r, 0, 511), n = random_int(&r, 0, 512 - first);

		rng_uniform(3, 9, (uint64_t)first, (size_t)n, -2, 5, part);
		assert_memory_equal(part, uniform + first, (size_t)n * sizeof(float));
		rng_normal(3, 9, (uint64_t)first, (size_t)n, part);
		assert_memory_equal(part, normal + first, (size_t)n * sizeof(float));
	}
}

static void moments(const float *x, int n, double *mean, double *variance)
{
	*mean = *variance = 0;
	for (int i = 0; i < n; i++)
		*mean += (double)x[i] / n;
	for (int i = 0; i < n; i++)
		*variance += (x[i] - *mean) * (x[i] - *mean) / n;
}

static void distributions_have_their_moments(void **state)
{
	enum { N = 200000 };
	float *x = malloc(N * sizeof(float));
	double mean, variance;
	(void)state;

	rng_normal(0, 1, 0, N, x);
	moments(x, N, &mean, &variance);
	assert_true(fabs(mean) < 0.01 && fabs(variance - 1) < 0.02);
	rng_uniform(0, 1, 0, N, -1, 1, x);
	moments(x, N, &mean, &variance);
	assert_true(fabs(mean) < 0.01 && fabs(variance - 1.0 / 3) < 0.01);
	for (int i = 0; i < N; i++)
		assert_true(x[i] >= -1 && x[i] < 1);
	for (uint64_t i = 0; i < 1000; i++)
		assert_true(rng_below(5, 6, i, 7) < 7);
	free(x);
}

static void sizes_and_times_are_read(void **state)
{
	static const struct {
		const char *text;
		double want; /* < 0: refused */
	} sizes[] = {{"0", 0},	     {"4096", 4096},	{"25MB", 25e6},	    {"2GiB", 0x1p31},
		     {"1.5K", 1536}, {"64 kib", 65536}, {"3T", 3 * 0x1p40}, {"-1", -1},
		     {"", -1},	     {"MB", -1},	{"1QB", -1},	    {"0x10", -1},
		     {"nan", -1},    {"inf", -1},	{"1e30", -1},	    {" 1", -1}},
	  times[] = {{"10ms", 10}, {"250us", 0.25}, {"2s", 2000}, {"1.5min", 90000},
		     {"7", 7},	   {"5 ms", 5},	    {"-1s", -1},  {"1 parsec", -1}};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint64_t bytes = 0;
		bool ok = units_parse_size(sizes[i].text, &bytes);

		assert_int_equal(ok, sizes[i].want >= 0);
		if (ok)
			assert_true((double)bytes == sizes[i].want);
	}
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		double ms = 0;
		bool ok = units_parse_time(times[i].text, &ms);

		assert_int_equal(ok, times[i].want >= 0);
		if (ok)
			assert_true(fabs(ms - times[i].want) < 1e-9);
	}
}

static void whole_numbers_are_strict(void **state)
{
	static const char *const bad[] = {"",	"1.5", "1e3", "x", "12a",
					  " 1", "1 ",  "--1", "+", "99999999999999999999"};
	int64_t value = 7;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(units_parse_int(bad[i], &value));
	assert_int_equal(value, 7);
	assert_true(units_parse_int("-12", &value) && value == -12);
}

static void names_match_and_suggest(void **state)
{
	static const char *const names[] = {"micro-batches", "batch", "depth", "dim"};
	(void)state;

	assert_true(name_equal("micro_batches", "micro-batches"));
	assert_false(name_equal("micro", "micro-batches"));
	assert_string_equal(name_nearest("micro_batchs", names, 4), "micro-batches");
	assert_string_equal(name_nearest("dept", names, 4), "depth");
	assert_string_equal(name_nearest("micro", names, 4), "micro-batches");
	assert_null(name_nearest("zzzzzzzz", names, 4));
}

/* Whatever is near in letters and far in meaning is not suggested. */
static void only_slips_are_suggested(void **state)
{
	static const char *const names[] = {"dp",	"lr",	     "cost-f",
					    "cost-b",	"grad-sync", "grad-dtype",
					    "schedule", "precision", "dropout"};
	static const struct {
		const char *name, *want;
	} cases[] = {
		{"schedlue", "schedule"},
		{"shedule", "schedule"},
		{"presicion", "precision"},
		{"dropuot", "dropout"},
		{"gradsync", "grad-sync"},
		{"grad_snyc", "grad-sync"},
		{"sched", "schedule"},
		{"grad", NULL},
		{"cost-w", NULL},
		{"ep", NULL},
		{"lx", NULL},
		{"lr-schedule", NULL},
		{"reschedule-it", NULL},
		{"division", NULL},
		{"", NULL},
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *got = name_nearest(cases[i].name, names, ARRAY_SIZE(names));

		if (cases[i].want)
			assert_string_equal(got, cases[i].want);
		else
			assert_null(got);
	}
}

/* Every name with two neighbours swapped, or a letter too few, is still known. */
static void every_slip_of_a_long_name_is_found(void **state)
{
	static const char *const names[] = {"micro-batch-size", "weight-decay", "precision"};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		for (size_t at = 0; at + 1 < strlen(names[i]); at++) {
			char name[32];

			strcpy(name, names[i]);
			name[at] = names[i][at + 1];
			name[at + 1] = names[i][at];
			assert_string_equal(name_nearest(name, names, 3), names[i]);
			memmove(name + at, names[i] + at + 1, strlen(names[i]) - at);
			assert_string_equal(name_nearest(name, names, 3), names[i]);
		}
}

static void json_is_escaped_and_reads_back(void **state)
{
	struct json j;
	struct random r = random_start("json numbers");
	(void)state;

	json_init(&j, false);
	json_begin_object(&j, NULL);
	json_put_string(&j, "a\"b", "x\\\n\x01y");
	json_put_double(&j, "nan", NAN);
	json_begin_array(&j, "list");
	json_put_int(&j, NULL, -5);
	json_put_bool(&j, NULL, true);
	json_end_array(&j);
	json_end_object(&j);
	assert_string_equal(j.text.data,
			    "{\"a\\\"b\": \"x\\\\\\u000a\\u0001y\", \"nan\": null, "
			    "\"list\": [-5, true]}");
	for (int i = 0; i < 1000; i++) {
		double want =
			ldexp(random_int(&r, -1000000, 1000000) / 7.0, random_int(&r, -60, 60));

		json_reset(&j);
		json_put_double(&j, NULL, want);
		assert_true(strtod(j.text.data, NULL) == want);
	}
	json_release(&j);
}

/* Bytes that are often letters of UTF-8, or the beginnings of them. */
static void random_bytes(struct random *r, char *out, int n)
{
	static const char *const pieces[] = {"a",
					     "\\",
					     "\n",
					     "\033",
					     "\177",
					     "\302",
					     "\233",
					     "\302\233",
					     "\303\244",
					     "\342\202\254",
					     "\360\237\230\200",
					     "\355\240\200",
					     "\300\200",
					     "\377",
					     "\"",
					     "|"};
	size_t used = 0;

	while (used + 4 < (size_t)n) {
		const char *piece = pieces[random_int(r, 0, (int)ARRAY_SIZE(pieces) - 1)];

		memcpy(out + used, piece, strlen(piece));
		used += strlen(piece);
	}
	out[used] = '\0';
}

/* Of any bytes: printable UTF-8, as much of it as there is room for. */
static void names_one_behind_the_other_are_a_series(void **state)
{
	static const char *const names[] = {"embedding", "blocks.0", "blocks.1", "blocks.2",
					    "blocks.4",	 "head",     "block.5",	 "a.b",
					    "layers.9",	 "layers.10"};
	struct text t;
	(void)state;

	text_init(&t);
	text_add_series(&t, names, ARRAY_SIZE(names));
	assert_string_equal(t.data, "embedding, blocks 0-2, block 4, head, block 5, a.b, "
				    "layers 9-10");
	text_release(&t);
}

static void messages_are_printable(void **state)
{
	static const char *const same[] = {"", "plain text", "C:\\x", "gr\303\266\303\237er",
					   "\342\202\254"};
	struct random r = random_start("messages");
	char buf[256];
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		text_printable(buf, sizeof(buf), same[i]);
		assert_string_equal(buf, same[i]);
	}
	text_printable(buf, sizeof(buf), "a\nb\t\r\033[1m\177\302\233\377");
	assert_string_equal(buf, "a\\nb\\t\\r\\x1b[1m\\x7f\\u009b\\xff");
	for (int i = 0; i < 2000; i++) {
		char bytes[64], room = (char)random_int(&r, 1, 80);
		struct text all;

		random_bytes(&r, bytes, random_int(&r, 1, sizeof(bytes)));
		text_init(&all);
		text_add_printable(&all, bytes);
		memset(buf, 'x', sizeof(buf));
		text_printable(buf, (size_t)room, bytes);
		assert_int_equal(buf[(int)room], 'x');
		assert_int_equal(strncmp(all.data, buf, strlen(buf)), 0);
		assert_true(strlen(buf) < (size_t)room && text_is_utf8(buf));
		assert_true(text_is_utf8(all.data));
		for (const char *c = all.data; *c; c++) {
			assert_true((unsigned char)*c >= ' ' && *c != 0x7f);
			assert_false((unsigned char)c[0] == 0xc2 && (unsigned char)c[1] < 0xa0);
		}
		text_release(&all);
	}
}

/* Of any bytes: a document that a strict reader takes, with all that was text in it. */
static void json_holds_any_bytes(void **state)
{
	struct random r = random_start("json strings");
	struct json j;
	(void)state;

	json_init(&j, false);
	for (int i = 0; i < 2000; i++) {
		char bytes[64];
		json_t *read;

		random_bytes(&r, bytes, random_int(&r, 1, sizeof(bytes)));
		json_reset(&j);
		json_begin_array(&j, NULL);
		json_put_string(&j, NULL, bytes);
		json_end_array(&j);
		read = json_loads(j.text.data, 0, NULL);
		assert_non_null(read);
		if (text_is_utf8(bytes))
			assert_string_equal(json_string_value(json_array_get(read, 0)), bytes);
		else
			assert_non_null(strstr(json_string_value(json_array_get(read, 0)),
					       "\357\277\275"));
		json_decref(read);
	}
	json_release(&j);
}

/* What fails while things are cleaned up is a consequence. */
static void the_first_failure_is_the_one_that_is_told(void **state)
{
	struct error err = {0}, other = {0};
	(void)state;

	assert_int_equal(FAIL(&err, ERR_USAGE, "no file %d", 7), ERR_USAGE);
	assert_int_equal(HINT(&err, "give another"), ERR_USAGE);
	assert_int_equal(FAIL(&err, ERR_MEMORY, "no memory"), ERR_USAGE);
	assert_int_equal(HINT(&err, "take less"), ERR_USAGE);
	assert_int_equal(FAIL(&other, ERR_FAILED, "no disk"), ERR_FAILED);
	assert_int_equal(error_copy(&err, &other), ERR_USAGE);
	assert_string_equal(err.msg, "no file 7");
	assert_string_equal(err.hint, "give another");
	assert_int_equal(err.code, ERR_USAGE);
}

static void a_cleared_error_takes_the_next(void **state)
{
	struct error err = {0}, other = {0};
	(void)state;

	FAIL(&err, ERR_USAGE, "no file");
	FAIL(&err, ERR_USAGE, "no other file");
	err.exit_code = 9;
	err.reported = true;
	error_clear(&err);
	assert_int_equal(err.code, OK);
	assert_string_equal(err.msg, "");
	FAIL(&other, ERR_FAILED, "no disk");
	HINT(&other, "buy one");
	assert_int_equal(error_copy(&err, &other), ERR_FAILED);
	assert_int_equal(HINT(&err, "or two"), ERR_FAILED);
	assert_string_equal(err.msg, "no disk");
	assert_string_equal(err.hint, "buy one; or two");
	assert_int_equal(err.exit_code, 0);
	assert_false(err.reported);
	error_clear(NULL);
	assert_int_equal(error_copy(NULL, &other), ERR_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(philox_gives_the_published_vectors),
		cmocka_unit_test(any_window_of_a_stream_is_the_same),
		cmocka_unit_test(distributions_have_their_moments),
		cmocka_unit_test(sizes_and_times_are_read),
		cmocka_unit_test(whole_numbers_are_strict),
		cmocka_unit_test(names_match_and_suggest),
		cmocka_unit_test(only_slips_are_suggested),
		cmocka_unit_test(every_slip_of_a_long_name_is_found),
		cmocka_unit_test(json_is_escaped_and_reads_back),
		cmocka_unit_test(names_one_behind_the_other_are_a_series),
		cmocka_unit_test(messages_are_printable),
		cmocka_unit_test(json_holds_any_bytes),
		cmocka_unit_test(the_first_failure_is_the_one_that_is_told),
		cmocka_unit_test(a_cleared_error_takes_the_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
