/* topology.c - see topology.h */
#include "device/cpu/topology.h"
#include "base/util.h"
#include "device/device.h"

#include <hwloc.h>
#include <sched.h>

/* The first hardware thread of an object that this process may run on, or -1. */
static int first_allowed(hwloc_obj_t obj, const cpu_set_t *allowed)
{
	int cpu;

	hwloc_bitmap_foreach_begin(cpu, obj->cpuset)
	{
		if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, allowed))
			return cpu;
	}
	hwloc_bitmap_foreach_end();
	return -1;
}

static void collect(struct topology *t, hwloc_topology_t topo, hwloc_obj_type_t type,
		    const cpu_set_t *allowed)
{
	hwloc_obj_t obj = NULL;

	while (t->cores < TOPOLOGY_MAX_CORES &&
	       (obj = hwloc_get_next_obj_by_type(topo, type, obj))) {
		int cpu = first_allowed(obj, allowed);

		if (cpu >= 0)
			t->cpu[t->cores++] = cpu;
	}
}

enum status topology_init(struct topology *t, struct error *err)
{
	enum status st = OK;
	hwloc_topology_t topo;
	cpu_set_t allowed;

	t->cores = 0;
	/* What taskset, a batch system or mpirun has given us is all that we take. */
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return FAIL(err, ERR_FAILED, "can't ask which cores this process may use");
	if (hwloc_topology_init(&topo))
		return FAIL(err, ERR_FAILED, "hwloc can't start");
	if (hwloc_topology_load(topo)) {
		st = FAIL(err, ERR_FAILED, "hwloc can't read this machine's topology");
		goto out;
	}
	collect(t, topo, HWLOC_OBJ_CORE, &allowed);
	if (!t->cores) /* some virtual machines show processing units but no cores */
		collect(t, topo, HWLOC_OBJ_PU, &allowed);
	if (!t->cores)
		st = FAIL(err, ERR_FAILED, "hwloc found no core that this process may use");
out:
	hwloc_topology_destroy(topo);
	return st;
}

int device_take_cores(int part, int parts)
{
	struct topology t;
	cpu_set_t mine;
	int begin, end;

	if (topology_init(&t, NULL) != OK)
		return 1;
	begin = (int)part_begin(t.cores, part, parts);
	end = (int)part_begin(t.cores, part + 1, parts);
	CPU_ZERO(&mine);
	for (int i = begin; i < end; i++)
		CPU_SET((size_t)t.cpu[i], &mine);
	if (begin == end || sched_setaffinity(0, sizeof(mine), &mine))
		return imax(1, t.cores / parts);
	return end - begin;
}
