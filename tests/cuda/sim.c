/* sim.c - devices, contexts, errors and dice of the simulated CUDA; see sim.h */
#include "sim.h"
#include "base/util.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNKNOWN = 999 };

struct CUctx_st {
	int users;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUctx_st contexts[16];
static _Thread_local CUcontext current;
static bool started;
static int kept;
CUresult sim_failed;

void sim_lock(void)
{
	pthread_mutex_lock(&lock);
}

void sim_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void sim_blame(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "simulated CUDA: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	sim_failed = CUDA_ERROR_ILLEGAL_ADDRESS;
}

int sim_device(void)
{
	return (int)(current - contexts);
}

void sim_keep(int more)
{
	kept += more;
}

unsigned sim_dice(unsigned sides)
{
	static uint64_t state;

	if (!state)
		state = 0x9E3779B97F4A7C15 * (uint64_t)(sim_number("KOLM_SIM_SEED", 1) + 1);
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)((state >> 32) % sides);
}

bool sim_ignores(const char *what)
{
	const char *value = getenv("KOLM_SIM_IGNORE");

	return value && !strcmp(value, what);
}

bool sim_kernel_fails(void)
{
	static int count;
	const char *value = getenv("KOLM_SIM_FAIL");
	const char *at = value ? strchr(value, ':') : NULL;

	const char *where = at ? strchr(at, '@') : NULL;

	if (!at || (strncmp(value, "launch", 6) && strncmp(value, "lost", 4)) ||
	    (where && !contexts[atoi(where + 1)].users) || ++count != atoi(at + 1))
		return false;
	sim_failed = strncmp(value, "lost", 4) ? CUDA_ERROR_ILLEGAL_ADDRESS : UNKNOWN;
	return true;
}

/* ---- devices ---- */

EXPORTED CUresult cuInit(unsigned flags)
{
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	started = true;
	return CUDA_SUCCESS;
}

EXPORTED CUresult cuDriverGetVersion(int *version)
{
	*version = 13000;
	return CUDA_SUCCESS;
}

/* As many as CUDA_VISIBLE_DEVICES names that are there, up to the first that is not. */
EXPORTED CUresult cuDeviceGetCount(int *count)
{
	int all = imin(sim_number("KOLM_SIM_DEVICES", 1), (int)ARRAY_SIZE(contexts));
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");

	if (!started)
		return 3; /* CUDA_ERROR_NOT_INITIALIZED */
	*count = all;
	if (!visible)
		return CUDA_SUCCESS;
	for (*count = 0; *visible && *count < all; (*count)++) {
		char *end;
		long number = strtol(visible, &end, 10);

		if (end == visible || number < 0 || number >= all)
			break;
		visible = *end == ',' ? end + 1 : "";
		if (!*visible) {
			(*count)++;
			break;
		}
	}
	return CUDA_SUCCESS;
}

/* A device is the number that it has without CUDA_VISIBLE_DEVICES. */
EXPORTED CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	int count = 0;

	if (cuDeviceGetCount(&count) != CUDA_SUCCESS || ordinal < 0 || ordinal >= count)
		return CUDA_ERROR_INVALID_DEVICE;
	for (int i = 0; visible && i < ordinal; i++)
		visible = strchr(visible, ',') + 1;
	*device = visible ? atoi(visible) : ordinal;
	return CUDA_SUCCESS;
}

EXPORTED CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
	snprintf(name, (size_t)size, "Simulated CUDA %d over PoCL", device);
	return CUDA_SUCCESS;
}

/* Every process has the same ones, whatever it sees of them. */
EXPORTED CUresult cuDeviceGetUuid_v2(CUuuid *id, CUdevice device)
{
	for (int i = 0; i < 16; i++)
		id->bytes[i] = (char)(16 * i + device);
	return CUDA_SUCCESS;
}

EXPORTED CUresult cuDeviceGetPCIBusId(char *id, int size, CUdevice device)
{
	snprintf(id, (size_t)size, "0000:%02X:00.0", SIM_FIRST_BUS + (unsigned)device);
	return CUDA_SUCCESS;
}

EXPORTED CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
	(void)device;
	*bytes = (size_t)sim_number("KOLM_SIM_MEMORY", 1 << 30);
	return CUDA_SUCCESS;
}

EXPORTED CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute what, CUdevice device)
{
	int architecture = sim_number("KOLM_SIM_ARCH", 90);

	(void)device;
	if (what == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
		*value = 1024;
	else if (what == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)
		*value = 48 << 10;
	else if (what == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
		*value = 4;
	else if (what == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
		*value = architecture / 10;
	else if (what == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
		*value = architecture % 10;
	else
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* ---- contexts ---- */

EXPORTED CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	const char *fail = getenv("KOLM_SIM_FAIL");

	if (fail && !strcmp(fail, "busy"))
		return CUDA_ERROR_DEVICE_UNAVAILABLE;
	contexts[device].users++;
	*context = &contexts[device];
	return CUDA_SUCCESS;
}

/* The last one leaves nothing behind, unless something has failed. */
EXPORTED CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	int users = 0;

	contexts[device].users--;
	for (size_t i = 0; i < ARRAY_SIZE(contexts); i++)
		users += contexts[i].users;
	if (users || sim_failed || (!sim_memory_left() && !sim_queues_left() && !kept))
		return CUDA_SUCCESS;
	fprintf(stderr,
		"simulated CUDA: %d pieces of memory, %d streams and events, %d communicators "
		"are left behind\n",
		sim_memory_left(), sim_queues_left(), kept);
	abort();
}

bool sim_is_open(int device)
{
	return contexts[device].users > 0;
}

EXPORTED CUresult cuCtxSetCurrent(CUcontext context)
{
	current = context;
	return context && context->users > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* ---- errors ---- */

static const struct {
	CUresult code;
	const char *name, *words;
} errors[] = {
	{CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	{CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	{CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE",
	 "CUDA-capable device(s) is/are busy or unavailable"},
	{CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
	{CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
	{CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE",
	 "device kernel image is invalid"},
	{CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	{CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
	{CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	{CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
	{CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
	 "an illegal memory access was encountered"},
	{UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static CUresult find_error(CUresult code, const char **name, const char **words)
{
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		if (errors[i].code == code) {
			*name = errors[i].name;
			*words = errors[i].words;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_VALUE;
}

EXPORTED CUresult cuGetErrorName(CUresult code, const char **name)
{
	const char *words;

	return find_error(code, name, &words);
}

EXPORTED CUresult cuGetErrorString(CUresult code, const char **words)
{
	const char *name;

	return find_error(code, &name, words);
}
