/*
 * cuda_api.h - the part of the CUDA driver API and of NVRTC that cuda.c uses, loaded at run
 * time: neither a header nor a library is needed to build. Where NVIDIA's headers are,
 * tests/cuda/headers.c includes them before this file and compares every line. Only for
 * device/gpu/cuda*.
 */
#ifndef KOLM_DEVICE_GPU_CUDA_API_H
#define KOLM_DEVICE_GPU_CUDA_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef CUDA_VERSION
typedef unsigned CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef unsigned CUdevice_attribute;
typedef unsigned CUfunction_attribute;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct {
	char bytes[16];
} CUuuid;
typedef unsigned nvrtcResult;
typedef struct _nvrtcProgram *nvrtcProgram;
#endif

#define CUDA_CONSTANTS(X)                                     \
	X(CUDA_SUCCESS, 0)                                    \
	X(CUDA_ERROR_INVALID_VALUE, 1)                        \
	X(CUDA_ERROR_OUT_OF_MEMORY, 2)                        \
	X(CUDA_ERROR_NO_DEVICE, 100)                          \
	X(CUDA_ERROR_INVALID_DEVICE, 101)                     \
	X(CUDA_ERROR_INVALID_IMAGE, 200)                      \
	X(CUDA_ERROR_INVALID_CONTEXT, 201)                    \
	X(CUDA_ERROR_INVALID_HANDLE, 400)                     \
	X(CUDA_ERROR_NOT_FOUND, 500)                          \
	X(CUDA_ERROR_NOT_READY, 600)                          \
	X(CUDA_ERROR_ILLEGAL_ADDRESS, 700)                    \
	X(CUDA_ERROR_LAUNCH_FAILED, 719)                      \
	X(CUDA_ERROR_DEVICE_UNAVAILABLE, 46)                  \
	X(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1)       \
	X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 8) \
	X(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)       \
	X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)   \
	X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)   \
	X(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1)             \
	X(CU_STREAM_NON_BLOCKING, 1)                          \
	X(CU_EVENT_DEFAULT, 0)                                \
	X(CU_EVENT_DISABLE_TIMING, 2)                         \
	X(NVRTC_SUCCESS, 0)

#ifndef CUDA_VERSION
#define CONSTANT(name, value) name = value,
enum { CUDA_CONSTANTS(CONSTANT) };
#undef CONSTANT
#endif

/* What is called, under which symbol, and how. */
#define CUDA_FUNCTIONS(X)                                                                    \
	X(Init, cuInit, (unsigned))                                                          \
	X(DriverGetVersion, cuDriverGetVersion, (int *))                                     \
	X(GetErrorName, cuGetErrorName, (CUresult, const char **))                           \
	X(GetErrorString, cuGetErrorString, (CUresult, const char **))                       \
	X(DeviceGetCount, cuDeviceGetCount, (int *))                                         \
	X(DeviceGet, cuDeviceGet, (CUdevice *, int))                                         \
	X(DeviceGetName, cuDeviceGetName, (char *, int, CUdevice))                           \
	X(DeviceGetPCIBusId, cuDeviceGetPCIBusId, (char *, int, CUdevice))                   \
	X(DeviceTotalMem, cuDeviceTotalMem_v2, (size_t *, CUdevice))                         \
	X(DeviceGetUuid, cuDeviceGetUuid_v2, (CUuuid *, CUdevice))                           \
	X(DeviceGetAttribute, cuDeviceGetAttribute, (int *, CUdevice_attribute, CUdevice))   \
	X(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))         \
	X(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (CUdevice))                 \
	X(CtxSetCurrent, cuCtxSetCurrent, (CUcontext))                                       \
	X(MemAlloc, cuMemAlloc_v2, (CUdeviceptr *, size_t))                                  \
	X(MemFree, cuMemFree_v2, (CUdeviceptr))                                              \
	X(MemAllocHost, cuMemAllocHost_v2, (void **, size_t))                                \
	X(MemFreeHost, cuMemFreeHost, (void *))                                              \
	X(MemsetD8Async, cuMemsetD8Async, (CUdeviceptr, unsigned char, size_t, CUstream))    \
	X(MemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                             \
	  (CUdeviceptr, const void *, size_t, CUstream))                                     \
	X(MemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void *, CUdeviceptr, size_t, CUstream))    \
	X(StreamCreate, cuStreamCreate, (CUstream *, unsigned))                              \
	X(StreamDestroy, cuStreamDestroy_v2, (CUstream))                                     \
	X(StreamSynchronize, cuStreamSynchronize, (CUstream))                                \
	X(StreamWaitEvent, cuStreamWaitEvent, (CUstream, CUevent, unsigned))                 \
	X(EventCreate, cuEventCreate, (CUevent *, unsigned))                                 \
	X(EventDestroy, cuEventDestroy_v2, (CUevent))                                        \
	X(EventRecord, cuEventRecord, (CUevent, CUstream))                                   \
	X(EventSynchronize, cuEventSynchronize, (CUevent))                                   \
	X(EventQuery, cuEventQuery, (CUevent))                                               \
	X(EventElapsedTime, cuEventElapsedTime, (float *, CUevent, CUevent))                 \
	X(ModuleLoadData, cuModuleLoadData, (CUmodule *, const void *))                      \
	X(ModuleUnload, cuModuleUnload, (CUmodule))                                          \
	X(ModuleGetFunction, cuModuleGetFunction, (CUfunction *, CUmodule, const char *))    \
	X(FuncGetAttribute, cuFuncGetAttribute, (int *, CUfunction_attribute, CUfunction))   \
	X(LaunchKernel, cuLaunchKernel,                                                      \
	  (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
	   CUstream, void **, void **))

