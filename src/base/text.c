/* text.c - see text.h */
#include "base/text.h"
#include "base/util.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char empty[1];

void text_init(struct text *t)
{
	*t = (struct text){.data = empty};
}

void text_release(struct text *t)
{
	if (t->data != empty)
		free(t->data);
	text_init(t);
}

static bool reserve(struct text *t, size_t extra)
{
	size_t cap = t->cap ? t->cap : 256;
	char *data;

	if (t->failed)
		return false;
	if (t->len + extra + 1 <= t->cap)
		return true;
	while (cap < t->len + extra + 1)
		cap *= 2;
	data = realloc(t->data == empty ? NULL : t->data, cap);
	if (!data) {
		t->failed = true;
		return false;
	}
	t->data = data;
	t->cap = cap;
	return true;
}

void text_add_n(struct text *t, const char *s, size_t n)
{
	if (!reserve(t, n))
		return;
	memcpy(t->data + t->len, s, n);
	t->len += n;
	t->data[t->len] = '\0';
}

void text_add(struct text *t, const char *s)
{
	text_add_n(t, s, strlen(s));
}

void text_addf(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !reserve(t, (size_t)n))
		return;
	va_start(ap, fmt);
	vsnprintf(t->data + t->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	t->len += (size_t)n;
}

void text_add_csv(struct text *t, const char *field)
{
	bool plain = !strpbrk(field, ",\"\n\r");

	text_add(t, plain ? "" : "\"");
	for (; *field; field++) {
		if (*field == '"')
			text_add(t, "\"");
		text_add_n(t, field, 1);
	}
	text_add(t, plain ? "" : "\"");
}

/* blocks.3 is number 3 of blocks; -1: it has no number. */
static int number_of(const char *name, int *stem)
{
	const char *dot = strrchr(name, '.');

	*stem = dot ? (int)(dot - name) : (int)strlen(name);
	if (!dot || !dot[1] || strspn(dot + 1, "0123456789") != strlen(dot + 1))
		return -1;
	return atoi(dot + 1);
}

void text_add_series(struct text *t, const char *const *names, int n)
{
	for (int i = 0, end; i < n; i = end) {
		int stem, other, first = number_of(names[i], &stem);

		for (end = i + 1; end < n && first >= 0; end++)
			if (number_of(names[end], &other) != first + end - i || other != stem ||
			    strncmp(names[end], names[i], (size_t)stem))
				break;
		text_add(t, i ? ", " : "");
		if (first < 0 || !stem)
			text_add(t, names[i]);
		else if (end == i + 1)
			/* blocks.4 alone is a block */
			text_addf(t, "%.*s %d", stem - (names[i][stem - 1] == 's'), names[i],
				  first);
		else
			text_addf(t, "%.*s %d-%d", stem, names[i], first, first + end - i - 1);
	}
}

void text_add_quoted(struct text *t, const char *arg)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-+=./:,@%";

	if (*arg && strspn(arg, plain) == strlen(arg)) {
		text_add(t, arg);
		return;
	}
	text_add(t, "'");
	for (; *arg; arg++)
		if (*arg == '\'')
			text_add(t, "'\\''");
		else
			text_add_n(t, arg, 1);
	text_add(t, "'");
}

/* How many continuation bytes follow a first byte, or -1. */
static int continuation_bytes(unsigned char c)
{
	if (c < 0x80)
		return 0;
	if (c >= 0xc2 && c <= 0xdf)
		return 1;
	if ((c & 0xf0) == 0xe0)
		return 2;
	return c >= 0xf0 && c <= 0xf4 ? 3 : -1;
}

