/*
 * cuda_nvml_api.h - the part of NVIDIA's management library that cuda_nvml.c uses, loaded at
 * run time. Where its header is, tests/cuda/nvml_header.c includes it before this file and
 * compares every line. Only for device/gpu/cuda*.
 */
#ifndef KOLM_DEVICE_GPU_CUDA_NVML_API_H
#define KOLM_DEVICE_GPU_CUDA_NVML_API_H

#ifndef NVML_API_VERSION
typedef unsigned nvmlReturn_t;
typedef unsigned nvmlTemperatureSensors_t;
typedef struct nvmlDevice_st *nvmlDevice_t;
typedef struct {
	unsigned gpu, memory; /* percent */
} nvmlUtilization_t;
typedef struct {
	unsigned long long total, free, used; /* bytes */
} nvmlMemory_t;
#endif

#define NVML_CONSTANTS(X)  \
	X(NVML_SUCCESS, 0) \
	X(NVML_TEMPERATURE_GPU, 0)

#ifndef NVML_API_VERSION
#define CONSTANT(name, value) name = value,
enum { NVML_CONSTANTS(CONSTANT) };
#undef CONSTANT
#endif

#define NVML_FUNCTIONS(X)                                                                  \
	X(Init, nvmlInit_v2, (void))                                                       \
	X(Shutdown, nvmlShutdown, (void))                                                  \
	X(DeviceByBus, nvmlDeviceGetHandleByPciBusId_v2, (const char *, nvmlDevice_t *))   \
	X(Utilization, nvmlDeviceGetUtilizationRates, (nvmlDevice_t, nvmlUtilization_t *)) \
	X(MemoryInfo, nvmlDeviceGetMemoryInfo, (nvmlDevice_t, nvmlMemory_t *))             \
	X(Temperature, nvmlDeviceGetTemperature,                                           \
	  (nvmlDevice_t, nvmlTemperatureSensors_t, unsigned *))                            \
	X(PowerUsage, nvmlDeviceGetPowerUsage, (nvmlDevice_t, unsigned *)) /* mW */

#define NVML_MEMBER(name, symbol, args) nvmlReturn_t(*name) args;
struct nvml_api {
	NVML_FUNCTIONS(NVML_MEMBER)
};
#undef NVML_MEMBER

#endif
