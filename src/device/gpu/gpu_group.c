/* gpu_group.c - GPUs of several ranks that reach each other, through their driver. */
#include "device/gpu/gpu.h"

#include <stdio.h>

void gpu_introduce(struct device *dev, struct device_card *card)
{
	const struct gpu *g = gpu_of(dev);

	if (g->driver->groups)
		g->driver->groups->introduce(g->context, card);
	else
		snprintf(card->why, sizeof(card->why), "only CUDA has NCCL");
}

enum status gpu_found(struct device *dev, struct device_ticket *ticket, struct error *err)
{
	const struct gpu *g = gpu_of(dev);

	return g->driver->groups->found(g->context, ticket, err);
}

enum status gpu_join(struct device_group *group, const struct device_ticket *ticket, int size,
		     int rank, struct error *err)
{
	struct gpu *g = gpu_of(group->dev);
	enum status st = g->driver->groups->join(g->context, ticket, size, rank, group->queue,
						 (struct gpu_group **)&group->state, err);

	g->groups += st == OK;
	return st;
}

void gpu_leave(struct device_group *group, bool failed)
{
	struct gpu *g = gpu_of(group->dev);

	g->driver->groups->leave(group->state, failed);
	g->groups--;
}

void gpu_exchange(struct device_group *group, const struct device_exchange *x)
{
	struct gpu *g = gpu_of(group->dev);

	g->driver->groups->exchange(group->state, x);
	g->has_news[group->queue] = true;
}