#define NVRTC_FUNCTIONS(X)                                                               \
	X(GetNumSupportedArchs, nvrtcGetNumSupportedArchs, (int *))                      \
	X(GetSupportedArchs, nvrtcGetSupportedArchs, (int *))                            \
	X(CreateProgram, nvrtcCreateProgram,                                             \
	  (nvrtcProgram *, const char *, const char *, int, const char *const *,         \
	   const char *const *))                                                         \
	X(DestroyProgram, nvrtcDestroyProgram, (nvrtcProgram *))                         \
	X(CompileProgram, nvrtcCompileProgram, (nvrtcProgram, int, const char *const *)) \
	X(GetPTXSize, nvrtcGetPTXSize, (nvrtcProgram, size_t *))                         \
	X(GetPTX, nvrtcGetPTX, (nvrtcProgram, char *))                                   \
	X(GetCUBINSize, nvrtcGetCUBINSize, (nvrtcProgram, size_t *))                     \
	X(GetCUBIN, nvrtcGetCUBIN, (nvrtcProgram, char *))                               \
	X(GetProgramLogSize, nvrtcGetProgramLogSize, (nvrtcProgram, size_t *))           \
	X(GetProgramLog, nvrtcGetProgramLog, (nvrtcProgram, char *))

#define CUDA_MEMBER(name, symbol, args)	 CUresult(*name) args;
#define NVRTC_MEMBER(name, symbol, args) nvrtcResult(*name) args;
struct cuda_api {
	CUDA_FUNCTIONS(CUDA_MEMBER)
};
struct nvrtc_api {
	NVRTC_FUNCTIONS(NVRTC_MEMBER)
};
#undef CUDA_MEMBER
#undef NVRTC_MEMBER

/* The libraries of this machine, loaded once; NULL, and why, where there is none. From the
   folder KOLM_CUDA_LIBRARY alone if that is set. */
const struct cuda_api *cuda_load(char *why, size_t size);
const struct nvrtc_api *cuda_load_nvrtc(char *why, size_t size);
/* One of the driver's own libraries. */
void *cuda_open_driver(const char *name);
/* A library of CUDA's toolkit: that name ("libnvrtc.so") with a version behind it or none. */
void *cuda_open_library(const char *name);
/* The same of one version of it (".2"). */
void *cuda_open_version(const char *name, const char *version);
/* Put the address of a symbol there, if the library has it. */
bool cuda_find(void *library, const char *name, void *function);

/* What a failure is called. */
const char *cuda_error(CUresult code);

#endif
