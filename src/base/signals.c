/* signals.c - see signals.h */
#include "base/signals.h"

#include <stddef.h>

void signals_hold(sigset_t *before)
{
	sigset_t asking;

	sigemptyset(&asking);
	sigaddset(&asking, SIGINT);
	sigaddset(&asking, SIGTERM);
	sigaddset(&asking, SIGHUP);
	sigprocmask(SIG_BLOCK, &asking, before);
}

void signals_let_go(const sigset_t *before)
{
	sigprocmask(SIG_SETMASK, before, NULL);
}
