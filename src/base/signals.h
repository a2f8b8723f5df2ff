/*
 * signals.h - the wish that we end may wait until there is nothing to be left behind.
 *
 * Between signals_hold and signals_let_go, Ctrl-C, SIGTERM and SIGHUP stay pending: whoever
 * waits for them sees them, otherwise they take effect at the end.
 */
#ifndef KOLM_BASE_SIGNALS_H
#define KOLM_BASE_SIGNALS_H

#include <signal.h>

void signals_hold(sigset_t *before);
void signals_let_go(const sigset_t *before);

#endif
