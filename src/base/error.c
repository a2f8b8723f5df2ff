/* error.c - see error.h */
#include "base/error.h"
#include "base/room.h"
#include "base/text.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char limit[] = "'ulimit -"; /* a message that names one; see room.h */

enum status error_set(struct error *err, enum status code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	if (err->code != OK) {
		err->closed = true;
		return err->code;
	}
	error_clear(err);
	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	if (code == ERR_MEMORY && !strstr(err->msg, limit))
		room_tightest(err->hint, sizeof(err->hint));
	return code;
}

enum status error_copy(struct error *err, const struct error *from)
{
	if (!err)
		return from->code;
	if (err->code == OK)
		*err = *from;
	else
		err->closed = true;
	return err->code;
}

void error_clear(struct error *err)
{
	if (!err)
		return;
	err->code = OK;
	err->exit_code = 0;
	err->reported = err->closed = false;
	err->msg[0] = err->hint[0] = '\0';
}

enum status error_hint(struct error *err, const char *fmt, ...)
{
	char hint[sizeof(err->hint)];
	size_t n;
	va_list ap;

	if (!err)
		return ERR_FAILED;
	if (err->closed)
		return err->code;
	va_start(ap, fmt);
	vsnprintf(hint, sizeof(hint), fmt, ap);
	va_end(ap);
	if (strstr(hint, limit)) /* who was nearer to it has said so */
		err->hint[0] = '\0';
	n = strlen(err->hint);
	snprintf(err->hint + n, sizeof(err->hint) - n, "%s%s", n && *hint ? "; " : "", hint);
	return err->code;
}

void error_print(struct error *err)
{
	char msg[4 * sizeof(err->msg)], hint[4 * sizeof(err->hint)];

	if (err->reported)
		return;
	text_printable(msg, sizeof(msg), err->msg);
	text_printable(hint, sizeof(hint), err->hint);
	fprintf(stderr, "kolm: %s%s%s\n", msg, *hint ? "; " : "", hint);
	err->reported = true;
}

enum status error_of_signal(int number, const char **name)
{
	switch (number) {
	case SIGINT:
		*name = "Ctrl-C";
		return ERR_INTERRUPTED;
	case SIGTERM:
		*name = "SIGTERM";
		return ERR_TERMINATED;
	default:
		*name = "SIGHUP";
		return ERR_HANGUP;
	}
}

int error_exit_code(enum status code)
{
	switch (code) {
	case OK:
		return 0;
	case ERR_USAGE:
		return 2;
	case ERR_INTERRUPTED:
		return 130;
	case ERR_TERMINATED:
		return 143;
	case ERR_HANGUP:
		return 129;
	case ERR_FAILED:
	case ERR_MEMORY:
		break;
	}
	return 1;
}
