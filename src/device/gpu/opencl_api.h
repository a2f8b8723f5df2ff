/*
 * opencl_api.h - the part of OpenCL 1.2 that opencl.c uses, loaded at run time: neither a
 * header nor a library is needed to build. Values and signatures are those of the
 * specification. Only for device/gpu/opencl*.
 */
#ifndef KOLM_DEVICE_GPU_OPENCL_API_H
#define KOLM_DEVICE_GPU_OPENCL_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong;
typedef struct cl_platform *cl_platform;
typedef struct cl_device *cl_device;
typedef struct cl_context *cl_context;
typedef struct cl_queue *cl_queue;
typedef struct cl_mem *cl_mem;
typedef struct cl_program *cl_program;
typedef struct cl_kernel *cl_kernel;
typedef struct cl_event *cl_event;
typedef void cl_notify(const char *what, const void *data, size_t size, void *arg);

enum {
	CL_SUCCESS = 0,
	CL_COMPLETE = 0,
	CL_TRUE = 1,
	CL_DEVICE_TYPE_CPU = 1 << 1,
	CL_MEM_READ_WRITE = 1 << 0,
	CL_QUEUE_PROFILING_ENABLE = 1 << 1,
	CL_PLATFORM_NAME = 0x0902,
	CL_DEVICE_TYPE = 0x1000,
	CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
	CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
	CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
	CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
	CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
	CL_DEVICE_AVAILABLE = 0x1027,
	CL_DEVICE_NAME = 0x102B,
	CL_DRIVER_VERSION = 0x102D,
	CL_DEVICE_DOUBLE_FP_CONFIG = 0x1032,
	CL_PROGRAM_BINARY_SIZES = 0x1165,
	CL_PROGRAM_BINARIES = 0x1166,
	CL_PROGRAM_BUILD_LOG = 0x1183,
	CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11D3,
	CL_PROFILING_COMMAND_END = 0x1283,
	CL_KERNEL_WORK_GROUP_SIZE = 0x11B0,
	CL_KERNEL_LOCAL_MEM_SIZE = 0x11B2,
};
static const cl_ulong CL_DEVICE_TYPE_ALL = 0xFFFFFFFF;

/* What is called, and how. */
#define OPENCL_FUNCTIONS(X)                                                                    \
	X(GetPlatformIDs, (cl_uint, cl_platform *, cl_uint *))                                 \
	X(GetPlatformInfo, (cl_platform, cl_uint, size_t, void *, size_t *))                   \
	X(GetDeviceIDs, (cl_platform, cl_ulong, cl_uint, cl_device *, cl_uint *))              \
	X(GetDeviceInfo, (cl_device, cl_uint, size_t, void *, size_t *))                       \
	X(ReleaseContext, (cl_context))                                                        \
	X(ReleaseCommandQueue, (cl_queue))                                                     \
	X(ReleaseMemObject, (cl_mem))                                                          \
	X(BuildProgram, (cl_program, cl_uint, const cl_device *, const char *,                 \
			 void (*)(cl_program, void *), void *))                                \
	X(GetProgramBuildInfo, (cl_program, cl_device, cl_uint, size_t, void *, size_t *))     \
	X(GetProgramInfo, (cl_program, cl_uint, size_t, void *, size_t *))                     \
	X(ReleaseProgram, (cl_program))                                                        \
	X(ReleaseKernel, (cl_kernel))                                                          \
	X(SetKernelArg, (cl_kernel, cl_uint, size_t, const void *))                            \
	X(GetKernelWorkGroupInfo, (cl_kernel, cl_device, cl_uint, size_t, void *, size_t *))   \
	X(EnqueueNDRangeKernel, (cl_queue, cl_kernel, cl_uint, const size_t *, const size_t *, \
				 const size_t *, cl_uint, const cl_event *, cl_event *))       \
	X(EnqueueReadBuffer, (cl_queue, cl_mem, cl_uint, size_t, size_t, void *, cl_uint,      \
			      const cl_event *, cl_event *))                                   \
	X(EnqueueWriteBuffer, (cl_queue, cl_mem, cl_uint, size_t, size_t, const void *,        \
			       cl_uint, const cl_event *, cl_event *))                         \
	X(EnqueueFillBuffer, (cl_queue, cl_mem, const void *, size_t, size_t, size_t, cl_uint, \
			      const cl_event *, cl_event *))                                   \
	X(EnqueueMarkerWithWaitList, (cl_queue, cl_uint, const cl_event *, cl_event *))        \
	X(EnqueueBarrierWithWaitList, (cl_queue, cl_uint, const cl_event *, cl_event *))       \
	X(WaitForEvents, (cl_uint, const cl_event *))                                          \
	X(GetEventInfo, (cl_event, cl_uint, size_t, void *, size_t *))                         \
	X(GetEventProfilingInfo, (cl_event, cl_uint, size_t, void *, size_t *))                \
	X(ReleaseEvent, (cl_event))                                                            \
	X(Flush, (cl_queue))                                                                   \
	X(Finish, (cl_queue))

/* Those that make something and say last whether they could. */
#define OPENCL_MAKERS(X)                                                                   \
	X(cl_context, CreateContext,                                                       \
	  (const intptr_t *, cl_uint, const cl_device *, cl_notify *, void *, cl_int *))   \
	X(cl_queue, CreateCommandQueue, (cl_context, cl_device, cl_ulong, cl_int *))       \
	X(cl_mem, CreateBuffer, (cl_context, cl_ulong, size_t, void *, cl_int *))          \
	X(cl_program, CreateProgramWithSource,                                             \
	  (cl_context, cl_uint, const char **, const size_t *, cl_int *))                  \
	X(cl_program, CreateProgramWithBinary,                                             \
	  (cl_context, cl_uint, const cl_device *, const size_t *, const unsigned char **, \
	   cl_int *, cl_int *))                                                            \
	X(cl_kernel, CreateKernel, (cl_program, const char *, cl_int *))

struct opencl_api {
#define FUNCTION(name, arguments)    cl_int(*name) arguments;
#define MAKER(type, name, arguments) type(*name) arguments;
	OPENCL_FUNCTIONS(FUNCTION)
	OPENCL_MAKERS(MAKER)
#undef FUNCTION
#undef MAKER
};

/* The library of this machine, loaded once; NULL, and why, where there is none. */
const struct opencl_api *opencl_load(char *why, size_t size);

/* What a failure is called. */
const char *opencl_error(cl_int code);

#endif
