/* nvml_header.c - what kolm declares of NVML is what NVIDIA's header says; compiled where there
   is one, never run. */
#include <nvml.h>

#include "device/gpu/cuda_nvml_api.h"

#define SAME(name, value) _Static_assert((int)name == (value), #name);
NVML_CONSTANTS(SAME)

/* From 13 on the header has a newer call for the temperature; drivers before that do not. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define SAME_NVML(name, symbol, args) nvmlReturn_t(*const same_##symbol) args = symbol;
NVML_FUNCTIONS(SAME_NVML)

_Static_assert(sizeof(nvmlReturn_t) == sizeof(unsigned) &&
		       sizeof(nvmlTemperatureSensors_t) == sizeof(unsigned) &&
		       sizeof(nvmlUtilization_t) == 2 * sizeof(unsigned) &&
		       sizeof(nvmlMemory_t) == 3 * sizeof(unsigned long long),
	       "types of cuda_nvml_api.h");
