/* sim_programs.c - kernels of the simulated CUDA: their source is handed to PoCL, whose kernels
   work on the host's memory; see sim.h */
#include "sim.h"
#include "device/gpu/opencl_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KERNELS = 64, PARAMETERS = 160, LOCAL_MEMORY = 48 << 10, THREADS = 1024 };
/* Of OpenCL, beyond what opencl_api.h has. */
enum {
	CL_KERNEL_NUM_ARGS = 0x1191,
	CL_KERNEL_ARG_ADDRESS_QUALIFIER = 0x1196,
	CL_KERNEL_ARG_TYPE_NAME = 0x1198,
	CL_KERNEL_ARG_ADDRESS_GLOBAL = 0x119B,
};

struct CUfunc_st {
	cl_kernel kernel;
	char name[64];
	int count;
	unsigned char size[PARAMETERS]; /* bytes; 0: an address */
};

struct CUmod_st {
	cl_program program;
	struct CUfunc_st functions[KERNELS];
	int count;
};

/* A launch, with its parameters as they are now. */
struct launch {
	CUfunction f;
	size_t all[3], items[3];
	uint64_t values[PARAMETERS];
};

static const struct opencl_api *cl;
static cl_device device;
static cl_context context;
static cl_queue queue;
static cl_int (*set_pointer)(cl_kernel, cl_uint, const void *);
static cl_int (*kernel_info)(cl_kernel, cl_uint, size_t, void *, size_t *);
static cl_int (*argument_info)(cl_kernel, cl_uint, cl_uint, size_t, void *, size_t *);

static void find(const char *name, void *function)
{
	void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_NOLOAD);
	void *found = library ? dlsym(library, name) : NULL;

	memcpy(function, &found, sizeof(found));
}

static bool start(void)
{
	cl_platform platform;
	char why[200];
	cl_int code = CL_SUCCESS;
	cl_uint n;

	if (queue)
		return true;
	cl = opencl_load(why, sizeof(why));
	if (!cl || cl->GetPlatformIDs(1, &platform, &n) != CL_SUCCESS ||
	    cl->GetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, &n) != CL_SUCCESS)
		return false;
	find("clSetKernelArgSVMPointer", (void *)&set_pointer);
	find("clGetKernelInfo", (void *)&kernel_info);
	find("clGetKernelArgInfo", (void *)&argument_info);
	if (!set_pointer || !kernel_info || !argument_info)
		return false;
	context = cl->CreateContext(NULL, 1, &device, NULL, NULL, &code);
	if (code == CL_SUCCESS)
		queue = cl->CreateCommandQueue(context, device, 0, &code);
	return code == CL_SUCCESS;
}

/* ---- modules ---- */

static CUresult load(CUmodule m, const char *image)
{
	char wanted[32];
	cl_int code;

	/* As a cubin: of this architecture and no other. */
	snprintf(wanted, sizeof(wanted), SIM_IMAGE, sim_number("KOLM_SIM_ARCH", 90));
	if (strncmp(image, wanted, strlen(wanted)))
		return CUDA_ERROR_INVALID_IMAGE;
	if (!start()) {
		fprintf(stderr, "simulated CUDA: there is no PoCL\n");
		return CUDA_ERROR_NO_DEVICE;
	}
	image += strlen(wanted);
	m->program = cl->CreateProgramWithSource(context, 1, &image, NULL, &code);
	if (code != CL_SUCCESS ||
	    cl->BuildProgram(m->program, 1, &device, "-cl-std=CL1.2 -cl-kernel-arg-info", NULL,
			     NULL) != CL_SUCCESS)
		return CUDA_ERROR_INVALID_IMAGE;
	return CUDA_SUCCESS;
}

EXPORTED CUresult cuModuleLoadData(CUmodule *out, const void *image)
{
	CUmodule m = calloc(1, sizeof(*m));
	CUresult code;

	sim_lock();
	code = m ? load(m, image) : CUDA_ERROR_OUT_OF_MEMORY;
	sim_unlock();
	if (code == CUDA_SUCCESS)
		*out = m;
	else
		free(m);
	return code;
}

EXPORTED CUresult cuModuleUnload(CUmodule m)
{
	sim_lock();
	for (int i = 0; i < m->count; i++)
		cl->ReleaseKernel(m->functions[i].kernel);
	cl->ReleaseProgram(m->program);
	sim_unlock();
	free(m);
	return CUDA_SUCCESS;
}

