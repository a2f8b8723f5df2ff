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
	cl_device device;
	cl_context context;
	cl_queue queues[QUEUE_COUNT];
	struct buffer *buffers; /* in the order of addresses, which are used once */
	int n_buffers, room;
	uintptr_t next;
	cl_program programs[OPENCL_PROGRAMS]; /* to be released, with their kernels */
	cl_kernel kernels[OPENCL_KERNELS];
	int n_programs, n_kernels;
};

/* opencl_build.c */
enum status opencl_build(struct gpu_context *c, const struct gpu_source *source, void **binary,
			 size_t *size, struct gpu_program **out, struct error *err);
enum status opencl_kernel(struct gpu_context *c, struct gpu_program *program, const char *name,
			  struct gpu_kernel **out, struct error *err);

#endif
