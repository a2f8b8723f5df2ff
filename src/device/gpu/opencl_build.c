/* opencl_build.c - programs and kernels of OpenCL: from their source, or from what an earlier
   build has left. */
#include "device/gpu/opencl.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 8 };
/* Nothing here allows a compiler to change the order of operations. */
static const char options[] = "-cl-std=CL1.2";

static enum status build_failed(struct gpu_context *c, cl_program program, const char *name,
				cl_int code, struct error *err)
{
	char log[4096] = "", *line;

	c->cl->GetProgramBuildInfo(program, c->device, CL_PROGRAM_BUILD_LOG, sizeof(log) - 1,
				   log, NULL);
	line = strstr(log, "error");
	line = line ? line : log;
	line[strcspn(line, "\n")] = '\0';
	FAIL(err, ERR_FAILED,
	     "the kernels '%s' do not build for this OpenCL device: %s%s%.300s", name,
	     opencl_error(code), *line ? ": " : "", line);
	return HINT(err, "update its driver; kolm selftest shows what works");
}

static cl_program from_binary(struct gpu_context *c, const void *binary, size_t size)
{
	const unsigned char *bytes = binary;
	cl_int code, of_binary = CL_SUCCESS;
	cl_program program = c->cl->CreateProgramWithBinary(c->context, 1, &c->device, &size,
							    &bytes, &of_binary, &code);

	if (code != CL_SUCCESS)
		return NULL;
	if (of_binary == CL_SUCCESS &&
	    c->cl->BuildProgram(program, 1, &c->device, "", NULL, NULL) == CL_SUCCESS)
		return program;
	c->cl->ReleaseProgram(program);
	return NULL;
}

static enum status from_source(struct gpu_context *c, const struct gpu_source *source,
			       cl_program *out, struct error *err)
{
	const char *texts[TEXTS] = {source->defines};
	cl_program program;
	cl_int code;

	assert(source->count < TEXTS);
	for (int i = 0; i < source->count; i++)
		texts[i + 1] = source->texts[i];
	program = c->cl->CreateProgramWithSource(c->context, (cl_uint)source->count + 1, texts,
						 NULL, &code);
	if (code != CL_SUCCESS)
		return FAIL(err, ERR_FAILED, "OpenCL takes no source of '%s': %s", source->name,
			    opencl_error(code));
	code = c->cl->BuildProgram(program, 1, &c->device, options, NULL, NULL);
	if (code != CL_SUCCESS) {
		build_failed(c, program, source->name, code, err);
		c->cl->ReleaseProgram(program);
		return ERR_FAILED;
	}
	*out = program;
	return OK;
}

/* What the driver made of it; nothing if it keeps that to itself. */
static void take_binary(struct gpu_context *c, cl_program program, void **binary, size_t *size)
{
	unsigned char *bytes;

	*size = 0;
	if (c->cl->GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(*size), size,
				  NULL) != CL_SUCCESS ||
	    !*size)
		return;
	bytes = malloc(*size);
	if (bytes && c->cl->GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(bytes), &bytes,
					   NULL) == CL_SUCCESS) {
		*binary = bytes;
		return;
	}
	free(bytes);
	*size = 0;
}

enum status opencl_build(struct gpu_context *c, const struct gpu_source *source, void **binary,
			 size_t *size, struct gpu_program **out, struct error *err)
{
	cl_program program = *binary ? from_binary(c, *binary, *size) : NULL;
	enum status st = OK;

	assert(c->n_programs < OPENCL_PROGRAMS);
	if (!program) {
		free(*binary);
		*binary = NULL;
		TRY(from_source(c, source, &program, err));
		take_binary(c, program, binary, size);
	}
	c->programs[c->n_programs++] = program;
	*out = (struct gpu_program *)program;
out:
	return st;
}

enum status opencl_kernel(struct gpu_context *c, struct gpu_program *program, const char *name,
			  struct gpu_kernel **out, struct error *err)
{
	cl_ulong local = 0;
	cl_int code;
	cl_kernel kernel = c->cl->CreateKernel((cl_program)program, name, &code);

	assert(c->n_kernels < OPENCL_KERNELS);
	if (code != CL_SUCCESS)
		return FAIL(err, ERR_FAILED, "OpenCL has no kernel '%s': %s", name,
			    opencl_error(code));
	c->kernels[c->n_kernels++] = kernel;
	/* A CPU has more than a GPU: what only fits there is a mistake of ours. */
	code = c->cl->GetKernelWorkGroupInfo(kernel, c->device, CL_KERNEL_LOCAL_MEM_SIZE,
					     sizeof(local), &local, NULL);
	if (code == CL_SUCCESS && local > GPU_LOCAL)
		return FAIL(err, ERR_FAILED,
			    "the kernel '%s' takes %llu bytes of local memory, more than the "
			    "%d that every GPU has",
			    name, (unsigned long long)local, (int)GPU_LOCAL);
	*out = (struct gpu_kernel *)kernel;
	return OK;
}
