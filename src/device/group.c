/* group.c - devices of several ranks that reach each other without the host; see device.h */
#include "device/impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void device_introduce(struct device *dev, struct device_card *card)
{
	*card = (struct device_card){0};
	if (dev->ops->introduce)
		dev->ops->introduce(dev, card);
	else
		snprintf(card->why, sizeof(card->why), "only CUDA has NCCL");
}

void device_compare(struct device_card *cards, int n)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; k < n && !*cards[i].why; k++)
			if (k != i && *cards[k].through &&
			    !memcmp(cards[i].device, cards[k].device, sizeof(cards[i].device)))
				snprintf(cards[i].why, sizeof(cards[i].why),
					 "ranks share a GPU");
}

bool device_may_join(const struct device_card *const *cards, int n, char *why, size_t size)
{
	for (int i = 0; i < n; i++) {
		if (*cards[i]->why) {
			snprintf(why, size, "%s", cards[i]->why);
			return false;
		}
		if (strcmp(cards[i]->through, cards[0]->through) != 0) {
			snprintf(why, size, "%s here, %s there", cards[0]->through,
				 cards[i]->through);
			return false;
		}
	}
	return true;
}

enum status device_found(struct device *dev, struct device_ticket *ticket, struct error *err)
{
	return dev->ops->found(dev, ticket, err);
}

enum status device_join(struct device *dev, const struct device_ticket *ticket, int size,
			int rank, enum device_queue queue, struct device_group **out,
			struct error *err)
{
	struct device_group *g = calloc(1, sizeof(*g));
	enum status st;

	if (!g)
		return FAIL(err, ERR_MEMORY, "no memory for a group of devices");
	g->dev = dev;
	g->queue = queue;
	TRY(dev->ops->join(g, ticket, size, rank, err));
	*out = g;
	g = NULL; /* the caller's now */
out:
	free(g);
	return st;
}

void device_leave(struct device_group *g, bool failed)
{
	if (!g)
		return;
	g->dev->ops->leave(g, failed);
	free(g);
}

struct device_event device_exchange(struct device_group *g, const struct device_exchange *x,
				    int64_t stamps[2])
{
	bool observed = device_has_stamps(g->dev);

	device_await(g->dev, g->queue, device_mark(g->dev, QUEUE_COMPUTE));
	stamps[0] = observed ? device_stamp(g->dev, g->queue) : 0;
	g->dev->ops->exchange(g, x);
	stamps[1] = observed ? device_stamp(g->dev, g->queue) : 0;
	return device_mark(g->dev, g->queue);
}