static unsigned char size_of(const char *type)
{
	if (!strcmp(type, "int") || !strcmp(type, "u32") || !strcmp(type, "float"))
		return 4;
	if (!strcmp(type, "u64") || !strcmp(type, "i64") || !strcmp(type, "double"))
		return 8;
	fprintf(stderr, "simulated CUDA: how large is a parameter of type '%s'?\n", type);
	abort();
}

static CUresult describe(CUfunction f)
{
	cl_uint count = 0;

	if (kernel_info(f->kernel, CL_KERNEL_NUM_ARGS, sizeof(count), &count, NULL) !=
		    CL_SUCCESS ||
	    count > PARAMETERS)
		return CUDA_ERROR_INVALID_IMAGE;
	f->count = (int)count;
	for (cl_uint i = 0; i < count; i++) {
		char type[64] = "";
		cl_uint space = 0;

		argument_info(f->kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(space),
			      &space, NULL);
		argument_info(f->kernel, i, CL_KERNEL_ARG_TYPE_NAME, sizeof(type) - 1, type,
			      NULL);
		f->size[i] = space == CL_KERNEL_ARG_ADDRESS_GLOBAL ? 0 : size_of(type);
	}
	return CUDA_SUCCESS;
}

EXPORTED CUresult cuModuleGetFunction(CUfunction *out, CUmodule m, const char *name)
{
	CUfunction f = &m->functions[m->count];
	CUresult code = CUDA_ERROR_NOT_FOUND;
	cl_int status;

	if (m->count == KERNELS)
		abort();
	sim_lock();
	f->kernel = cl->CreateKernel(m->program, name, &status);
	if (status == CL_SUCCESS) {
		m->count++;
		snprintf(f->name, sizeof(f->name), "%s", name);
		code = describe(f);
	}
	sim_unlock();
	*out = f;
	return code;
}

EXPORTED CUresult cuFuncGetAttribute(int *value, CUfunction_attribute what, CUfunction f)
{
	cl_ulong local = 0;

	if (what != CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
		return CUDA_ERROR_INVALID_VALUE;
	cl->GetKernelWorkGroupInfo(f->kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof(local),
				   &local, NULL);
	*value = (int)local;
	return CUDA_SUCCESS;
}

/* ---- launches ---- */

static void run_launch(void *arg)
{
	const struct launch *l = arg;
	cl_int code = CL_SUCCESS;

	sim_takes("KOLM_SIM_KERNEL");
	if (sim_kernel_fails())
		return;
	for (int i = 0; i < l->f->count && code == CL_SUCCESS; i++) {
		const void *address = (const void *)(uintptr_t)l->values[i];

		if (l->f->size[i]) {
			code = cl->SetKernelArg(l->f->kernel, (cl_uint)i, l->f->size[i],
						&l->values[i]);
		} else {
			/* Memory that was freed meanwhile is found here too. */
			if (address)
				address = sim_translate(address, 1, l->f->name);
			code = set_pointer(l->f->kernel, (cl_uint)i, address);
		}
		if (sim_failed)
			return;
	}
	if (code == CL_SUCCESS)
		code = cl->EnqueueNDRangeKernel(queue, l->f->kernel, 3, NULL, l->all, l->items,
						0, NULL, NULL);
	if (code == CL_SUCCESS)
		code = cl->Finish(queue);
	if (code != CL_SUCCESS)
		sim_blame("kernel %s: OpenCL says %s", l->f->name, opencl_error(code));
}

EXPORTED CUresult cuLaunchKernel(CUfunction f, unsigned x, unsigned y, unsigned z,
				 unsigned items_x, unsigned items_y, unsigned items_z,
				 unsigned shared, CUstream stream, void **parameters,
				 void **extra)
{
	struct launch l = {.f = f, .items = {items_x, items_y, items_z}};
	unsigned groups[3] = {x, y, z};
	int local = 0;
	CUresult code;

	cuFuncGetAttribute(&local, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f);
	if (extra || shared || !x || !y || !z || y > 65535 || z > 65535 ||
	    items_x * items_y * items_z > THREADS || local > LOCAL_MEMORY)
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < 3; i++)
		l.all[i] = groups[i] * l.items[i];
	for (int i = 0; i < f->count; i++)
		memcpy(&l.values[i], parameters[i], f->size[i] ? f->size[i] : sizeof(void *));
	sim_lock();
	code = sim_enqueue(stream, run_launch, &l, sizeof(l));
	sim_unlock();
	return code;
}
