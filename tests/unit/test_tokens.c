/* test_tokens.c - token files come back as they were written or not at all; whose they are. */
#include "folders.h"
#include "texts.h"

#include "text/tokens.h"

static void write_tokens(const char *path, int vocabulary, const int32_t *ids, size_t n)
{
	struct tokens_writer w;
	struct error err = {0};

	assert_int_equal(tokens_create(&w, path, vocabulary, &err), OK);
	for (size_t at = 0; at < n;) { /* in pieces of any size */
		size_t part = (size_t)min64((int64_t)(n - at), 1 + (int64_t)(at * 7 % 40000));

		assert_int_equal(tokens_put(&w, ids + at, part, &err), OK);
		at += part;
	}
	assert_int_equal(tokens_commit(&w, &err), OK);
	tokens_abort(&w);
}

static void ids_come_back(void **state)
{
	static const size_t counts[] = {0,
					1,
					2,
					3,
					TOKENS_BLOCK - 1,
					TOKENS_BLOCK,
					TOKENS_BLOCK + 1,
					3 * TOKENS_BLOCK + 5};
	static const int vocabularies[] = {1, 256, 65536, 65537, VOCABULARY_MAX};
	struct random r = random_start("ids_come_back");
	int32_t *ids = malloc(4 * TOKENS_BLOCK * sizeof(*ids)),
		*back = malloc(4 * TOKENS_BLOCK * sizeof(*ids));
	struct error err = {0};

	(void)state;
	for (size_t v = 0; v < ARRAY_SIZE(vocabularies); v++)
		for (size_t c = 0; c < ARRAY_SIZE(counts); c++) {
			size_t n = counts[c];
			struct tokens t;

			for (size_t i = 0; i < n; i++)
				ids[i] = random_int(&r, 0, vocabularies[v] - 1);
			write_tokens(in_base("ids.tokens"), vocabularies[v], ids, n);
			assert_int_equal(tokens_open(&t, in_base("ids.tokens"), &err), OK);
			assert_int_equal(t.count, n);
			assert_int_equal(t.of.vocabulary, vocabularies[v]);
			assert_int_equal(t.width, vocabularies[v] <= 65536 ? 2 : 4);
			for (int k = 0; k < 20; k++) {
				size_t first = (size_t)random_int(&r, 0, (int)n);
				size_t part = (size_t)random_int(&r, 0, (int)(n - first));

				assert_int_equal(tokens_read(&t, first, part, back, &err), OK);
				assert_memory_equal(back, ids + first, part * sizeof(*ids));
			}
			tokens_close(&t);
		}
	assert_int_equal(count_entries(base), 1);
	free(ids);
	free(back);
}

static enum status read_all_of(const void *data, size_t size, struct error *err)
{
	int32_t ids[64];
	struct tokens t;
	enum status st;

	TRY(tokens_view(&t, data, size, "it", err));
	assert_true(t.count <= ARRAY_SIZE(ids));
	TRY(tokens_read(&t, 0, (size_t)t.count, ids, err));
out:
	tokens_close(&t);
	return st;
}

/* Cut anywhere, longer, or with any bit that is another. */
static void damaged_files_are_refused(void **state)
{
	static const int32_t ids[] = {3, 1, 4, 1, 5, 9, 2};
	struct error err = {0};
	size_t size;
	char *data;

	(void)state;
	write_tokens(in_base("a.tokens"), 10, ids, ARRAY_SIZE(ids));
	assert_int_equal(file_read(in_base("a.tokens"), 10000, &data, &size, &err), OK);
	assert_int_equal(read_all_of(data, size, &err), OK);
	for (size_t n = 0; n < size; n++)
		assert_int_equal(read_all_of(data, n, fresh(&err)), ERR_USAGE);
	assert_int_equal(read_all_of(data, size + 1, fresh(&err)), ERR_USAGE);
	for (size_t bit = 0; bit < 8 * size; bit++) {
		data[bit / 8] ^= (char)(1 << bit % 8);
		assert_int_equal(read_all_of(data, size, fresh(&err)), ERR_USAGE);
		assert_true(*err.hint);
		data[bit / 8] ^= (char)(1 << bit % 8);
	}
	assert_int_equal(read_all_of(data, size, fresh(&err)), OK);
	free(data);
	put(in_base("text"), "no tokens");
	assert_int_equal(tokens_open(&(struct tokens){0}, in_base("text"), fresh(&err)),
			 ERR_USAGE);
	assert_non_null(strstr(err.msg, "not a token file"));
	put(in_base("text"), "");
	assert_int_equal(tokens_open(&(struct tokens){0}, in_base("text"), fresh(&err)),
			 ERR_USAGE);
	assert_int_equal(tokens_open(&(struct tokens){0}, base, fresh(&err)), ERR_USAGE);
}

