/* clock.c - see clock.h */
#include "base/clock.h"

#include <time.h>

int64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

double clock_ms(void)
{
	return (double)clock_ns() * 1e-6;
}

void clock_stamp(char *buf, size_t size)
{
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(buf, size, "%Y%m%d-%H%M%S", &tm);
}
