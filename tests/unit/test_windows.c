/* test_windows.c - samples of language models: windows of texts, and made-up tokens. */
#include "text_data.h"

enum { ROWS = 4096 };

static void windows_are_in_range_and_labels_are_the_next_tokens(void **state)
{
	struct data_options o;
	static int32_t tokens[ROWS], labels[ROWS];
	struct batch b = {.tokens = tokens, .labels = labels};
	char bytes[2000];
	struct data d;
	FILE *f;

	(void)state;
	put_places(in_base("book.txt"), 2000);
	f = fopen(in_base("book.txt"), "r");
	assert_int_equal(fread(bytes, 1, sizeof(bytes), f), sizeof(bytes));
	fclose(f);
	for (int sequence = 1; sequence <= 64; sequence *= 4) {
		bool seen[2000] = {false};
		int samples = ROWS / sequence, places = 1800 - sequence;

		o = options(spec_of(in_base("book.txt")), sequence);
		o.tokenizer = "byte";
		opened(&d, &o);
		assert_int_equal(d.out, 256);
		assert_int_equal(d.sequence, sequence);
		assert_int_equal(d.train, 1800 / sequence);
		assert_int_equal(d.held_out, 199 / sequence);
		for (int k = 0; k < 40; k++) {
			data_batch(&d, dev, (int64_t)k * samples * sequence, samples * sequence,
				   &b);
			for (int i = 0; i < samples; i++) {
				const int32_t *t = tokens + i * sequence;
				int32_t window[65];
				int at = -1;

				memcpy(window, t, (size_t)sequence * sizeof(*t));
				window[sequence] = labels[(i + 1) * sequence - 1];
				for (int j = 0; j + 1 < sequence; j++)
					assert_int_equal(labels[i * sequence + j], t[j + 1]);
				for (int p = 0; p < places && at < 0; p++) {
					int n = 0;

					while (n <= sequence &&
					       (unsigned char)bytes[p + n] == window[n])
						n++;
					at = n > sequence ? p : -1;
				}
				assert_true(at >= 0); /* within the part to learn from */
				seen[at] = true;
			}
		}
		if (sequence == 64) /* every window is its own place: both ends are drawn */
			assert_true(seen[0] && seen[places - 1]);
		data_close(&d);
	}
}

static void a_sample_is_a_pure_function_of_its_number(const char *spec, const char *tokenizer)
{
	struct random r = random_start("a_sample_is_a_pure_function_of_its_number");
	enum { T = 7, SAMPLES = 64 };
	struct data_options o = options(spec, T);
	static int32_t all[2][SAMPLES * T], some[2][SAMPLES * T], labels[SAMPLES * T];
	struct batch whole = {.tokens = all[0], .labels = all[1]};
	struct data d, other;

	o.tokenizer = tokenizer;
	opened(&d, &o);
	data_batch(&d, dev, 100 * T, SAMPLES * T, &whole);
	for (int k = 0; k < 50; k++) {
		int first = random_int(&r, 0, SAMPLES - 1);
		int n = random_int(&r, 1, SAMPLES - first);
		struct batch b = {.tokens = some[0], .labels = some[1]};
		struct batch only = {.labels = labels};

		data_batch(&d, dev, (100 + first) * T, n * T, &b);
		data_batch(&d, dev, (100 + first) * T, n * T, &only);
		assert_memory_equal(some[0], all[0] + first * T, (size_t)(n * T) * 4);
		assert_memory_equal(some[1], all[1] + first * T, (size_t)(n * T) * 4);
		assert_memory_equal(labels, some[1], (size_t)(n * T) * 4);
	}
	o.seed = 8;
	opened(&other, &o);
	data_batch(&other, dev, 100 * T, SAMPLES * T,
		   &(struct batch){.tokens = some[0], .labels = some[1]});
	assert_memory_not_equal(some[0], all[0], sizeof(all[0]));
	data_close(&d);
	data_close(&other);
}

static void samples_are_pure_functions(void **state)
{
	(void)state;
	put_places(in_base("book.txt"), 2000);
	a_sample_is_a_pure_function_of_its_number(spec_of(in_base("book.txt")), "byte");
	a_sample_is_a_pure_function_of_its_number("synthetic", NULL);
	a_sample_is_a_pure_function_of_its_number("noise", NULL);
}

static void held_out_windows_are_the_rest_in_order(void **state)
{
	enum { T = 16 };
	struct data_options o;
	int32_t tokens[12 * T], labels[12 * T];
	struct batch b = {.tokens = tokens, .labels = labels};
	char bytes[2000];
	struct data d;
	FILE *f;

	(void)state;
	put_places(in_base("book.txt"), 2000);
	f = fopen(in_base("book.txt"), "r");
	assert_int_equal(fread(bytes, 1, sizeof(bytes), f), sizeof(bytes));
	fclose(f);
	o = options(spec_of(in_base("book.txt")), T);
	o.tokenizer = "byte";
	opened(&d, &o);
	assert_int_equal(d.held_out, 12); /* 199 that have one before them */
	data_held_out(&d, 0, 12 * T, &b);
	for (int i = 0; i < 12 * T; i++) {
		assert_int_equal(tokens[i], (unsigned char)bytes[1800 + i]);
		assert_int_equal(labels[i], (unsigned char)bytes[1801 + i]);
	}
	data_held_out(&d, 3 * T, 2 * T, &b);
	assert_int_equal(tokens[0], (unsigned char)bytes[1800 + 3 * T]);
	data_close(&d);
	/* Some of them, evenly. */
	o.evaluated = 5;
	opened(&d, &o);
	assert_int_equal(d.held_out, 5);
	data_held_out(&d, 0, 5 * T, &b);
	for (int i = 0; i < 5; i++)
		assert_int_equal(tokens[i * T], (unsigned char)bytes[1800 + i * 12 / 5 * T]);
	data_close(&d);
	o.evaluated = 0;
	/* Another text instead. */
	put(in_base("other.txt"), "abcdefghijklmnopqrstuvwxyz0123456789");
	o.test = spec_of(in_base("other.txt"));
	o.holdout = 0;
	opened(&d, &o);
	assert_int_equal(d.text.learned.count, 2000);
	assert_int_equal(d.held_out, 2);
	data_held_out(&d, 0, 2 * T, &b);
	assert_int_equal(tokens[0], 'a');
	assert_int_equal(labels[2 * T - 1], '6');
	data_close(&d);
}

