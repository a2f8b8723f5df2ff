/* pen.c - see pen.h */
#include "launch/pen.h"
#include "base/util.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NUMBER_WIDTH = 8 };

static const char *const codes[] = {"", "\033[2m", "\033[1m", "\033[32m", "\033[33m"};

/* From U+3000 on scripts have characters of two columns. */
static int columns_of(const char *text)
{
	return (unsigned char)*text >= 0xe3 ? 2 : 1;
}

void pen_put(struct pen *p, enum style style, const char *text)
{
	if (!*text)
		return;
	if (p->colour)
		text_add(p->out, codes[style]);
	for (size_t n; *text && p->column + columns_of(text) <= p->columns; text += n) {
		bool control = (unsigned char)*text < ' ' || *text == 0x7f;

		n = (size_t)text_letter(text);
		p->column += columns_of(text);
		if (!n || control || (n > 1 && !p->utf8))
			text_add(p->out, "?");
		else
			text_add_n(p->out, text, n);
		n = n ? n : 1;
	}
	if (p->colour && style != STYLE_PLAIN)
		text_add(p->out, "\033[0m");
}

void pen_putf(struct pen *p, enum style style, const char *fmt, ...)
{
	char buf[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	pen_put(p, style, buf);
}

void pen_move(struct pen *p, int column)
{
	for (; p->column < imin(column, p->columns); p->column++)
		text_add(p->out, " ");
}

void pen_end_line(struct pen *p)
{
	text_add(p->out, "\n");
	p->column = 0;
	p->lines++;
}

static void repeat(struct pen *p, enum style style, const char *text, int n)
{
	char buf[512] = "";

	for (; n > 0 && strlen(buf) + strlen(text) < sizeof(buf); n--)
		memcpy(buf + strlen(buf), text, strlen(text) + 1);
	pen_put(p, style, buf);
}

static int columns_for(double share, int columns)
{
	return share > 0 ? imin((int)lround(fmin(share, 1) * columns), columns) : 0;
}

void pen_bar(struct pen *p, int columns, double full, double half)
{
	int first = columns_for(full, columns);
	int second = imin(columns_for(half, columns), columns - first);

	repeat(p, STYLE_GREEN, p->utf8 ? "━" : "=", first);
	repeat(p, STYLE_YELLOW, p->utf8 ? "━" : "~", second);
	repeat(p, STYLE_DIM, p->utf8 ? "─" : "-", columns - first - second);
}

void pen_number(char *buf, size_t size, double value)
{
	int digits = NUMBER_WIDTH;

	while (snprintf(buf, size, "%.*g", digits, value) > NUMBER_WIDTH && digits > 1)
		digits--;
}

void pen_figure(char *buf, size_t size, double value)
{
	double magnitude = fabs(value);

	if (magnitude < 1000 && magnitude >= 1e-3)
		snprintf(buf, size, "%.*f", 3 - imax(-1, (int)floor(log10(magnitude))), value);
	else if (magnitude >= 1000 && magnitude < 1e7)
		snprintf(buf, size, "%.0f", value);
	else
		snprintf(buf, size, "%.2g", value);
}

void pen_size(char *buf, size_t size, uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	size_t unit = 0;

	for (; value >= 1000 && unit + 1 < ARRAY_SIZE(units); unit++)
		value /= 1024;
	snprintf(buf, size, "%.*f %s", unit && value < 99.95 ? 1 : 0, value, units[unit]);
}
