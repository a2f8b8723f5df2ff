/* opencl_load.c - the loader library of OpenCL, found when it is wanted; see opencl_api.h */
#include "device/gpu/opencl_api.h"
#include "base/util.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static bool find(void *library, const char *name, void *function)
{
	void *found = dlsym(library, name);

	memcpy(function, &found, sizeof(found));
	return found != NULL;
}

const struct opencl_api *opencl_load(char *why, size_t size)
{
	static struct opencl_api api;
	static void *library; /* stays: drivers leave threads behind */
	const char *missing = NULL;

	if (library)
		return &api;
	library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		snprintf(why, size, "there is no libOpenCL.so.1 (Debian: ocl-icd-libopencl1)");
		return NULL;
	}
#define FUNCTION(name, ...)                                \
	if (!find(library, "cl" #name, (void *)&api.name)) \
		missing = "cl" #name;
#define MAKER(type, name, ...) FUNCTION(name)
	OPENCL_FUNCTIONS(FUNCTION)
	OPENCL_MAKERS(MAKER)
#undef FUNCTION
#undef MAKER
	if (!missing)
		return &api;
	snprintf(why, size, "libOpenCL.so.1 has no %s: it is older than OpenCL 1.2", missing);
	dlclose(library);
	library = NULL;
	return NULL;
}

const char *opencl_error(cl_int code)
{
	static const struct {
		cl_int code;
		const char *name;
	} known[] = {
		{-1, "no device found"},
		{-2, "the device is not available"},
		{-3, "the driver has no compiler"},
		{-4, "no room for a memory object"},
		{-5, "the device is out of resources"},
		{-6, "the host is out of memory"},
		{-11, "the program does not build"},
		{-14, "a command that was waited for has failed"},
		{-36, "invalid command queue"},
		{-38, "invalid memory object"},
		{-45, "invalid program"},
		{-46, "invalid kernel name"},
		{-48, "invalid kernel"},
		{-49, "invalid argument number"},
		{-50, "invalid argument value"},
		{-51, "invalid argument size"},
		{-52, "missing kernel arguments"},
		{-54, "invalid size of a group"},
		{-58, "invalid event"},
		{-61, "invalid size of a buffer"},
		{-1001, "no driver is installed (Debian: pocl-opencl-icd for the CPU)"},
	};
	static _Thread_local char text[32];

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].code == code)
			return known[i].name;
	snprintf(text, sizeof(text), "error %d", code);
	return text;
}
