/* text.h - strings: a growing buffer, comparison of names, nearest name. */
#ifndef KOLM_BASE_TEXT_H
#define KOLM_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A growing string, always terminated. When memory runs out it stops growing and
 * remembers it in failed: check once, at the end.
 */
struct text {
	char *data; /* "" while empty */
	size_t len, cap;
	bool failed;
};

void text_init(struct text *t);
void text_release(struct text *t);
void text_add(struct text *t, const char *s);
void text_add_n(struct text *t, const char *s, size_t n);
void text_addf(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A field of a CSV file, in quotes where it needs them. */
void text_add_csv(struct text *t, const char *field);

/* One argument of a command, as a shell would need it. */
void text_add_quoted(struct text *t, const char *arg);

/* Names that end in numbers one behind the other are one: "embedding, blocks 0-3, head"; one
   alone is a block. */
void text_add_series(struct text *t, const char *const *names, int n);

/* The bytes of the UTF-8 letter that s begins with; 0: it begins with none. */
int text_letter(const char *s);
/*
 * As it may stand on a line of a terminal: control characters as \n, \t, \r, \x1b, \u009b, and
 * bytes that are no UTF-8 as \xff. Whoever reads a message sees what is in it, and nothing in
 * it can be mistaken for another line or take hold of the terminal.
 */
void text_printable(char *buf, size_t size, const char *s);
void text_add_printable(struct text *t, const char *s);

/* Is it valid UTF-8? JSON can hold nothing else. */
bool text_is_utf8(const char *s);

/* Equal option names: dashes and underscores are the same. */
bool name_equal(const char *a, const char *b);

/* The candidate that was meant, or NULL: it differs by a slip of the fingers (a letter or two
   that are wrong, missing or swapped, never a whole word), or is the only one that begins like
   that. */
const char *name_nearest(const char *name, const char *const *candidates, size_t n);

#endif
