/*
 * sim_nvrtc.c - NVRTC for the simulated CUDA: what it gives is the source, for an architecture.
 * Where there is a true NVRTC (KOLM_SIM_NVRTC) that one compiles first, with the same options,
 * and has to succeed.
 */
#include "sim.h"
#include "base/util.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAILED = 6 }; /* NVRTC_ERROR_COMPILATION */

struct _nvrtcProgram {
	nvrtcProgram true_one;
	char *source, *name;
	int architecture;
	bool is_ptx;
};

static struct nvrtc_api rtc;
static bool has_true_one;

static bool start(void)
{
	static bool tried;
	const char *path = getenv("KOLM_SIM_NVRTC");
	void *library;

	if (tried || !path || !*path)
		return has_true_one;
	tried = true;
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "simulated CUDA: no NVRTC: %s\n", dlerror());
		abort();
	}
	has_true_one = true;
#define FIND(member, symbol, ...)                           \
	{                                                   \
		void *found = dlsym(library, #symbol);      \
		memcpy(&rtc.member, &found, sizeof(found)); \
		has_true_one &= found != NULL;              \
	}
	NVRTC_FUNCTIONS(FIND)
#undef FIND
	return has_true_one;
}

static const int known[] = {75, 80, 86, 89, 90, 100, 120};

EXPORTED nvrtcResult nvrtcGetNumSupportedArchs(int *count)
{
	*count = (int)ARRAY_SIZE(known);
	return NVRTC_SUCCESS;
}

EXPORTED nvrtcResult nvrtcGetSupportedArchs(int *out)
{
	memcpy(out, known, sizeof(known));
	return NVRTC_SUCCESS;
}

EXPORTED nvrtcResult nvrtcCreateProgram(nvrtcProgram *out, const char *source, const char *name,
					int headers, const char *const *texts,
					const char *const *names)
{
	nvrtcProgram p = calloc(1, sizeof(*p));

	if (!p || headers || texts || names)
		abort();
	p->source = strdup(source);
	p->name = strdup(name);
	*out = p;
	return start() ? rtc.CreateProgram(&p->true_one, source, name, 0, NULL, NULL)
		       : NVRTC_SUCCESS;
}

EXPORTED nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program)
{
	nvrtcProgram p = *program;

	if (p->true_one)
		rtc.DestroyProgram(&p->true_one);
	free(p->source);
	free(p->name);
	free(p);
	*program = NULL;
	return NVRTC_SUCCESS;
}

EXPORTED nvrtcResult nvrtcCompileProgram(nvrtcProgram p, int count, const char *const *options)
{
	bool contracts = true;

	for (int i = 0; i < count; i++) {
		if (sscanf(options[i], "--gpu-architecture=sm_%d", &p->architecture) == 1)
			p->is_ptx = false;
		else if (sscanf(options[i], "--gpu-architecture=compute_%d",
				&p->architecture) == 1)
			p->is_ptx = true;
		if (!strcmp(options[i], "--fmad=false"))
			contracts = false;
	}
	if (!p->architecture || contracts)
		return FAILED;
	return p->true_one ? rtc.CompileProgram(p->true_one, count, options) : NVRTC_SUCCESS;
}

/* PTX runs on what is newer, too: the driver's part is to make it that. */
static size_t put(nvrtcProgram p, char *out, size_t size)
{
	int architecture = p->is_ptx ? sim_number("KOLM_SIM_ARCH", 90) : p->architecture;
	int n = snprintf(out, size, SIM_IMAGE "%s", architecture, p->source);

	return (size_t)n + 1;
}

EXPORTED nvrtcResult nvrtcGetPTXSize(nvrtcProgram p, size_t *size)
{
	*size = put(p, NULL, 0);
	return p->is_ptx ? NVRTC_SUCCESS : FAILED;
}

EXPORTED nvrtcResult nvrtcGetPTX(nvrtcProgram p, char *out)
{
	put(p, out, put(p, NULL, 0));
	return NVRTC_SUCCESS;
}

/* There is none for an architecture that is not a true one. */
EXPORTED nvrtcResult nvrtcGetCUBINSize(nvrtcProgram p, size_t *size)
{
	*size = p->is_ptx ? 0 : put(p, NULL, 0);
	return NVRTC_SUCCESS;
}

EXPORTED nvrtcResult nvrtcGetCUBIN(nvrtcProgram p, char *out)
{
	put(p, out, put(p, NULL, 0));
	return NVRTC_SUCCESS;
}

EXPORTED nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram p, size_t *size)
{
	*size = 1;
	return p->true_one ? rtc.GetProgramLogSize(p->true_one, size) : NVRTC_SUCCESS;
}

EXPORTED nvrtcResult nvrtcGetProgramLog(nvrtcProgram p, char *out)
{
	*out = '\0';
	return p->true_one ? rtc.GetProgramLog(p->true_one, out) : NVRTC_SUCCESS;
}
