/* schedules.h - for tests: all small schedules. */
#ifndef KOLM_TESTS_SCHEDULES_H
#define KOLM_TESTS_SCHEDULES_H

#include "testing.h"

#include "schedule/schedule.h"

enum { P_MAX = 8, M_MAX = 16, V_MAX = 4 };

static struct error err;

static inline void make(struct schedule *s, enum schedule_kind kind, int p, int m, int v)
{
	if (schedule_init(s, kind, p, m, v, fresh(&err)) != OK)
		fail_msg("%s, p %d, m %d, v %d: %s", schedule_name(kind), p, m, v, err.msg);
}

/* Call fn for every kind, p, m and v there is, within the limits above. */
static inline void for_all(void (*fn)(struct schedule *s, void *arg), void *arg)
{
	for (int kind = 0; kind < SCHEDULE_KIND_COUNT; kind++)
		for (int p = 1; p <= P_MAX; p++)
			for (int m = 1; m <= M_MAX; m++)
				for (int v = 1; v <= V_MAX; v++) {
					bool chunked = kind == SCHEDULE_INTERLEAVED;
					struct schedule s;

					if (chunked ? v < 2 || p < 2 : v > 1)
						continue;
					make(&s, (enum schedule_kind)kind, p, m, v);
					fn(&s, arg);
					schedule_release(&s);
				}
}

#endif