static void bytes_of_what_is_held_out(void **state)
{
	struct data_options o;
	struct data d;
	int64_t tokens, bytes;

	(void)state;
	/* 20 characters of 1 byte, then 10 of 2; the last 10 are held out: the first of them is
	   no label, and 9 labels make 3 windows of 3. */
	put(in_base("book.txt"), "abababababababababab"
				 "éééééééééé");
	o = options(spec_of(in_base("book.txt")), 3);
	o.holdout = 1 / 3.0 + 1e-9;
	o.tokenizer = "char";
	opened(&d, &o);
	assert_int_equal(d.text.held_out.count, 11); /* 'b' and the others */
	assert_int_equal(data_held_out_size(&d, &tokens, &bytes, fresh(&err)), OK);
	assert_int_equal(tokens, 9);
	assert_int_equal(bytes, 18);
	assert_int_equal(data_held_out_size(&d, &tokens, &bytes, fresh(&err)), OK);
	assert_int_equal(bytes, 18); /* counted once */
	data_close(&d);
}

static void damaged_tokens_are_reported(void **state)
{
	struct data_options o;
	int32_t tokens[64], labels[64];
	struct batch b = {.tokens = tokens, .labels = labels};
	struct tokenizer *byte = trained(TOKENIZER_BYTE, 0, NULL, "", 0);
	const char *path = in_base("book.txt");
	char spec[600];
	struct corpus text;
	struct data d;
	FILE *f;

	(void)state;
	put_places(path, 2000);
	assert_int_equal(corpus_open(&text, &path, 1, fresh(&err)), OK);
	assert_int_equal(tokens_make(in_base("book.tokens"), &text, byte, SPECIALS_ARE_TEXT,
				     NULL, fresh(&err)),
			 OK);
	corpus_close(&text);
	f = fopen(in_base("book.tokens"), "r+");
	fseek(f, TOKENS_HEADING + 500, SEEK_SET);
	fputc('?', f);
	fclose(f);
	snprintf(spec, sizeof(spec), "tokens:%s", in_base("book.tokens"));
	o = options(spec, 8);
	opened(&d, &o);
	assert_int_equal(data_check(&d, fresh(&err)), OK);
	data_batch(&d, dev, 0, 64, &b);
	assert_int_equal(tokens[63] + labels[63], 0);
	assert_int_equal(data_check(&d, fresh(&err)), ERR_USAGE);
	assert_non_null(strstr(err.msg, "damaged"));
	data_close(&d);
	tokenizer_free(byte);
}

static void made_up_tokens_can_be_learned(void **state)
{
	enum { T = 64, V = 1000, SAMPLES = 64 };
	static int32_t tokens[SAMPLES * T], labels[SAMPLES * T];
	static int follows[V][V];
	struct batch b = {.tokens = tokens, .labels = labels};
	struct data_options o = options("synthetic", T);
	int right = 0, all = 0, used = 0;
	struct data d;

	(void)state;
	o.vocabulary = V;
	opened(&d, &o);
	assert_int_equal(d.out, V);
	assert_int_equal(d.held_out, 0);
	for (int k = 0; k < 8; k++) {
		data_batch(&d, dev, k * SAMPLES * T, SAMPLES * T, &b);
		for (int i = 0; i < SAMPLES * T; i++) {
			assert_in_range(tokens[i], 0, V - 1);
			follows[tokens[i]][labels[i]]++;
		}
	}
	for (int i = 0; i < V; i++) {
		int most = 0, sum = 0;

		for (int k = 0; k < V; k++) {
			most = follows[i][k] > most ? follows[i][k] : most;
			sum += follows[i][k];
		}
		used += sum > 0;
		right += most;
		all += sum;
	}
	assert_int_equal(used, 256);
	assert_true(right > 0.48 * all && right < 0.56 * all);
	data_close(&d);
	o.spec = "noise";
	o.vocabulary = 3;
	opened(&d, &o);
	data_batch(&d, dev, 0, SAMPLES * T, &b);
	for (int i = 0, counts[3] = {0}; i < SAMPLES * T; i++) {
		assert_in_range(tokens[i], 0, 2);
		counts[tokens[i]]++;
		if (i == SAMPLES * T - 1)
			assert_true(counts[0] > 1000 && counts[1] > 1000 && counts[2] > 1000);
	}
	data_close(&d);
	o.vocabulary = 0;
	opened(&d, &o);
	assert_int_equal(d.out, DATA_VOCABULARY);
	data_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DATA_TEST(windows_are_in_range_and_labels_are_the_next_tokens),
		DATA_TEST(samples_are_pure_functions),
		DATA_TEST(held_out_windows_are_the_rest_in_order),
		DATA_TEST(bytes_of_what_is_held_out),
		DATA_TEST(damaged_tokens_are_reported),
		DATA_TEST(made_up_tokens_can_be_learned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
