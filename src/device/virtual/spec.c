/* spec.c - the words that describe a virtual device; see virtual.c for all of them. */
#include "base/units.h"
#include "base/util.h"
#include "device/virtual/virtual.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "1GB/s" */
static bool parse_rate(const char *text, double *bytes_per_ns)
{
	char buf[64];
	size_t n = strlen(text);
	uint64_t bytes;

	if (n < 3 || n >= sizeof(buf) || strcmp(text + n - 2, "/s"))
		return false;
	memcpy(buf, text, n - 2);
	buf[n - 2] = '\0';
	if (!units_parse_size(buf, &bytes) || !bytes)
		return false;
	*bytes_per_ns = (double)bytes * 1e-9;
	return true;
}

static bool parse_positive(const char *text, double *out)
{
	double value;

	if (!units_parse_float(text, &value) || !(value > 0) || !isfinite(value))
		return false;
	*out = value;
	return true;
}

/* "3:2.5" or, with two ranks, "1-2:10". */
static bool parse_slow(const char *text, int *a, int *b, double *factor)
{
	char buf[64], *colon, *dash;
	int64_t first, second = 0;

	if (snprintf(buf, sizeof(buf), "%s", text) >= (int)sizeof(buf))
		return false;
	colon = strchr(buf, ':');
	if (!colon)
		return false;
	*colon = '\0';
	dash = b ? strchr(buf, '-') : NULL;
	if (b && !dash)
		return false;
	if (dash)
		*dash = '\0';
	if (!units_parse_int(buf, &first) || (dash && !units_parse_int(dash + 1, &second)) ||
	    first < 0 || second < 0 || first > 1 << 20 || second > 1 << 20)
		return false;
	*a = (int)first;
	if (b)
		*b = (int)second;
	return parse_positive(colon + 1, factor);
}

static bool parse_slow_link(struct machine *m, const char *value)
{
	struct links *l = &m->links;

	if (l->n_slow == SLOW_LINKS_MAX ||
	    !parse_slow(value, &l->slow[l->n_slow].a, &l->slow[l->n_slow].b,
			&l->slow[l->n_slow].factor))
		return false;
	m->stray = imax(l->slow[l->n_slow].a, l->slow[l->n_slow].b) >= m->ranks ||
		   l->slow[l->n_slow].a == l->slow[l->n_slow].b;
	l->n_slow++;
	return true;
}

static bool parse_key(struct machine *m, const char *key, const char *value)
{
	double number;
	int slow;

	if (!strcmp(key, "gflops"))
		return parse_positive(value, &m->gflops);
	if (!strcmp(key, "gflops16"))
		return parse_positive(value, &m->gflops16);
	if (!strcmp(key, "bandwidth"))
		return parse_rate(value, &m->bandwidth);
	if (!strcmp(key, "mem"))
		return units_parse_size(value, &m->memory) && m->memory;
	if (!strcmp(key, "link")) {
		if (!parse_rate(value, &number))
			return false;
		m->links.ns_per_byte = 1 / number;
		return true;
	}
	if (!strcmp(key, "latency")) {
		if (!units_parse_time(value, &number) || number < 0)
			return false;
		m->links.latency_ns = number * 1e6;
		return true;
	}
	if (!strcmp(key, "slow-link"))
		return parse_slow_link(m, value);
	if (strcmp(key, "slow") || !parse_slow(value, &slow, NULL, &number))
		return false;
	if (slow == m->rank)
		m->slowness = number;
	m->stray = slow >= m->ranks;
	return true;
}

enum status virtual_parse(struct machine *m, const char *spec, struct error *err)
{
	char *copy = strdup(spec), *at = copy, *word;
	enum status st = OK;

	if (!copy)
		return FAIL(err, ERR_MEMORY, "no memory for the device '%s'", spec);
	while (st == OK && (word = strsep(&at, ","))) {
		char *value = strchr(word, '=');

		if (value)
			*value++ = '\0';
		if (value && parse_key(m, word, value)) {
			if (!m->stray)
				continue;
			st = FAIL(err, ERR_USAGE, "--device: '%s=%s' is not in this run", word,
				  value);
			HINT(err, "ranks go from 0 to %d, and a link has two ends",
			     m->ranks - 1);
			break;
		}
		st = FAIL(err, ERR_USAGE, "a virtual device can't have '%s%s%s'", word,
			  value ? "=" : "", value ? value : "");
		HINT(err,
		     "such as virtual:gflops=100,gflops16=200,bandwidth=20GB/s,mem=2GiB,link=1GB/s,"
		     "latency=50us,slow=RANK:FACTOR,slow-link=A-B:FACTOR");
	}
	free(copy);
	return st;
}
