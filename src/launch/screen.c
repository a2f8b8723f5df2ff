/* screen.c - see screen.h */
#include "launch/screen.h"
#include "base/util.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COLUMNS_MIN = 40, COLUMNS_MAX = 500, LINES_MIN = 4 };

bool screen_possible(int fd)
{
	const char *term = getenv("TERM");

	return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

bool screen_in_front(int fd)
{
	pid_t foreground = tcgetpgrp(fd);

	return foreground < 0 || foreground == getpgrp();
}

/* As the locale's own rule goes: the first of these that is set. */
static bool is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

void screen_init(struct screen *s, int fd)
{
	const char *no_colour = getenv("NO_COLOR");

	*s = (struct screen){.fd = fd,
			     .utf8 = is_utf8(),
			     .colour = !no_colour || !*no_colour,
			     .always_ours = !screen_in_front(fd)};
	text_init(&s->shown);
	text_init(&s->out);
}

void screen_release(struct screen *s)
{
	text_release(&s->shown);
	text_release(&s->out);
}

void screen_size(const struct screen *s, int *columns, int *lines)
{
	struct winsize size;

	*columns = 80;
	*lines = 24;
	if (ioctl(s->fd, TIOCGWINSZ, &size) || !size.ws_col || !size.ws_row)
		return;
	*columns = imax(COLUMNS_MIN, imin(size.ws_col, COLUMNS_MAX));
	*lines = imax(LINES_MIN, size.ws_row);
}

bool screen_is_ours(const struct screen *s)
{
	return s->always_ours || screen_in_front(s->fd);
}

bool screen_is_blocked(const struct screen *s)
{
	struct pollfd terminal = {.fd = s->fd, .events = POLLOUT};

	return poll(&terminal, 1, 0) == 0;
}

/*
 * Lines that the frame takes on the terminal now. Most terminals wrap what has become too
 * wide for them when they are made narrower.
 */
static int lines_of(const char *frame, int columns)
{
	int lines = 0, column = 0;

	for (; *frame; frame++) {
		if (*frame == '\033') { /* a style: no columns */
			frame = strchr(frame, 'm');
			if (!frame)
				break;
		} else if (*frame == '\n') {
			lines += 1 + imax(0, column - 1) / columns;
			column = 0;
		} else {
			column += (*frame & 0xc0) != 0x80;
		}
	}
	return lines;
}

static void write_all(int fd, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, data, size);
		struct pollfd terminal = {.fd = fd, .events = POLLOUT};

		if (n < 0 && errno == EAGAIN)
			poll(&terminal, 1, -1);
		else if (n < 0 && errno != EINTR)
			return; /* the terminal is gone, and with it who could be told */
		data += n > 0 ? n : 0;
		size -= n > 0 ? (size_t)n : 0;
	}
}

void screen_show(struct screen *s, const char *above, const char *frame)
{
	int columns, lines;
	const char *end;

	if (!*above && !strcmp(frame, s->shown.data))
		return;
	screen_size(s, &columns, &lines);
	s->out.len = 0;
	text_add(&s->out, "\r");
	if (s->shown.len)
		text_addf(&s->out, "\033[%dA",
			  imin(lines - 1, lines_of(s->shown.data, columns)));
	if (*above)
		text_addf(&s->out, "\033[J%s", above);
	for (const char *line = frame; (end = strchr(line, '\n')); line = end + 1) {
		text_add_n(&s->out, line, (size_t)(end - line));
		/* Below it may stand the rest of a longer frame, or what somebody has typed. */
		text_add(&s->out, end[1] ? "\033[K\n" : "\033[J\n");
	}
	s->shown.len = 0;
	text_add(&s->shown, frame);
	if (!s->out.failed && !s->shown.failed)
		write_all(s->fd, s->out.data, s->out.len);
}

void screen_leave(struct screen *s)
{
	if (s->shown.len)
		s->shown.data[0] = '\0';
	s->shown.len = 0;
}
