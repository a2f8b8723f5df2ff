/* collective.c - see collective.h */
#include "model/collective.h"

enum status collective_run(struct device *dev, struct comm *group, enum comm_op op, void *data,
			   size_t n, enum dtype type, struct error *err)
{
	size_t bytes = n * dtype_size(type);
	void *host;
	enum status st;

	device_await(dev, QUEUE_SEND, device_mark(dev, QUEUE_COMPUTE));
	host = device_host_begin(dev, QUEUE_SEND, data, bytes, HOST_READS_WRITES);
	TRY(comm_run(group, op, host, n, type, 0, err));
	device_host_end(dev, QUEUE_SEND, data, bytes, HOST_READS_WRITES);
	device_await(dev, QUEUE_COMPUTE, device_mark(dev, QUEUE_SEND));
out:
	return st;
}
