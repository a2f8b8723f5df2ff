/* collective.h - a collective over memory of the device. */
#ifndef KOLM_MODEL_COLLECTIVE_H
#define KOLM_MODEL_COLLECTIVE_H

#include "comm/comm.h"
#include "device/device.h"

/* One that may be under way. The caller's; not moved or reused before its end. */
struct collective {
	bool under_way;
	struct comm_request request;
	struct device *dev;
	void *data;
	size_t bytes;
	/* The devices do it by themselves: when it is over. Otherwise the request is. */
	bool is_beside;
	struct device_event over;
};

/* The devices of all ranks as they show themselves, in memory of the world's: by all of them.
 */
enum status collective_introduce(struct device *dev, struct comm *world,
				 struct device_card **cards, struct error *err);
/* Join the devices of a group, by all members; NULL, and why, where they can't be. */
enum status collective_join(struct device *dev, struct comm *world, struct comm *group,
			    const struct device_card *cards, enum device_queue queue,
			    struct device_group **out, char *why, size_t size,
			    struct error *err);

/* Over n elements: behind all that was computed so far. What is computed after the end sees the
   result; in between nobody touches the data. The root, if there is one, is the first. */
void collective_begin(struct collective *c, struct device *dev, struct comm *group,
		      enum comm_op op, void *data, size_t n, enum dtype type);
/* Does nothing for one that is not under way. */
enum status collective_end(struct collective *c, struct error *err);
/* Both. */
enum status collective_run(struct device *dev, struct comm *group, enum comm_op op, void *data,
			   size_t n, enum dtype type, struct error *err);

#endif
