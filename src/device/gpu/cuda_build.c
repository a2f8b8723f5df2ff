/*
 * cuda_build.c - programs and kernels of CUDA: NVRTC compiles their source for the very
 * architecture of the device, or, if that is newer than NVRTC, for the newest one that it
 * knows, from which the driver goes on. What came out of it is kept by the caller.
 */
#include "base/text.h"
#include "device/gpu/cuda.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a compiler is told beside the architecture. It must not contract what is written as two
   operations: see kernels/common.h. */
static const char no_contraction[] = "--fmad=false", dialect[] = "--std=c++14";

static enum status nvrtc_failed(const struct nvrtc_api *rtc, nvrtcProgram program,
				const char *name, int architecture, struct error *err)
{
	char *log = NULL, *line = NULL;
	size_t size = 0;

	if (program && rtc->GetProgramLogSize(program, &size) == NVRTC_SUCCESS && size)
		log = calloc(1, size + 1);
	if (log && rtc->GetProgramLog(program, log) == NVRTC_SUCCESS) {
		line = strstr(log, "error");
		line = line ? line : log;
		line[strcspn(line, "\n")] = '\0';
	}
	FAIL(err, ERR_FAILED, "the kernels '%s' do not build for sm_%d%s%.300s", name,
	     architecture, line ? ": " : "", line ? line : "");
	free(log);
	return HINT(err, "a CUDA toolkit that knows this device is wanted; kolm selftest shows "
			 "what works");
}

/* The newest architecture that NVRTC knows and the device runs; 0: none. */
static int nearest(const struct nvrtc_api *rtc, int wanted)
{
	int count = 0, best = 0, *known;

	if (rtc->GetNumSupportedArchs(&count) != NVRTC_SUCCESS || count <= 0)
		return wanted;
	known = calloc((size_t)count, sizeof(*known));
	if (!known || rtc->GetSupportedArchs(known) != NVRTC_SUCCESS)
		best = wanted;
	for (int i = 0; i < count && !(best == wanted); i++)
		if (known[i] <= wanted && known[i] > best)
			best = known[i];
	free(known);
	return best;
}

/* What was made, with a '\0' behind it as the driver wants it of PTX. */
static enum status take(const struct nvrtc_api *rtc, nvrtcProgram program, bool is_ptx,
			void **binary, size_t *size)
{
	nvrtcResult code =
		is_ptx ? rtc->GetPTXSize(program, size) : rtc->GetCUBINSize(program, size);
	char *bytes = code == NVRTC_SUCCESS && *size ? calloc(1, *size + 1) : NULL;

	if (!bytes)
		return ERR_FAILED;
	code = is_ptx ? rtc->GetPTX(program, bytes) : rtc->GetCUBIN(program, bytes);
	if (code != NVRTC_SUCCESS) {
		free(bytes);
		return ERR_FAILED;
	}
	*binary = bytes;
	return OK;
}

static enum status compile(struct gpu_context *c, const struct gpu_source *source,
			   void **binary, size_t *size, struct error *err)
{
	char why[160], architecture[40];
	const struct nvrtc_api *rtc = cuda_load_nvrtc(why, sizeof(why));
	const char *options[] = {architecture, no_contraction, dialect};
	nvrtcProgram program = NULL;
	struct text text;
	enum status st = OK;
	int target;
	bool is_ptx;

	if (!rtc)
		return FAIL(err, ERR_USAGE, "the device cuda can't be used: %s", why);
	target = nearest(rtc, c->architecture);
	if (!target)
		return nvrtc_failed(rtc, NULL, source->name, c->architecture, err);
	is_ptx = target != c->architecture;
	snprintf(architecture, sizeof(architecture), "--gpu-architecture=%s_%d",
		 is_ptx ? "compute" : "sm", target);
	text_init(&text);
	text_add(&text, source->defines);
	for (int i = 0; i < source->count; i++)
		text_add(&text, source->texts[i]);
	if (text.failed) {
		st = FAIL(err, ERR_MEMORY, "no memory for the kernels '%s'", source->name);
		goto out;
	}
	if (rtc->CreateProgram(&program, text.data, source->name, 0, NULL, NULL) !=
		    NVRTC_SUCCESS ||
	    rtc->CompileProgram(program, 3, options) != NVRTC_SUCCESS ||
	    take(rtc, program, is_ptx, binary, size) != OK)
		st = nvrtc_failed(rtc, program, source->name, target, err);
out:
	if (program)
		rtc->DestroyProgram(&program);
	text_release(&text);
	return st;
}

/* From the cache comes what has no '\0' behind it. */
static CUresult load(struct gpu_context *c, const void *binary, size_t size, CUmodule *module)
{
	char *bytes = malloc(size + 1);
	CUresult code;

	if (!bytes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(bytes, binary, size);
	bytes[size] = '\0';
	code = c->cu->ModuleLoadData(module, bytes);
	free(bytes);
	return code;
}

enum status cuda_build(struct gpu_context *c, const struct gpu_source *source, void **binary,
		       size_t *size, struct gpu_program **out, struct error *err)
{
	CUmodule module = NULL;
	CUresult code = CUDA_ERROR_INVALID_IMAGE;
	enum status st = OK;

	assert(c->n_modules < CUDA_MODULES);
	cuda_enter(c);
	if (*binary)
		code = load(c, *binary, *size, &module);
	if (code != CUDA_SUCCESS) {
		free(*binary);
		*binary = NULL;
		TRY(compile(c, source, binary, size, err));
		code = load(c, *binary, *size, &module);
	}
	if (code != CUDA_SUCCESS) {
		FAIL(err, code == CUDA_ERROR_OUT_OF_MEMORY ? ERR_MEMORY : ERR_FAILED,
		     "the driver takes no kernels '%s': %s", source->name, cuda_error(code));
		st = HINT(err, "a driver as new as the CUDA toolkit is wanted");
		goto out;
	}
	c->modules[c->n_modules++] = module;
	*out = (struct gpu_program *)module;
out:
	return st;
}

enum status cuda_kernel(struct gpu_context *c, struct gpu_program *program, const char *name,
			struct gpu_kernel **out, struct error *err)
{
	CUfunction function;
	int local = 0;
	CUresult code;

	cuda_enter(c);
	code = c->cu->ModuleGetFunction(&function, (CUmodule)program, name);
	if (code == CUDA_SUCCESS)
		code = c->cu->FuncGetAttribute(&local, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
					       function);
	if (code != CUDA_SUCCESS)
		return FAIL(err, ERR_FAILED, "CUDA has no kernel '%s': %s", name,
			    cuda_error(code));
	if (local > GPU_LOCAL)
		return FAIL(err, ERR_FAILED,
			    "the kernel '%s' takes %d bytes of local memory, more than the %d "
			    "that every GPU has",
			    name, local, (int)GPU_LOCAL);
	*out = (struct gpu_kernel *)function;
	return OK;
}
