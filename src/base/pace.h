/*
 * pace.h - the time of a rank: the machine's, or a virtual one.
 *
 * Virtual time goes on only by what is said to take time. The rank sleeps until the
 * machine's clock has come as far; when it is woken late it does not lose what it had
 * slept too long: the next deadline counts from the last one, not from the awakening. So
 * what is measured in virtual time does not depend on how busy the machine is.
 */
#ifndef KOLM_BASE_PACE_H
#define KOLM_BASE_PACE_H

#include "base/clock.h"

#include <stdbool.h>

struct pace {
	bool is_virtual;
	bool hurried; /* a virtual one that nobody keeps up with: it never sleeps */
	int64_t now;  /* ns; of a virtual one */
};

/* In ns; a missing pace is the machine's. */
static inline int64_t pace_now(const struct pace *p)
{
	return p && p->is_virtual ? p->now : clock_ns();
}

/* Something takes so long. */
void pace_spend(struct pace *p, int64_t ns);
/* Virtual time is at least this; nothing happens in real time. */
void pace_reach(struct pace *p, int64_t at);
/* From now on it is virtual, beginning with the machine's time. */
void pace_make_virtual(struct pace *p);

#endif
