/* cost.h - seconds that operations take on a cluster's device. Only for plan/. */
#ifndef KOLM_PLAN_COST_H
#define KOLM_PLAN_COST_H

#include "plan/cluster.h"

/* What a pass through some operations takes: the device computes, then waits for sums, while
   the host starts kernels. */
struct cost {
	double busy, sums; /* s */
	double kernels;
	double products, flops; /* of busy, what products take, and their operations */
};

/* count products (m, k) x (k, n) of 16-bit numbers in one kernel. */
double cost_product(const struct cluster *c, double m, double n, double k, double count);
/* Elementwise work on so many bytes, read and written. */
double cost_bytes(const struct cluster *c, double bytes);
/*
 * A sum of so many bytes that all of ranks get. They are stride ranks apart; each device of a
 * node takes part in a sum of its own.
 */
double cost_sum(const struct cluster *c, double bytes, int ranks, int stride);
/* A message to the rank that is stride ranks away; every device of the node sends one. */
double cost_message(const struct cluster *c, double bytes, int stride);
/* Of the whole pass: the slower of the device and the host, or a little more. */
double cost_pass(const struct cluster *c, const struct cost *p);

#endif
