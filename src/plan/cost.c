/* cost.c - see cost.h */
#include "plan/cost.h"
#include "base/util.h"

#include <math.h>

static double constant(const struct cluster *c, enum cluster_constant which)
{
	return c->constants[which];
}

/* Tiles that libraries have kernels for, the largest first. */
static const struct {
	double m, n;
} tiles[] = {{256, 128}, {128, 128}, {128, 64}, {64, 64}};

/* A tile reads (1/m + 1/n) operands per multiplication; how much slower that makes small ones
   is in units of this many operands. Tiles of 64 x 64 then reach 0.62 of the largest. */
static const double operand_weight = 32;

/* The share of a tile's speed that the largest one has. */
static double tile_share(double m, double n)
{
	double more = 1 / m + 1 / n - 1 / tiles[0].m - 1 / tiles[0].n;

	return 1 / (1 + operand_weight * more);
}

double cost_product(const struct cluster *c, double m, double n, double k, double count)
{
	double speed = constant(c, CLUSTER_PEAK) * 1e12 * constant(c, CLUSTER_PRODUCT_SHARE);
	double processors = constant(c, CLUSTER_PROCESSORS);
	double bytes = 2 * count * (m * k + k * n + m * n), best = INFINITY;

	for (size_t i = 0; i < ARRAY_SIZE(tiles); i++) {
		double all = ceil(m / tiles[i].m) * ceil(n / tiles[i].n) * count;
		double flops =
			2 * tiles[i].m * tiles[i].n * (k + constant(c, CLUSTER_PRODUCT_RAMP));
		double time = ceil(all / processors) * processors * flops / speed /
			      tile_share(tiles[i].m, tiles[i].n);

		best = fmin(best, time);
	}
	return fmax(best, cost_bytes(c, bytes));
}

double cost_bytes(const struct cluster *c, double bytes)
{
	return bytes / (constant(c, CLUSTER_MEMORY_BANDWIDTH) * 1e9 *
			constant(c, CLUSTER_MEMORY_SHARE));
}

/* Between the rows of the table in proportion, outside as at its ends. */
static struct cluster_ring ring_of(const struct cluster *c, double ranks)
{
	const struct cluster_ring *r = c->rings, *last = r + c->ring_count - 1;
	double part;

	if (ranks <= r->ranks)
		return *r;
	while (r < last && r[1].ranks < ranks)
		r++;
	if (r == last)
		return *last;
	part = (ranks - r[0].ranks) / (r[1].ranks - r[0].ranks);
	return (struct cluster_ring){
		ranks, r[0].latency_us + part * (r[1].latency_us - r[0].latency_us),
		r[0].gb_per_s + part * (r[1].gb_per_s - r[0].gb_per_s)};
}

double cost_sum(const struct cluster *c, double bytes, int ranks, int stride)
{
	double node = constant(c, CLUSTER_NODE), passing = 2 * bytes * (ranks - 1) / ranks;
	double here = fmin(ranks, fmax(1, floor(node / stride))); /* of the group, on a node */
	double nodes = ceil(ranks / here), groups = fmin(stride, node), speed;
	struct cluster_ring ring;

	if (ranks == 1)
		return 0;
	ring = ring_of(c, here);
	if (nodes == 1)
		return ring.latency_us * 1e-6 + passing / (ring.gb_per_s * 1e9);
	/* A ring leaves each node once; the groups of a node share its way out. */
	speed = constant(c, CLUSTER_NODE_BANDWIDTH) * constant(c, CLUSTER_NODE_SHARE) / groups;
	if (here > 1)
		speed = fmin(speed, ring.gb_per_s);
	return (ring.latency_us + nodes * constant(c, CLUSTER_SUM_LATENCY)) * 1e-6 +
	       passing / (speed * 1e9);
}

double cost_message(const struct cluster *c, double bytes, int stride)
{
	double node = constant(c, CLUSTER_NODE);

	if (stride < node)
		return constant(c, CLUSTER_LINK_LATENCY) * 1e-6 +
		       bytes / (constant(c, CLUSTER_LINK_BANDWIDTH) * 1e9);
	return constant(c, CLUSTER_NODE_LATENCY) * 1e-6 +
	       bytes * node /
		       (constant(c, CLUSTER_NODE_BANDWIDTH) * constant(c, CLUSTER_NODE_SHARE) *
			1e9);
}

/* The slower of both where one is much slower. Where they are near, some kernels wait for the
   host and others for the device, and neither hides wholly behind the other. */
double cost_pass(const struct cluster *c, const struct cost *p)
{
	double device = p->busy + p->sums,
	       host = p->kernels * constant(c, CLUSTER_LAUNCH) * 1e-6;

	device *= device;
	host *= host;
	return sqrt(sqrt(device * device + host * host));
}
