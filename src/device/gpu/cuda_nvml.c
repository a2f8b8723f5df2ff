/*
 * cuda_nvml.c - what nvidia-smi shows of a GPU, from the library that it asks too: NVML, if it
 * is there. A device is found by where it is plugged in, since NVML numbers them in its own way
 * and knows nothing of CUDA_VISIBLE_DEVICES.
 */
#include "device/gpu/cuda.h"
#include "device/gpu/cuda_nvml_api.h"

#include <math.h>
#include <stdlib.h>

struct cuda_meter {
	struct nvml_api api;
	nvmlDevice_t device;
};

static bool load(struct nvml_api *api)
{
	void *library = cuda_open_driver("libnvidia-ml.so.1"); /* stays, as the driver's does */
	bool whole = library != NULL;

#define FIND(name, symbol, ...) \
	whole = whole && cuda_find(library, #symbol, (void *)&api->name);
	NVML_FUNCTIONS(FIND)
#undef FIND
	return whole;
}

struct cuda_meter *cuda_meter_open(const char *bus)
{
	struct cuda_meter *m = *bus ? calloc(1, sizeof(*m)) : NULL;

	if (m && load(&m->api) && m->api.Init() == NVML_SUCCESS) {
		if (m->api.DeviceByBus(bus, &m->device) == NVML_SUCCESS)
			return m;
		m->api.Shutdown();
	}
	free(m);
	return NULL;
}

void cuda_meter_close(struct cuda_meter *m)
{
	if (m)
		m->api.Shutdown();
	free(m);
}

bool cuda_measure(struct gpu_context *c, struct device_reading *r)
{
	const struct cuda_meter *m = c->meter;
	nvmlUtilization_t use;
	nvmlMemory_t memory;
	unsigned number;

	*r = (struct device_reading){.busy = NAN, .bytes = NAN, .celsius = NAN, .watts = NAN};
	if (!m)
		return false;
	/* What a GPU does not say, as utilisation in MIG mode, stays unknown. */
	if (m->api.Utilization(m->device, &use) == NVML_SUCCESS)
		r->busy = use.gpu / 100.0;
	if (m->api.MemoryInfo(m->device, &memory) == NVML_SUCCESS)
		r->bytes = (double)memory.used;
	if (m->api.Temperature(m->device, NVML_TEMPERATURE_GPU, &number) == NVML_SUCCESS)
		r->celsius = number;
	if (m->api.PowerUsage(m->device, &number) == NVML_SUCCESS)
		r->watts = number / 1e3;
	return true;
}
