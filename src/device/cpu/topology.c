/* topology.c - see topology.h */
#include "device/cpu/topology.h"

#include <hwloc.h>

enum status topology_init(struct topology *t, struct error *err)
{
	enum status st = OK;
	hwloc_topology_t topo;
	hwloc_obj_t core = NULL;

	t->cores = 0;
	if (hwloc_topology_init(&topo))
		return FAIL(err, ERR_FAILED, "hwloc can't start");
	if (hwloc_topology_load(topo)) {
		st = FAIL(err, ERR_FAILED, "hwloc can't read this machine's topology");
		goto out;
	}
	/* By default hwloc shows only what this process is allowed to use. */
	while (t->cores < TOPOLOGY_MAX_CORES &&
	       (core = hwloc_get_next_obj_by_type(topo, HWLOC_OBJ_CORE, core)))
		t->cpu[t->cores++] = hwloc_bitmap_first(core->cpuset);
	/* Some virtual machines show processing units but no cores. */
	while (t->cores == 0 || (core && t->cores < TOPOLOGY_MAX_CORES)) {
		core = hwloc_get_next_obj_by_type(topo, HWLOC_OBJ_PU, core);
		if (!core)
			break;
		t->cpu[t->cores++] = (int)core->os_index;
	}
	if (!t->cores)
		st = FAIL(err, ERR_FAILED, "hwloc found no core that this process may use");
out:
	hwloc_topology_destroy(topo);
	return st;
}
