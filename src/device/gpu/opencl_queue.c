/* opencl_queue.c - what is put into queues of OpenCL beside kernels and copies that the host
   waits for: events, fetches, stamps; see driver.h */
#include "device/gpu/opencl.h"

#include <stdlib.h>

struct gpu_event *opencl_mark(struct gpu_context *c, enum device_queue queue)
{
	cl_event event;

	opencl_check(c, c->cl->EnqueueMarkerWithWaitList(c->queues[queue], 0, NULL, &event),
		     "marking a queue");
	/* Who waits for it in another queue must not wait for a queue that was not started. */
	opencl_check(c, c->cl->Flush(c->queues[queue]), "starting a queue");
	return (struct gpu_event *)event;
}

void opencl_await(struct gpu_context *c, enum device_queue queue, struct gpu_event *event)
{
	cl_event behind = (cl_event)event;

	opencl_check(c, c->cl->EnqueueBarrierWithWaitList(c->queues[queue], 1, &behind, NULL),
		     "ordering queues");
}

void opencl_wait(struct gpu_context *c, struct gpu_event *event)
{
	cl_event of = (cl_event)event;

	opencl_check(c, c->cl->WaitForEvents(1, &of), "waiting for an event");
}

void opencl_release(struct gpu_context *c, struct gpu_event *event)
{
	c->cl->ReleaseEvent((cl_event)event);
}

/* ---- fetches ---- */

struct gpu_event *opencl_fetch(struct gpu_context *c, enum device_queue queue, void *host,
			       const void *address, uint64_t bytes)
{
	const struct buffer *b = opencl_buffer(c, address);
	cl_event event = NULL;

	opencl_check(c,
		     c->cl->EnqueueReadBuffer(c->queues[queue], b->memory, 0,
					      (uintptr_t)address - b->begin, bytes, host, 0,
					      NULL, &event),
		     "reading memory");
	opencl_check(c, c->cl->Flush(c->queues[queue]), "starting a queue");
	return (struct gpu_event *)event;
}

bool opencl_taken(struct gpu_context *c, enum device_queue queue, struct gpu_event *event,
		  bool wait)
{
	cl_int left = CL_COMPLETE;

	(void)queue;
	if (wait)
		opencl_wait(c, event);
	else
		opencl_check(c,
			     c->cl->GetEventInfo((cl_event)event,
						 CL_EVENT_COMMAND_EXECUTION_STATUS,
						 sizeof(left), &left, NULL),
			     "asking for an event");
	opencl_check(c, left < CL_COMPLETE ? left : CL_SUCCESS, "reading memory");
	return left == CL_COMPLETE;
}

/* ---- time ---- */

enum status opencl_make_stamps(struct gpu_context *c, int n, struct error *err)
{
	cl_event *stamps = realloc(c->stamps, (size_t)n * sizeof(*stamps));

	if (!stamps)
		return FAIL(err, ERR_MEMORY, "no memory for %d stamps of OpenCL", n);
	c->stamps = stamps;
	while (c->n_stamps < n)
		c->stamps[c->n_stamps++] = NULL;
	return OK;
}

void opencl_stamp(struct gpu_context *c, enum device_queue queue, int stamp)
{
	if (c->stamps[stamp])
		c->cl->ReleaseEvent(c->stamps[stamp]);
	opencl_check(
		c,
		c->cl->EnqueueMarkerWithWaitList(c->queues[queue], 0, NULL, &c->stamps[stamp]),
		"marking a queue");
}

static cl_ulong time_of(struct gpu_context *c, int stamp)
{
	cl_ulong ns = 0;

	opencl_check(c, c->cl->WaitForEvents(1, &c->stamps[stamp]), "waiting for an event");
	opencl_check(c,
		     c->cl->GetEventProfilingInfo(c->stamps[stamp], CL_PROFILING_COMMAND_END,
						  sizeof(ns), &ns, NULL),
		     "reading the time of an event");
	return ns;
}

int64_t opencl_between(struct gpu_context *c, int from, int to)
{
	return (int64_t)(time_of(c, to) - time_of(c, from));
}
