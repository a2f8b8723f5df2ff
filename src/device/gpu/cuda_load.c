/* cuda_load.c - the libraries of CUDA, found when they are wanted; see cuda_api.h */
#include "device/gpu/cuda_api.h"
#include "base/util.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool cuda_find(void *library, const char *name, void *function)
{
	void *found = dlsym(library, name);

	memcpy(function, &found, sizeof(found));
	return found != NULL;
}

static void *open_in(const char *folder, const char *below, const char *name,
		     const char *version)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s%s%s%s%s", folder, below, *folder ? "/" : "",
			 name, version);

	return n < (int)sizeof(path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

/* The folder that all libraries are to be taken from, or NULL. */
static const char *own_folder(void)
{
	const char *folder = getenv("KOLM_CUDA_LIBRARY");

	return folder && *folder ? folder : NULL;
}

/* The first version that there is: where libraries are, then where toolkits are. */
static void *open_first(const char *name, const char *const *versions, size_t n)
{
	static const char *const below[] = {"/lib64", "/lib"};
	const char *folders[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
	void *library = NULL;

	if (own_folder())
		return open_in(own_folder(), "", name, versions[n - 1]);
	for (size_t v = 0; v < n && !library; v++)
		library = open_in("", "", name, versions[v]);
	for (size_t f = 0; f < ARRAY_SIZE(folders); f++)
		for (size_t b = 0; b < ARRAY_SIZE(below); b++)
			for (size_t v = 0; v < n; v++)
				if (!library && folders[f] && *folders[f])
					library = open_in(folders[f], below[b], name,
							  versions[v]);
	return library;
}

void *cuda_open_library(const char *name)
{
	static const char *const newest_first[] = {".13", ".12", ".11.2", ".11", ""};

	return open_first(name, newest_first, ARRAY_SIZE(newest_first));
}

void *cuda_open_version(const char *name, const char *version)
{
	return open_first(name, &version, 1);
}

void *cuda_open_driver(const char *name)
{
	return open_in(own_folder() ? own_folder() : "", "", name, "");
}

#define FIND(name, symbol, ...)                              \
	if (!cuda_find(library, #symbol, (void *)&api.name)) \
		missing = #symbol;

const struct cuda_api *cuda_load(char *why, size_t size)
{
	static struct cuda_api api;
	static void *library; /* stays: drivers leave threads behind */
	const char *missing = NULL;

	if (library)
		return &api;
	library = cuda_open_driver("libcuda.so.1");
	if (!library) {
		snprintf(why, size, "there is no libcuda.so.1, NVIDIA's driver%s%s",
			 own_folder() ? ", in " : "", own_folder() ? own_folder() : "");
		return NULL;
	}
	CUDA_FUNCTIONS(FIND)
	if (!missing)
		return &api;
	snprintf(why, size, "libcuda.so.1 has no %s: the driver is too old", missing);
	dlclose(library);
	library = NULL;
	return NULL;
}

const struct nvrtc_api *cuda_load_nvrtc(char *why, size_t size)
{
	static struct nvrtc_api api;
	static void *library;
	const char *missing = NULL;

	if (library)
		return &api;
	library = cuda_open_library("libnvrtc.so");
	if (!library) {
		snprintf(why, size,
			 "there is no libnvrtc.so, which compiles kernels; it is in "
			 "the CUDA toolkit (LD_LIBRARY_PATH or CUDA_HOME says where)");
		return NULL;
	}
	NVRTC_FUNCTIONS(FIND)
	if (!missing)
		return &api;
	snprintf(why, size, "libnvrtc.so has no %s: CUDA 11.2 or later is wanted", missing);
	dlclose(library);
	library = NULL;
	return NULL;
}

const char *cuda_error(CUresult code)
{
	static _Thread_local char text[160];
	char why[16];
	const struct cuda_api *cu = cuda_load(why, sizeof(why));
	const char *name = NULL, *words = NULL;

	if (!cu || cu->GetErrorName(code, &name) != CUDA_SUCCESS || !name ||
	    cu->GetErrorString(code, &words) != CUDA_SUCCESS || !words)
		snprintf(text, sizeof(text), "error %u", code);
	else
		snprintf(text, sizeof(text), "%.100s (%.50s)", words, name);
	return text;
}
