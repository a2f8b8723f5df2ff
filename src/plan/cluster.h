/*
 * cluster.h - a cluster as data: what its devices compute, hold and send.
 *
 * A cluster is a JSON file (docs/plan.md): every constant has a value, a unit and an origin.
 * cluster_read checks all of it; some are built in.
 */
#ifndef KOLM_PLAN_CLUSTER_H
#define KOLM_PLAN_CLUSTER_H

#include "base/error.h"
#include "base/names.h"

#include <stddef.h>

/* Enum, name in the file, unit, least and greatest value, what it is. */
/* clang-format off */
#define CLUSTER_CONSTANTS(X) \
	X(PEAK, "peak", "TFLOP/s", 1e-3, 1e6, "16-bit products of one device") \
	X(PROCESSORS, "processors", "1", 1, 1e5, "that share the tiles of a product") \
	X(PRODUCT_SHARE, "product_share", "1", 1e-3, 1, "of the peak, where a product is large") \
	X(PRODUCT_RAMP, "product_ramp", "1", 0, 1e5, "inner size that beginning and ending a tile is worth") \
	X(FLASH_SHARE, "flash_share", "1", 1e-3, 1, "of the peak, in attention that is one kernel") \
	X(MEMORY, "memory", "GiB", 1e-3, 1e6, "of one device") \
	X(MEMORY_BANDWIDTH, "memory_bandwidth", "GB/s", 1e-3, 1e6, "of one device") \
	X(MEMORY_SHARE, "memory_share", "1", 1e-3, 1, "of that bandwidth, in elementwise work") \
	X(LAUNCH, "launch", "us", 0, 1e6, "of the host for one kernel") \
	X(STEP, "step", "us", 0, 1e8, "of the host once a step") \
	X(NODE, "node", "1", 1, 4096, "devices of a node") \
	X(LINK_BANDWIDTH, "link_bandwidth", "GB/s", 1e-6, 1e6, "of a message between two devices of a node") \
	X(LINK_LATENCY, "link_latency", "us", 0, 1e6, "of such a message") \
	X(NODE_BANDWIDTH, "node_bandwidth", "GB/s", 1e-6, 1e6, "out of a node, one way, all its devices together") \
	X(NODE_SHARE, "node_share", "1", 1e-3, 1, "of that bandwidth, in messages and sums") \
	X(NODE_LATENCY, "node_latency", "us", 0, 1e6, "of a message between nodes") \
	X(SUM_LATENCY, "sum_latency", "us", 0, 1e6, "of each node in a sum over several") \
	X(SUM_OVERLAP, "sum_overlap", "1", 0, 1, "share of tensor-parallel sums hidden behind products of the backward") \
	X(GRADIENT_OVERLAP, "gradient_overlap", "1", 0, 1, "speed of gradient sums beside the backward, as a share of what it is behind it; 0: they begin behind it") \
	X(GRADIENT_BYTES, "gradient_bytes", "B", 1, 8, "of a parameter's gradient, kept and summed") \
	X(BUCKET_BYTES, "bucket_bytes", "B", 0, 8, "of a gradient's copy while it is summed over replicas") \
	X(LOGIT_BYTES, "logit_bytes", "B", 1, 16, "kept of each logit") \
	X(STAGE_BUFFERS, "stage_buffers", "1", 0, 64, "micro-batches that stages but the last have room for, times the stages; 0: as many as the schedule has in flight") \
	X(OPTIMIZER_BYTES, "optimizer_bytes", "B", 1, 1000, "read and written for a parameter's update") \
	X(RESERVED, "reserved", "GiB", 0, 1e4, "of memory: contexts, buffers of the libraries, gaps")
/* clang-format on */
#define CLUSTER_CONSTANT(name, ...) CLUSTER_##name,
enum cluster_constant { CLUSTER_CONSTANTS(CLUSTER_CONSTANT) };
enum { CLUSTER_CONSTANT_COUNT = NAMES_COUNT(CLUSTER_CONSTANTS) };

enum { CLUSTER_NAME_MAX = 64, CLUSTER_RINGS_MAX = 16, CLUSTER_FILE_MAX = 1 << 20 };

/* A sum over so many devices of a node: latency, and bytes that pass each device a second. */
struct cluster_ring {
	double ranks, latency_us, gb_per_s;
};

struct cluster {
	char name[CLUSTER_NAME_MAX];
	double constants[CLUSTER_CONSTANT_COUNT];
	struct cluster_ring rings[CLUSTER_RINGS_MAX]; /* by ranks, ascending */
	int ring_count;
};

/* From the bytes of a file; where names it in messages. */
enum status cluster_read(struct cluster *c, const char *bytes, size_t size, const char *where,
			 struct error *err);
/* Is every constant, and every row of the sums, within its range? */
enum status cluster_check(const struct cluster *c, const char *where, struct error *err);
/* A built-in one by its name, or, where there is none, the file of that name, if there is a
   dot or a slash in it, or the only one that is built in of that device: h100-80g for h100-x.
 */
enum status cluster_find(struct cluster *c, const char *name, struct error *err);
/* Change constants, as in "peak=400; node_bandwidth=2x": to a value, or so many times what it
   was. */
enum status cluster_set(struct cluster *c, const char *changes, struct error *err);
/* The name of a constant in the file, and its unit there. */
const char *cluster_constant_name(enum cluster_constant which);
const char *cluster_constant_unit(enum cluster_constant which);
/* The i-th one that is built in; NULL behind the last. */
const char *cluster_builtin_name(size_t i);

/* What cmake makes of the files of clusters/. */
struct cluster_file {
	const char *name;
	const unsigned char *bytes;
	size_t size;
};
extern const struct cluster_file cluster_files[];
extern const size_t cluster_file_count;

#endif
