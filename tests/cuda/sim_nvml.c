/*
 * sim_nvml.c - NVML for the simulated CUDA. Its figures are those of the simulated device, as
 * far as this process uses it: the bytes that are allocated there, and the share of the time
 * since the last look, if that was a while ago, in which it did something. Degrees and watts
 * say which device it is: 40 + number, and 100 + number.
 */
#include "sim.h"
#include "device/gpu/cuda_nvml_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SIM_NVML(name, symbol, args) nvmlReturn_t symbol args;
NVML_FUNCTIONS(SIM_NVML)

enum { DEVICES = 16, FAILED = 999, LEAST_MS = 50 };

struct nvmlDevice_st {
	double looked, busy; /* ms: when, and how long it had been until then */
	unsigned percent;
};

static struct nvmlDevice_st devices[DEVICES];
static double (*busy_ms)(int);
static uint64_t (*used_bytes)(int);
static int users;

static bool find(void *library, const char *name, void *function)
{
	void *found = dlsym(library, name);

	memcpy(function, &found, sizeof(found));
	return found != NULL;
}

EXPORTED nvmlReturn_t nvmlInit_v2(void)
{
	char path[4096], *slash;
	void *library;
	Dl_info here;

	if (!dladdr(&users, &here))
		return FAILED;
	snprintf(path, sizeof(path) - 16, "%s", here.dli_fname);
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, "libcuda.so.1");
	library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	if (!library || !find(library, "sim_busy_ms", (void *)&busy_ms) ||
	    !find(library, "sim_used_bytes", (void *)&used_bytes))
		return FAILED;
	users++;
	return NVML_SUCCESS;
}

EXPORTED nvmlReturn_t nvmlShutdown(void)
{
	return users-- > 0 ? NVML_SUCCESS : FAILED;
}

EXPORTED nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *bus, nvmlDevice_t *out)
{
	unsigned number;

	if (!users || sscanf(bus, "%*x:%x:00.0", &number) != 1 || number < SIM_FIRST_BUS ||
	    number >= SIM_FIRST_BUS + DEVICES)
		return FAILED;
	*out = &devices[number - SIM_FIRST_BUS];
	return NVML_SUCCESS;
}

static int number_of(nvmlDevice_t device)
{
	return (int)(device - devices);
}

EXPORTED nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *out)
{
	double busy = busy_ms(number_of(device)), now;
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	now = (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
	if (now - device->looked >= LEAST_MS) {
		double share = (busy - device->busy) / (now - device->looked);

		device->percent = share < 1 ? (unsigned)(100 * share) : 100;
		device->looked = now;
		device->busy = busy;
	}
	*out = (nvmlUtilization_t){.gpu = device->percent};
	return NVML_SUCCESS;
}

EXPORTED nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *out)
{
	unsigned long long total = (unsigned)sim_number("KOLM_SIM_MEMORY", 1 << 30);
	unsigned long long used = used_bytes(number_of(device));

	*out = (nvmlMemory_t){.total = total, .free = total - used, .used = used};
	return NVML_SUCCESS;
}

EXPORTED nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device,
					       nvmlTemperatureSensors_t sensor, unsigned *out)
{
	*out = 40 + (unsigned)number_of(device);
	return sensor == NVML_TEMPERATURE_GPU ? NVML_SUCCESS : FAILED;
}

EXPORTED nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned *out)
{
	*out = 1000 * (100 + (unsigned)number_of(device));
	return NVML_SUCCESS;
}