int text_letter(const char *s)
{
	unsigned char first = (unsigned char)s[0], second = (unsigned char)(first ? s[1] : 0);
	int n = continuation_bytes(first);

	/* Overlong forms, surrogates, and what lies beyond Unicode. */
	if (!first || n < 0 || (first == 0xe0 && second < 0xa0) ||
	    (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
	    (first == 0xf4 && second > 0x8f))
		return 0;
	for (int i = 1; i <= n; i++)
		if (((unsigned char)s[i] & 0xc0) != 0x80)
			return 0;
	return n + 1;
}

bool text_is_utf8(const char *s)
{
	while (*s) {
		int n = text_letter(s);

		if (!n)
			return false;
		s += n;
	}
	return true;
}

enum { SHOWN_MAX = 8 };

/* The letter or byte at s as text_printable shows it; returns how much of s that was. */
static int show_letter(const char *s, char shown[SHOWN_MAX])
{
	unsigned char c = (unsigned char)*s;
	int n = text_letter(s);

	if (c == '\n' || c == '\t' || c == '\r')
		snprintf(shown, SHOWN_MAX, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
	else if (n == 2 && c == 0xc2 && (unsigned char)s[1] < 0xa0)
		snprintf(shown, SHOWN_MAX, "\\u%04x", (unsigned char)s[1]);
	else if (n == 0 || c < ' ' || c == 0x7f)
		snprintf(shown, SHOWN_MAX, "\\x%02x", c);
	else
		snprintf(shown, SHOWN_MAX, "%.*s", n, s);
	return n ? n : 1;
}

void text_printable(char *buf, size_t size, const char *s)
{
	char shown[SHOWN_MAX];
	size_t used = 0;

	*buf = '\0';
	while (*s) {
		s += show_letter(s, shown);
		if (used + strlen(shown) >= size)
			break;
		memcpy(buf + used, shown, strlen(shown) + 1);
		used += strlen(shown);
	}
}

void text_add_printable(struct text *t, const char *s)
{
	char shown[SHOWN_MAX];

	while (*s) {
		s += show_letter(s, shown);
		text_add(t, shown);
	}
}

static char fold(char c)
{
	return c == '_' ? '-' : c;
}

bool name_equal(const char *a, const char *b)
{
	while (*a && fold(*a) == fold(*b))
		a++, b++;
	return fold(*a) == fold(*b);
}

/* Letters to change, add, leave out or swap with their neighbour; names longer than the
   table are never near. */
static int distance(const char *a, const char *b)
{
	unsigned char d[64][64];
	int la = (int)strlen(a), lb = (int)strlen(b);

	if (la > 63 || lb > 63)
		return 64;
	for (int i = 0; i <= la; i++)
		for (int j = 0; j <= lb; j++) {
			int best = imax(i, j);

			if (i > 0 && j > 0) {
				best = d[i - 1][j - 1] + (fold(a[i - 1]) != fold(b[j - 1]));
				best = imin(best, imin(d[i - 1][j], d[i][j - 1]) + 1);
			}
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = imin(best, d[i - 2][j - 2] + 1);
			d[i][j] = (unsigned char)best;
		}
	return d[la][lb];
}

/* The n-th word of a name, or "". */
static void word_of(char word[64], const char *name, int n)
{
	size_t length;

	while (n-- && *name) {
		name += strcspn(name, "-_");
		name += *name != '\0';
	}
	length = strcspn(name, "-_");
	snprintf(word, 64, "%.*s", (int)length, name);
}

/* A slip of the fingers: a letter or two, and of no word so much that it is another one. */
static bool is_slip(const char *a, const char *b)
{
	int longest = (int)(strlen(a) > strlen(b) ? strlen(a) : strlen(b));
	char from[64], to[64];

	if (longest > 63 || longest < 3 || distance(a, b) > (longest < 8 ? 1 : 2))
		return false;
	for (int i = 0;; i++) {
		word_of(from, a, i);
		word_of(to, b, i);
		if (!*from || !*to)
			return true; /* a dash too many or too few is a letter */
		if ((strlen(from) < 3 || strlen(to) < 3) && !name_equal(from, to))
			return false;
	}
}

const char *name_nearest(const char *name, const char *const *candidates, size_t n)
{
	const char *best = NULL, *begun = NULL;
	int best_distance = 64, beginnings = 0;

	for (size_t i = 0; i < n; i++) {
		int d = distance(name, candidates[i]);

		if (is_slip(name, candidates[i]) && d < best_distance) {
			best_distance = d;
			best = candidates[i];
		}
		if (strlen(name) >= 3 && !strncmp(name, candidates[i], strlen(name))) {
			beginnings++;
			begun = candidates[i];
		}
	}
	/* What only one of them begins with is that one. */
	return best || beginnings != 1 ? best : begun;
}
