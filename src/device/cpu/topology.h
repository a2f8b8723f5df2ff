/* topology.h - the cores that this process may use, from hwloc. */
#ifndef KOLM_DEVICE_CPU_TOPOLOGY_H
#define KOLM_DEVICE_CPU_TOPOLOGY_H

#include "base/error.h"

enum { TOPOLOGY_MAX_CORES = 1024 };

struct topology {
	int cores;
	int cpu[TOPOLOGY_MAX_CORES]; /* the first allowed hardware thread of each core */
};

enum status topology_init(struct topology *t, struct error *err);

#endif
