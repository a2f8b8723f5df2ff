/* watch.c - see watch.h */
#include "cmd/watch.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static enum status look(void *arg, int64_t done, int64_t total, struct error *err)
{
	static const struct timespec now = {0};
	const char *what = arg, *name;
	enum status code;
	sigset_t asking;
	int number;

	sigemptyset(&asking);
	sigaddset(&asking, SIGINT);
	sigaddset(&asking, SIGTERM);
	sigaddset(&asking, SIGHUP);
	number = sigtimedwait(&asking, NULL, &now);
	if (number > 0) {
		code = error_of_signal(number, &name);
		return FAIL(err, code, "stopped by %s; nothing was written", name);
	}
	if (isatty(STDERR_FILENO) && total > 0)
		fprintf(stderr, "\r%s: %lld %% ", what, (long long)(100 * done / total));
	return OK;
}

struct text_watch watch_text(const char *what)
{
	return (struct text_watch){look, (void *)what};
}

void watch_text_end(void)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%*s\r", 40, "");
}
