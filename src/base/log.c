/* log.c - see log.h */
#include "base/log.h"
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static enum log_level level = LOG_NORMAL;

void log_set_level(enum log_level wanted)
{
	level = wanted;
}

static void print(const char *prefix, const char *fmt, va_list ap)
{
	char line[1024], shown[4 * sizeof(line)];

	/* One write per line, so that lines of several processes do not mix. */
	vsnprintf(line, sizeof(line), fmt, ap);
	text_printable(shown, sizeof(shown), line);
	fflush(stdout); /* what was printed before comes before, also where both end up in one
			   file */
	fprintf(stderr, "%s%s\n", prefix, shown);
}

void log_info(const char *fmt, ...)
{
	va_list ap;

	if (level < LOG_NORMAL)
		return;
	va_start(ap, fmt);
	print("", fmt, ap);
	va_end(ap);
}

void log_verbose(const char *fmt, ...)
{
	va_list ap;

	if (level < LOG_VERBOSE)
		return;
	va_start(ap, fmt);
	print("", fmt, ap);
	va_end(ap);
}

void log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print("kolm: warning: ", fmt, ap);
	va_end(ap);
}

void log_detail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print("    ", fmt, ap);
	va_end(ap);
}

enum status log_flush_results(struct error *err)
{
	if (fflush(stdout))
		return FAIL(err, ERR_FAILED, "can't write to standard output: %s",
			    strerror(errno));
	if (!ferror(stdout))
		return OK;
	FAIL(err, ERR_FAILED, "can't write to standard output");
	return HINT(err, "it is closed, full or gone");
}