static void settle(const char *path, time_t when)
{
	struct timespec times[2] = {{.tv_sec = when}, {.tv_sec = when}};

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static struct corpus book(void)
{
	const char *path = in_base("book.txt");
	struct corpus text;
	struct error err = {0};

	if (corpus_open(&text, &path, 1, &err) != OK)
		fail_msg("%s", err.msg);
	return text;
}

static enum status of_book(const struct tokenizer *t, char path[PATH_MAX], bool *made,
			   struct error *err)
{
	struct corpus text = book();
	enum status st =
		tokens_of_text(in_base("cache/of/texts"), &text, t, NULL, path, made, err);

	corpus_close(&text);
	return st;
}

/* The token file of a text, which was or was not there. */
static void find(const struct tokenizer *t, bool made, char path[PATH_MAX])
{
	struct error err = {0};
	bool was_made;

	if (of_book(t, path, &was_made, &err) != OK)
		fail_msg("%s", err.msg);
	assert_int_equal(was_made, made);
}

static void assert_is_of(const char *path, const struct tokenizer *t, const char *text)
{
	struct ids wanted = encoded(t, text, strlen(text), SPECIALS_ARE_TOKENS);
	int32_t ids[64];
	struct tokens tokens;
	struct error err = {0};

	assert_int_equal(tokens_open(&tokens, path, &err), OK);
	assert_int_equal(tokens.count, wanted.count);
	assert_int_equal(tokens_read(&tokens, 0, wanted.count, ids, &err), OK);
	assert_ids(&wanted, ids, wanted.count);
	tokens_close(&tokens);
	ids_release(&wanted);
}

static void token_files_are_found_again(void **state)
{
	struct tokenizer *byte = trained(TOKENIZER_BYTE, 0, NULL, "", 0);
	struct tokenizer *letters = trained(TOKENIZER_CHAR, 0, NULL, "abcd", 4);
	char path[PATH_MAX], other[PATH_MAX];

	(void)state;
	put(in_base("book.txt"), "abcd");
	settle(in_base("book.txt"), 1000000000);
	find(byte, true, path);
	find(byte, false, path);
	assert_is_of(path, byte, "abcd");
	find(letters, true, other); /* beside it */
	assert_string_not_equal(path, other);
	find(byte, false, path);
	settle(in_base("book.txt"), 1000000001); /* another time, the same text */
	find(byte, false, path);
	put(in_base("book.txt"), "abca"); /* the same size, another text */
	settle(in_base("book.txt"), 1000000002);
	find(byte, true, path);
	assert_is_of(path, byte, "abca");
	put(in_base("book.txt"), "abc");
	settle(in_base("book.txt"), 1000000002); /* the same time, another size */
	find(byte, true, path);
	assert_is_of(path, byte, "abc");
	put(path, "damaged");
	find(byte, true, path);
	assert_is_of(path, byte, "abc");
	tokenizer_free(byte);
	tokenizer_free(letters);
}

/* A text that was written just now may be written again within the same tick. */
static void a_fresh_text_is_known_by_its_sum(void **state)
{
	struct tokenizer *byte = trained(TOKENIZER_BYTE, 0, NULL, "", 0);
	char path[PATH_MAX];
	time_t now = time(NULL);

	(void)state;
	put(in_base("book.txt"), "abcd");
	settle(in_base("book.txt"), now);
	find(byte, true, path);
	find(byte, false, path);
	put(in_base("book.txt"), "abce");
	settle(in_base("book.txt"), now);
	find(byte, true, path);
	assert_is_of(path, byte, "abce");
	tokenizer_free(byte);
}

static void several_processes_may_ask_at_once(void **state)
{
	enum { PROCESSES = 8 };
	struct tokenizer *byte = trained(TOKENIZER_BYTE, 0, NULL, "", 0);
	pid_t pids[PROCESSES];
	char path[PATH_MAX];

	(void)state;
	put(in_base("book.txt"), "abcd");
	settle(in_base("book.txt"), 1000000000);
	for (int i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			bool made, good;
			struct tokens t;

			good = of_book(byte, path, &made, NULL) == OK &&
			       tokens_open(&t, path, NULL) == OK && t.count == 4;
			_exit(!good);
		}
	}
	for (int i = 0; i < PROCESSES; i++) {
		int how;

		assert_int_equal(waitpid(pids[i], &how, 0), pids[i]);
		assert_true(WIFEXITED(how) && !WEXITSTATUS(how));
	}
	find(byte, false, path);
	assert_int_equal(count_entries(in_base("cache/of/texts")), 1);
	tokenizer_free(byte);
}

static enum status stop(void *arg, int64_t done, int64_t total, struct error *err)
{
	(void)arg;
	(void)done;
	(void)total;
	return FAIL(err, ERR_INTERRUPTED, "enough");
}

static void who_is_stopped_leaves_nothing(void **state)
{
	struct tokenizer *byte = trained(TOKENIZER_BYTE, 0, NULL, "", 0);
	struct text_watch watch = {stop, NULL};
	struct error err = {0};
	char *text = calloc(1, 3 << 20);
	struct corpus there;

	(void)state;
	memset(text, 'a', (3 << 20) - 1);
	put(in_base("book.txt"), text);
	there = book();
	assert_int_equal(tokens_make(in_base("book.tokens"), &there, byte, SPECIALS_ARE_TEXT,
				     &watch, &err),
			 ERR_INTERRUPTED);
	corpus_close(&there);
	assert_int_equal(count_entries(base), 1);
	free(text);
	tokenizer_free(byte);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ids_come_back),
		TEST(damaged_files_are_refused),
		TEST(token_files_are_found_again),
		TEST(a_fresh_text_is_known_by_its_sum),
		TEST(several_processes_may_ask_at_once),
		TEST(who_is_stopped_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
