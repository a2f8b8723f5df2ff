/* units.c - see units.h */
#include "base/units.h"
#include "base/util.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
	const char *name;
	double factor;
};

static const struct unit sizes[] = {
	{"", 1},       {"B", 1},	{"KB", 1e3},	 {"MB", 1e6},	  {"GB", 1e9},
	{"TB", 1e12},  {"KiB", 1024.0}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
	{"K", 1024.0}, {"M", 0x1p20},	{"G", 0x1p30},	 {"T", 0x1p40},
};

static const struct unit times[] = {
	{"", 1}, {"ns", 1e-6}, {"us", 1e-3}, {"ms", 1}, {"s", 1e3}, {"min", 6e4}, {"h", 3.6e6},
};

/* A plain decimal number: no hex, no inf, no nan, no leading space. */
static bool parse_number(const char *text, double *out, const char **rest)
{
	const char *p = text + (*text == '-' || *text == '+');
	char *end;

	if (!((*p >= '0' && *p <= '9') || *p == '.') || p[strspn(p, "0")] == 'x' ||
	    p[1] == 'x' || p[1] == 'X')
		return false;
	errno = 0;
	*out = strtod(text, &end);
	*rest = end;
	return end != text && errno != ERANGE && isfinite(*out);
}

static bool parse_with_unit(const char *text, const struct unit *units, size_t n, double *out)
{
	const char *rest;
	double value;

	if (!parse_number(text, &value, &rest))
		return false;
	while (*rest == ' ')
		rest++;
	for (size_t i = 0; i < n; i++) {
		if (strcasecmp(rest, units[i].name))
			continue;
		*out = value * units[i].factor;
		return true;
	}
	return false;
}

bool units_parse_size(const char *text, uint64_t *bytes)
{
	double value;

	if (!parse_with_unit(text, sizes, ARRAY_SIZE(sizes), &value) || value < 0 ||
	    value >= 0x1p63 || (value > 0 && value < 1))
		return false;
	*bytes = (uint64_t)value;
	return true;
}

bool units_parse_time(const char *text, double *ms)
{
	double value;

	if (!parse_with_unit(text, times, ARRAY_SIZE(times), &value) || value < 0)
		return false;
	*ms = value;
	return true;
}

bool units_parse_int(const char *text, int64_t *out)
{
	char *end;
	long long value;

	if (!*text || strspn(text, "+-0123456789") != strlen(text))
		return false;
	errno = 0;
	value = strtoll(text, &end, 10);
	if (*end || errno == ERANGE)
		return false;
	*out = value;
	return true;
}

bool units_parse_float(const char *text, double *out)
{
	const char *rest;
	double value;

	if (!parse_number(text, &value, &rest) || *rest)
		return false;
	*out = value;
	return true;
}

void units_format_count(int64_t n, char *buf, size_t size)
{
	if (n >= 1000000000)
		snprintf(buf, size, "%.3g G", (double)n * 1e-9);
	else if (n >= 1000000)
		snprintf(buf, size, "%.3g M", (double)n * 1e-6);
	else if (n >= 10000)
		snprintf(buf, size, "%.3g k", (double)n * 1e-3);
	else
		snprintf(buf, size, "%d", (int)n);
}

void units_format_size(uint64_t bytes, char *buf, size_t size)
{
	static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	double value = (double)bytes;
	size_t i = 0;

	while (value >= 1024 && i + 1 < ARRAY_SIZE(names)) {
		value /= 1024;
		i++;
	}
	snprintf(buf, size, i ? "%.1f %s" : "%.0f %s", value, names[i]);
}
