/* collective.h - a collective over memory of the device. */
#ifndef KOLM_MODEL_COLLECTIVE_H
#define KOLM_MODEL_COLLECTIVE_H

#include "comm/comm.h"
#include "device/device.h"

/* Over n elements: behind all that was computed so far, and what is computed next sees the
   result. */
enum status collective_run(struct device *dev, struct comm *group, enum comm_op op, void *data,
			   size_t n, enum dtype type, struct error *err);

#endif
