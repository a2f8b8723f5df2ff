/*
 * links.h - the links of a virtual machine: what a message or a collective takes. Plain
 * data: the virtual device is told them, communication takes their time.
 */
#ifndef KOLM_BASE_LINKS_H
#define KOLM_BASE_LINKS_H

#include <stdint.h>

enum { SLOW_LINKS_MAX = 16 };

struct links {
	double latency_ns, ns_per_byte;
	int n_slow;
	struct {
		int a, b;      /* ranks of the world */
		double factor; /* that it takes longer by */
	} slow[SLOW_LINKS_MAX];
};

/* How much longer the link between two ranks takes, either way. */
double links_factor(const struct links *l, int a, int b);
/* In whole ns, as clocks are: how long a message takes the link between two ranks, and how
   much later it arrives. */
int64_t links_transfer_ns(const struct links *l, int a, int b, double bytes);
int64_t links_latency_ns(const struct links *l, int a, int b);
/* A message, and an all-reduce (or, rounds 1: a reduce-scatter or an all-gather) around a
   ring of n ranks, in ns, where no link is slow. */
double links_message_ns(const struct links *l, double bytes);
double links_ring_ns(const struct links *l, double bytes, int n, int rounds);

#endif
