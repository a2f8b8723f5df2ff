/* outlet.c - see outlet.h */
#include "text/outlet.h"
#include "text/unicode.h"

#include <string.h>

void outlet_init(struct outlet *o, const char *stop)
{
	*o = (struct outlet){.stop = stop};
	text_init(&o->held);
}

void outlet_release(struct outlet *o)
{
	text_release(&o->held);
}

/* Could more bytes make a character of these? Then the least or the greatest would. */
static bool is_begun(const char *s, size_t n)
{
	static const char rest[] = {(char)0x80, (char)0xbf};
	uint32_t c;

	if (n >= UTF8_MAX)
		return false;
	for (size_t i = 0; i < sizeof(rest); i++)
		for (size_t size = n + 1; size <= UTF8_MAX; size++) {
			char whole[UTF8_MAX];

			memset(whole, rest[i], size);
			memcpy(whole, s, n);
			if (utf8_read(whole, size, &c) == size && c != UNICODE_NONE)
				return true;
		}
	return false;
}

static void show(const char *s, size_t n, uint32_t c, struct text *out)
{
	char letter[UTF8_MAX + 1] = "";

	memcpy(letter, s, n);
	if (c == '\n' || c == '\t' || c == '\r')
		text_add_n(out, s, 1);
	else if (!*letter)
		text_add(out, "\\x00");
	else
		text_add_printable(out, letter);
}

/* So many bytes of what is held come out, but for a character that may not be complete. */
static void let_out(struct outlet *o, size_t n, bool all, struct text *out)
{
	const char *s = o->held.data;
	size_t at = 0, size;
	uint32_t c;

	for (; at < n; at += size) {
		size = utf8_read(s + at, (all ? n : o->held.len) - at, &c);
		if (at + size > n ||
		    (c == UNICODE_NONE && !all && is_begun(s + at, o->held.len - at)))
			break;
		show(s + at, size, c, out);
	}
	if (at) {
		o->held.len -= at;
		memmove(o->held.data, s + at, o->held.len + 1);
	}
}

/* Bytes at the end that the stop could begin with. */
static size_t may_stop(const struct outlet *o)
{
	size_t n = strlen(o->stop);

	n = n ? n - 1 : 0;
	n = n < o->held.len ? n : o->held.len;
	while (n && memcmp(o->held.data + o->held.len - n, o->stop, n) != 0)
		n--;
	return n;
}

void outlet_put(struct outlet *o, const char *bytes, size_t n, struct text *out)
{
	const char *stop;

	if (o->stopped)
		return;
	text_add_n(&o->held, bytes, n);
	stop = *o->stop ? memmem(o->held.data, o->held.len, o->stop, strlen(o->stop)) : NULL;
	if (stop) {
		o->stopped = true;
		let_out(o, (size_t)(stop - o->held.data), true, out);
	} else {
		let_out(o, o->held.len - may_stop(o), false, out);
	}
	out->failed |= o->held.failed;
}

void outlet_end(struct outlet *o, struct text *out)
{
	if (!o->stopped)
		let_out(o, o->held.len, true, out);
}
