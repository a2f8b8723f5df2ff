/* test_outlet.c - text that comes in pieces, as it may be shown. */
#include "testing.h"

#include "base/text.h"
#include "text/outlet.h"

enum { MOST = 200 };

/* In pieces that end where the bits say. */
static void pass(const char *bytes, size_t n, const char *stop, struct random *r,
		 struct text *out)
{
	struct outlet o;
	size_t at = 0;

	outlet_init(&o, stop);
	while (at < n) {
		size_t size = r ? (size_t)random_int(r, 1, 4) : n;

		size = size < n - at ? size : n - at;
		outlet_put(&o, bytes + at, size, out);
		assert_true(text_is_utf8(out->data)); /* at any time */
		at += size;
	}
	outlet_end(&o, out);
	outlet_release(&o);
}

static void check(const char *bytes, size_t n, const char *stop, const char *wanted)
{
	struct random r = {.seed = 3};
	struct text out;

	for (int i = 0; i < 30; i++) {
		text_init(&out);
		pass(bytes, n, stop, i ? &r : NULL, &out);
		assert_string_equal(out.data, wanted);
		text_release(&out);
	}
}

static void plain(const char *text, const char *stop, const char *wanted)
{
	check(text, strlen(text), stop, wanted);
}

static void characters_come_whole(void **state)
{
	(void)state;
	plain("", "", "");
	plain("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z\n", "",
	      "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z\n");
	plain("tab\there\r\n", "", "tab\there\r\n");
}

static void what_is_no_text_is_shown(void **state)
{
	(void)state;
	plain("a\xff z", "", "a\\xff z");
	plain("\xe2\x82", "", "\\xe2\\x82");	      /* never completed */
	plain("\xe2\x82 x", "", "\\xe2\\x82 x");      /* broken off */
	plain("\xe0\x80\x80", "", "\\xe0\\x80\\x80"); /* overlong */
	plain("\xed\xa0\x80", "", "\\xed\\xa0\\x80"); /* a surrogate */
	plain("\xf4\x90\x80\x80", "", "\\xf4\\x90\\x80\\x80");
	plain("\x1b[31mred\x7f", "", "\\x1b[31mred\\x7f");
	plain("\xc2\x9b", "", "\\u009b");
	check("a\0b", 3, "", "a\\x00b");
}

static void it_stops_before_the_stop(void **state)
{
	(void)state;
	plain("one END two", "END", "one ");
	plain("one EN two E", "END", "one EN two E");
	plain("aabaabaac", "aabaac", "aab");
	plain("END", "END", "");
	plain("x\xe2\x82\xac y", "\xe2\x82\xac", "x");
	plain("x\xe2\x82\xacy", "\xac", "x\\xe2\\x82"); /* whoever asks for that */
	plain("line\n\nnext", "\n\n", "line");
}

/* Each byte that belongs to no character, and each control character, by itself. */
static void render(const char *bytes, size_t n, struct text *out)
{
	for (size_t at = 0; at < n;) {
		char letter[8] = "";
		int size = text_letter(bytes + at); /* there is a zero behind them */

		size = size ? size : 1;
		memcpy(letter, bytes + at, (size_t)size);
		if (strchr("\n\t\r", letter[0]) && letter[0])
			text_add(out, letter);
		else if (!letter[0])
			text_add(out, "\\x00");
		else
			text_add_printable(out, letter);
		at += (size_t)size;
	}
}

static void pieces_never_matter(void **state)
{
	static const char *const letters[] = {
		"a",	    "b",    "\n",   "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
		"\xe2\x82", "\xff", "\x80", "\xf0\x9f", "\x1b",		"ab"};
	struct random r = random_start("pieces");
	(void)state;

	for (int i = 0; i < 3000; i++) {
		char bytes[MOST + 8] = "", stop[8] = "";
		struct text wanted, got;
		const char *end;
		size_t n = 0;

		while (n < (size_t)(i % MOST)) {
			const char *letter = letters[random_int(&r, 0, 11)];

			memcpy(bytes + n, letter, strlen(letter));
			n += strlen(letter);
		}
		for (int k = random_int(&r, 0, 5); k > 0; k--)
			strcat(stop, random_int(&r, 0, 1) ? "a" : "b");
		end = *stop ? strstr(bytes, stop) : NULL;
		text_init(&wanted);
		text_init(&got);
		if (end)
			bytes[n = (size_t)(end - bytes)] = '\0';
		render(bytes, n, &wanted);
		if (end)
			memcpy(bytes + n, stop, strlen(stop));
		pass(bytes, n + (end ? strlen(stop) : 0), stop, &r, &got);
		assert_string_equal(got.data, wanted.data);
		text_release(&wanted);
		text_release(&got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(characters_come_whole),
		cmocka_unit_test(what_is_no_text_is_shown),
		cmocka_unit_test(it_stops_before_the_stop),
		cmocka_unit_test(pieces_never_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
