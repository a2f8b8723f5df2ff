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

/* How often a micro-batch goes from one stage to another on its way forward. */
static inline int crossings(const struct schedule *s)
{
	int n = 0;

	for (int part = 1; part < schedule_parts(s); part++)
		n += schedule_place(s, part).stage != schedule_place(s, part - 1).stage;
	return n;
}

/* Is there such a schedule? */
static inline bool try_make(struct schedule *s, int kind, int p, int m, int v)
{
	enum status st;

	err = (struct error){0};
	st = schedule_init(s, (enum schedule_kind)kind, p, m, v, &err);
	if (st != OK && st != ERR_USAGE) /* a size that the kind does not have */
		fail_msg("%s, p %d, m %d, v %d: %s", schedule_names[kind], p, m, v, err.msg);
	return st == OK;
}

/* Call fn for every kind, p, m and v there is, within the limits above. */
static inline void for_all(void (*fn)(struct schedule *s, void *arg), void *arg)
{
	struct schedule s;

	for (int kind = 0; kind < SCHEDULE_KIND_COUNT; kind++)
		for (int p = 1; p <= P_MAX; p++)
			for (int m = 1; m <= M_MAX; m++)
				for (int v = 1; v <= V_MAX; v++)
					if (try_make(&s, kind, p, m, v)) {
						fn(&s, arg);
						schedule_release(&s);
					}
}

#endif
