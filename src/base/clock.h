/* clock.h - monotonic time for measuring, wall time for naming. */
#ifndef KOLM_BASE_CLOCK_H
#define KOLM_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

/* Milliseconds since an arbitrary fixed point. Never goes back. */
double clock_ms(void);
/* The same in nanoseconds; the same for all processes of a machine. */
int64_t clock_ns(void);

/* Local time as 20260131-235959, for file names. */
void clock_stamp(char *buf, size_t size);

#endif
