/* log.c - see log.h */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

static enum log_level level = LOG_NORMAL;

void log_set_level(enum log_level wanted)
{
	level = wanted;
}

static void print(const char *prefix, const char *fmt, va_list ap)
{
	char line[1024];

	/* One write per line, so that lines of several processes do not mix. */
	vsnprintf(line, sizeof(line), fmt, ap);
	fflush(stdout); /* what was printed before comes before, also where both end up in one
			   file */
	fprintf(stderr, "%s%s\n", prefix, line);
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
