/* opencl.h - an open OpenCL device, between the files of its driver. Only for
   device/gpu/opencl*. */
#ifndef KOLM_DEVICE_GPU_OPENCL_H
#define KOLM_DEVICE_GPU_OPENCL_H

#include "device/gpu/driver.h"
#include "device/gpu/opencl_api.h"

enum { OPENCL_PROGRAMS = 64, OPENCL_KERNELS = 256 };

struct buffer {
	uintptr_t begin, end; /* addresses */
	cl_mem memory;
};

struct gpu_context {
	const struct opencl_api *cl;
	int number;
	cl_device device;
	cl_context context;
	cl_queue queues[QUEUE_HOST_COUNT];
	struct buffer *buffers; /* in the order of addresses, which are used once */
	int n_buffers, room;
	uintptr_t next;
	cl_program programs[OPENCL_PROGRAMS]; /* to be released, with their kernels */
	cl_kernel kernels[OPENCL_KERNELS];
	int n_programs, n_kernels;
	cl_event *stamps; /* (n_stamps) or NULL */
	int n_stamps;
};

/* opencl.c: whatever fails once a device is open ends the process; where an address is. */
void opencl_check(const struct gpu_context *c, cl_int code, const char *what);
struct buffer *opencl_buffer(struct gpu_context *c, const void *address);

/* opencl_queue.c */
struct gpu_event *opencl_mark(struct gpu_context *c, enum device_queue queue);
void opencl_await(struct gpu_context *c, enum device_queue queue, struct gpu_event *event);
void opencl_wait(struct gpu_context *c, struct gpu_event *event);
void opencl_release(struct gpu_context *c, struct gpu_event *event);
struct gpu_event *opencl_fetch(struct gpu_context *c, enum device_queue queue, void *host,
			       const void *address, uint64_t bytes);
bool opencl_taken(struct gpu_context *c, enum device_queue queue, struct gpu_event *event,
		  bool wait);
enum status opencl_make_stamps(struct gpu_context *c, int n, struct error *err);
void opencl_stamp(struct gpu_context *c, enum device_queue queue, int stamp);
int64_t opencl_between(struct gpu_context *c, int from, int to);

/* opencl_build.c */
enum status opencl_build(struct gpu_context *c, const struct gpu_source *source, void **binary,
			 size_t *size, struct gpu_program **out, struct error *err);
enum status opencl_kernel(struct gpu_context *c, struct gpu_program *program, const char *name,
			  struct gpu_kernel **out, struct error *err);

#endif
