/* groups.c - the groups of ranks that an engine talks to; see impl.h */
#include "engine/impl.h"

#include <stdlib.h>

/* On a virtual device, what moves its data goes over its links; the world stays as it is for
   what the ranks tell each other. */
static enum status open_links(struct engine *e, int *ranks, struct error *err)
{
	const struct links *links = device_links(e->dev);
	enum status st;

	for (int i = 0; i < e->ranks; i++)
		ranks[i] = i;
	TRY(comm_create(&e->pipe, e->options.world, COMM_FOR_PIPELINE, ranks, e->ranks, err));
	TRY(comm_use_links(e->pipe, links, err));
	if (e->holders)
		TRY(comm_use_links(e->holders, links, err));
	if (e->replicas)
		TRY(comm_use_links(e->replicas, links, err));
	if (e->slices)
		TRY(comm_use_links(e->slices, links, err));
out:
	return st;
}

/* The stage that has a layer. */
static int stage_of(const struct engine *e, int layer)
{
	int part = partition_part_of(e->options.partition, layer);

	return schedule_place(e->options.schedule, part).stage;
}

bool engine_holders(const struct engine *e, int stages[2])
{
	const struct model *m = e->options.model;

	if (!m->n_ties)
		return false;
	stages[0] = stage_of(e, m->tensors[m->ties[0].tensor].layer);
	stages[1] = stage_of(e, m->ties[0].layer);
	return stages[0] != stages[1];
}

static enum status open_holders(struct engine *e, struct error *err)
{
	struct coords at = e->at;
	int ranks[2], stages[2];
	bool member;

	if (!engine_holders(e, stages))
		return OK;
	for (int i = 0; i < 2; i++) {
		at.pp = stages[i];
		ranks[i] = grid_rank(&e->options.grid, at);
	}
	member = e->at.pp == stages[0] || e->at.pp == stages[1];
	return comm_create(&e->holders, e->options.world, COMM_FOR_PIPELINE, ranks,
			   member ? 2 : 0, err);
}

/* The groups that this rank talks to. Every rank makes the same calls. */
enum status engine_open_groups(struct engine *e, struct error *err)
{
	const struct grid *grid = &e->options.grid;
	struct comm *world = e->options.world;
	int *ranks = calloc((size_t)e->ranks, sizeof(int));
	enum status st = OK;

	if (!ranks)
		return FAIL(err, ERR_MEMORY, "no memory for the groups of %d ranks", e->ranks);
	if (grid->dp > 1)
		TRY(comm_create(&e->replicas, world, COMM_FOR_REPLICAS, ranks,
				grid_group(grid, e->number, GRID_DP, ranks), err));
	if (grid->mp > 1)
		TRY(comm_create(&e->slices, world, COMM_FOR_SLICES, ranks,
				grid_group(grid, e->number, GRID_MP, ranks), err));
	TRY(open_holders(e, err));
	if (e->options.as_if_dp && e->replicas)
		comm_set_order(e->replicas, COMM_IN_TREE);
	if (e->options.as_if_dp && e->slices)
		comm_set_order(e->slices, COMM_IN_TREE);
	e->pipe = world;
	if (device_is_virtual(e->dev))
		TRY(open_links(e, ranks, err));
	else if (e->ranks > 1)
		TRY(engine_join_devices(e, err));
out:
	free(ranks);
	return st;
}
