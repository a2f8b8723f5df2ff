/* links.c - see links.h */
#include "base/links.h"

double links_factor(const struct links *l, int a, int b)
{
	double factor = 1;

	for (int i = 0; i < l->n_slow; i++)
		if ((l->slow[i].a == a && l->slow[i].b == b) ||
		    (l->slow[i].a == b && l->slow[i].b == a))
			factor = l->slow[i].factor;
	return factor;
}

int64_t links_transfer_ns(const struct links *l, int a, int b, double bytes)
{
	return (int64_t)(bytes * l->ns_per_byte * links_factor(l, a, b));
}

int64_t links_latency_ns(const struct links *l, int a, int b)
{
	return (int64_t)(l->latency_ns * links_factor(l, a, b));
}

double links_message_ns(const struct links *l, double bytes)
{
	return l->latency_ns + bytes * l->ns_per_byte;
}

double links_ring_ns(const struct links *l, double bytes, int n, int rounds)
{
	return rounds * (n - 1) * links_message_ns(l, bytes / n);
}
