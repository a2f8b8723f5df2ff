/* pace.c - see pace.h */
#include "base/pace.h"

#include <errno.h>
#include <time.h>

enum { WORTH_SLEEPING_NS = 20 * 1000 };

static void sleep_until(int64_t at)
{
	struct timespec t = {.tv_sec = at / 1000000000, .tv_nsec = at % 1000000000};

	if (at - clock_ns() < WORTH_SLEEPING_NS)
		return;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

void pace_spend(struct pace *p, int64_t ns)
{
	if (!p || !p->is_virtual) {
		sleep_until(clock_ns() + ns);
		return;
	}
	p->now += ns;
	if (!p->hurried)
		sleep_until(p->now);
}

void pace_reach(struct pace *p, int64_t at)
{
	if (!p || !p->is_virtual || at <= p->now)
		return;
	p->now = at;
	if (!p->hurried)
		sleep_until(at);
}

void pace_make_virtual(struct pace *p)
{
	*p = (struct pace){.is_virtual = true, .now = clock_ns()};
}
