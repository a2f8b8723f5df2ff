/*
 * fail_opencl.c - an OpenCL that fails: in front of the true one, a copy of which is beside it
 * under another name, it gives up at the N-th reading of memory, with KOLM_FAIL_READ=N. That is
 * where drivers say that a kernel has failed before.
 */
#include "device/gpu/opencl_api.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { OUT_OF_RESOURCES = -5 };

cl_int clEnqueueReadBuffer(cl_queue, cl_mem, cl_uint, size_t, size_t, void *, cl_uint,
			   const cl_event *, cl_event *);

__attribute__((visibility("default"))) cl_int
clEnqueueReadBuffer(cl_queue queue, cl_mem memory, cl_uint blocking, size_t at, size_t bytes,
		    void *host, cl_uint n, const cl_event *events, cl_event *event)
{
	static _Atomic int count;
	const char *last = getenv("KOLM_FAIL_READ");
	void *found = dlsym(RTLD_NEXT, "clEnqueueReadBuffer");
	cl_int (*next)(cl_queue, cl_mem, cl_uint, size_t, size_t, void *, cl_uint,
		       const cl_event *, cl_event *);

	if (last && ++count >= atoi(last))
		return OUT_OF_RESOURCES;
	memcpy(&next, &found, sizeof(next));
	return next(queue, memory, blocking, at, bytes, host, n, events, event);
}
