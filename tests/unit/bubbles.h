/* bubbles.h - for tests: the bubble of a schedule against what it should be. */
#ifndef KOLM_TESTS_BUBBLES_H
#define KOLM_TESTS_BUBBLES_H

#include "schedules.h"

#include "schedule/timeline.h"

/* What the longest stage takes beyond its work. */
static inline double bubble_ms(enum schedule_kind kind, int p, int m, int v, struct costs c)
{
	struct schedule s;
	struct timeline t;
	double longest = 0;

	make(&s, kind, p, m, v);
	assert_int_equal(timeline_simulate(&t, &s, &c, &err), OK);
	for (int i = 0; i < p; i++) {
		assert_true(fabs(t.totals[i].busy_ms - m * (c.f + c.b)) < 1e-9);
		longest = fmax(longest, t.totals[i].end_ms - t.totals[i].begin_ms);
	}
	assert_true(fabs(t.bubble - (1 - m * (c.f + c.b) / longest)) < 1e-12);
	timeline_release(&t);
	schedule_release(&s);
	return longest - m * (c.f + c.b);
}

static inline void expect_bubble(enum schedule_kind kind, int p, int m, int v, struct costs c,
				 double want)
{
	double ms = bubble_ms(kind, p, m, v, c);

	if (fabs(ms - want) > 1e-9)
		fail_msg("%s p %d m %d v %d f %g b %g w %g: bubble %g ms, not %g",
			 schedule_name(kind), p, m, v, c.f, c.b, c.w, ms, want);
}

#define COSTS(F, B, W, L)                                    \
	{                                                    \
		.f = (F), .b = (B), .w = (W), .latency = (L) \
	}

/* Where a weight gradient takes no longer than a forward. */
static const struct costs free_messages[] = {
	COSTS(1, 2, 1, 0),	COSTS(1, 1, 0.5, 0),
	COSTS(2, 3, 1, 0),	COSTS(18.522, 27.423, 9.337, 0),
	COSTS(3, 2.5, 0.25, 0),
};

#endif
