/*
 * opencl.c - the driver of GPUs (driver.h) over OpenCL 1.2: buffers, three queues in order,
 * markers and barriers between them.
 *
 * An address is made up: it lies where no host has memory, and says which buffer and where. So
 * no shared virtual memory is needed, every OpenCL has what is used here, and a host that
 * follows an address dies of it.
 */
#include "device/gpu/opencl.h"
#include "base/util.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLATFORMS = 16, ALIGNMENT = 4096 };

void opencl_check(const struct gpu_context *c, cl_int code, const char *what)
{
	if (code != CL_SUCCESS)
		gpu_lost("opencl", c->number, what, opencl_error(code));
}

/* ---- what there is ---- */

/* All devices of all platforms, in their order. */
static int find_devices(const struct opencl_api *cl, cl_device *all, cl_platform *of, char *why,
			size_t size)
{
	cl_platform platforms[PLATFORMS];
	cl_uint n_platforms = 0, n = 0;
	cl_int code = cl->GetPlatformIDs(PLATFORMS, platforms, &n_platforms);

	if (code != CL_SUCCESS || !n_platforms) {
		snprintf(why, size, "OpenCL: %s", opencl_error(code ? code : -1001));
		return 0;
	}
	for (int p = 0; p < imin((int)n_platforms, PLATFORMS); p++) {
		cl_uint found = 0;

		if (cl->GetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, GPU_DEVICES - n, all + n,
				     &found) != CL_SUCCESS)
			continue;
		found = (cl_uint)imin((int)found, (int)(GPU_DEVICES - n));
		for (cl_uint i = 0; i < found; i++)
			of[n + i] = platforms[p];
		n += found;
		if (n == GPU_DEVICES)
			break;
	}
	if (!n)
		snprintf(why, size, "OpenCL: %s", opencl_error(-1));
	return (int)n;
}

static cl_ulong number_of(const struct opencl_api *cl, cl_device device, cl_uint what)
{
	cl_ulong value = 0; /* smaller ones leave the upper bytes 0 */

	cl->GetDeviceInfo(device, what, sizeof(value), &value, NULL);
	return value;
}

static void describe(const struct opencl_api *cl, cl_device device, cl_platform platform,
		     int number, struct gpu_info *info)
{
	char driver[32] = "", name[48] = "";

	*info = (struct gpu_info){.driver = "opencl", .number = number};
	snprintf(info->id, sizeof(info->id), "opencl:%d", number);
	cl->GetDeviceInfo(device, CL_DEVICE_NAME, sizeof(info->name) - 1, info->name, NULL);
	cl->GetDeviceInfo(device, CL_DRIVER_VERSION, sizeof(driver) - 1, driver, NULL);
	cl->GetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, NULL);
	snprintf(info->version, sizeof(info->version), "%s %s", name, driver);
	info->memory = number_of(cl, device, CL_DEVICE_GLOBAL_MEM_SIZE);
	info->largest = number_of(cl, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
	info->local = number_of(cl, device, CL_DEVICE_LOCAL_MEM_SIZE);
	info->group = (int)number_of(cl, device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
	info->units = (int)number_of(cl, device, CL_DEVICE_MAX_COMPUTE_UNITS);
	info->is_cpu = (number_of(cl, device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
	info->lacks_doubles = number_of(cl, device, CL_DEVICE_DOUBLE_FP_CONFIG) == 0;
}

static int list(struct gpu_info *all, char *why, size_t size)
{
	const struct opencl_api *cl = opencl_load(why, size);
	cl_platform platforms[GPU_DEVICES];
	cl_device devices[GPU_DEVICES];
	int n = cl ? find_devices(cl, devices, platforms, why, size) : 0;

	for (int i = 0; i < n; i++)
		describe(cl, devices[i], platforms[i], i, &all[i]);
	return n;
}

/* ---- opening ---- */

static void close_context(struct gpu_context *c)
{
	if (!c)
		return;
	for (int q = 0; q < QUEUE_HOST_COUNT; q++)
		if (c->queues[q])
			c->cl->Finish(c->queues[q]);
	for (int i = 0; i < c->n_stamps; i++)
		if (c->stamps[i])
			c->cl->ReleaseEvent(c->stamps[i]);
	for (int i = 0; i < c->n_kernels; i++)
		c->cl->ReleaseKernel(c->kernels[i]);
	for (int i = 0; i < c->n_programs; i++)
		c->cl->ReleaseProgram(c->programs[i]);
	for (int i = 0; i < c->n_buffers; i++)
		c->cl->ReleaseMemObject(c->buffers[i].memory);
	for (int q = 0; q < QUEUE_HOST_COUNT; q++)
		if (c->queues[q])
			c->cl->ReleaseCommandQueue(c->queues[q]);
	if (c->context)
		c->cl->ReleaseContext(c->context);
	free(c->buffers);
	free(c->stamps);
	free(c);
}

static enum status open_context(struct gpu_context **out, int number, struct error *err)
{
	struct gpu_context *c = calloc(1, sizeof(*c));
	cl_platform platforms[GPU_DEVICES];
	cl_device devices[GPU_DEVICES];
	char why[160] = "";
	cl_int code = CL_SUCCESS;
	enum status st = OK;

	if (!c)
		return FAIL(err, ERR_MEMORY, "no memory for an OpenCL device");
	c->number = number;
	c->next = (uintptr_t)1 << 50; /* beyond what x86-64 and aarch64 give out */
	c->cl = opencl_load(why, sizeof(why));
	if (!c->cl || number >= find_devices(c->cl, devices, platforms, why, sizeof(why))) {
		st = FAIL(err, ERR_USAGE, "no device opencl:%d: %s", number,
			  *why ? why : "there are fewer");
		goto out;
	}
	c->device = devices[number];
	c->context = c->cl->CreateContext(NULL, 1, &c->device, NULL, NULL, &code);
	for (int q = 0; q < QUEUE_HOST_COUNT && code == CL_SUCCESS; q++)
		c->queues[q] = c->cl->CreateCommandQueue(c->context, c->device,
							 CL_QUEUE_PROFILING_ENABLE, &code);
	if (code != CL_SUCCESS) {
		st = FAIL(err, ERR_FAILED, "the device opencl:%d can't be used: %s", number,
			  opencl_error(code));
		goto out;
	}
	*out = c;
	c = NULL; /* the caller's now */
out:
	close_context(c);
	return st;
}

/* ---- memory ---- */

struct buffer *opencl_buffer(struct gpu_context *c, const void *address)
{
	uintptr_t at = (uintptr_t)address;
	int low = 0, high = c->n_buffers;

	while (low < high) {
		int middle = (low + high) / 2;

		if (at >= c->buffers[middle].end)
			low = middle + 1;
		else
			high = middle;
	}
	/* Otherwise it is the host's, or was freed. */
	assert(low < c->n_buffers && at >= c->buffers[low].begin);
	return &c->buffers[low];
}

static void finish(struct gpu_context *c)
{
	for (int q = 0; q < QUEUE_HOST_COUNT; q++)
		opencl_check(c, c->cl->Finish(c->queues[q]), "waiting for a queue");
}

/* Some drivers give memory out only when it is used: so it is, at once. */
static cl_mem make_buffer(struct gpu_context *c, uint64_t bytes)
{
	static const uint32_t zero;
	uint64_t size = (uint64_t)round_up((int64_t)bytes, sizeof(zero));
	cl_int code;
	cl_mem memory = c->cl->CreateBuffer(c->context, CL_MEM_READ_WRITE, size, NULL, &code);

	if (code != CL_SUCCESS)
		return NULL;
	code = c->cl->EnqueueFillBuffer(c->queues[QUEUE_COMPUTE], memory, &zero, sizeof(zero),
					0, size, 0, NULL, NULL);
	if (code == CL_SUCCESS)
		code = c->cl->Finish(c->queues[QUEUE_COMPUTE]);
	if (code == CL_SUCCESS)
		return memory;
	c->cl->ReleaseMemObject(memory);
	return NULL;
}

static void *alloc(struct gpu_context *c, uint64_t bytes)
{
	struct buffer *buffers = c->buffers, b = {.begin = c->next, .end = c->next + bytes};

	if (c->n_buffers == c->room) {
		int room = imax(64, 2 * c->room);

		buffers = realloc(c->buffers, (size_t)room * sizeof(*buffers));
		if (!buffers)
			return NULL;
		c->buffers = buffers;
		c->room = room;
	}
	b.memory = make_buffer(c, bytes);
	if (!b.memory)
		return NULL;
	/* A hole behind each, so that what runs over an end is nobody else's. */
	c->next += (uintptr_t)round_up((int64_t)bytes, ALIGNMENT) + ALIGNMENT;
	c->buffers[c->n_buffers++] = b;
	return (void *)b.begin; /* NOLINT: it is never followed */
}

static void free_memory(struct gpu_context *c, void *address)
{
	struct buffer *b = opencl_buffer(c, address);

	assert(b->begin == (uintptr_t)address);
	finish(c);
	c->cl->ReleaseMemObject(b->memory);
	memmove(b, b + 1, (size_t)(c->buffers + c->n_buffers - b - 1) * sizeof(*b));
	c->n_buffers--;
}

/* ---- queues ---- */

static void launch(struct gpu_context *c, const struct gpu_launch *l)
{
	cl_kernel kernel = (cl_kernel)l->kernel;
	size_t items[3] = {l->items[0], l->items[1], 1}, all[3];
	cl_uint n = 0;

	for (int i = 0; i < l->count; i++) {
		const struct gpu_argument *a = &l->arguments[i];
		cl_mem memory = NULL;
		cl_ulong at = 0;

		if (a->bytes) {
			opencl_check(
				c, c->cl->SetKernelArg(kernel, n++, (size_t)a->bytes, &a->bits),
				"setting an argument");
			continue;
		}
		if (a->address) {
			const struct buffer *b = opencl_buffer(c, a->address);

			memory = b->memory;
			at = ((uintptr_t)a->address - b->begin) / (unsigned)l->scale[i];
		}
		opencl_check(c, c->cl->SetKernelArg(kernel, n++, sizeof(memory), &memory),
			     "setting a buffer");
		opencl_check(c, c->cl->SetKernelArg(kernel, n++, sizeof(at), &at),
			     "setting a place");
	}
	for (int i = 0; i < 3; i++)
		all[i] = items[i] * l->groups[i];
	opencl_check(c,
		     c->cl->EnqueueNDRangeKernel(c->queues[QUEUE_COMPUTE], kernel, 3, NULL, all,
						 items, 0, NULL, NULL),
		     "launching a kernel");
}

static void read_memory(struct gpu_context *c, enum device_queue queue, void *host,
			const void *address, uint64_t bytes)
{
	const struct buffer *b = opencl_buffer(c, address);

	opencl_check(c,
		     c->cl->EnqueueReadBuffer(c->queues[queue], b->memory, CL_TRUE,
					      (uintptr_t)address - b->begin, bytes, host, 0,
					      NULL, NULL),
		     "reading memory");
}

static void write_memory(struct gpu_context *c, enum device_queue queue, void *address,
			 const void *host, uint64_t bytes, struct gpu_event **done)
{
	const struct buffer *b = opencl_buffer(c, address);
	cl_event event = NULL;

	opencl_check(c,
		     c->cl->EnqueueWriteBuffer(c->queues[queue], b->memory, done ? 0 : CL_TRUE,
					       (uintptr_t)address - b->begin, bytes, host, 0,
					       NULL, done ? &event : NULL),
		     "writing memory");
	if (!done)
		return;
	opencl_check(c, c->cl->Flush(c->queues[queue]), "starting a queue");
	*done = (struct gpu_event *)event;
}

const struct gpu_driver gpu_opencl = {
	.name = "opencl",
	.list = list,
	.open = open_context,
	.close = close_context,
	.alloc = alloc,
	.free = free_memory,
	.build = opencl_build,
	.kernel = opencl_kernel,
	.launch = launch,
	.fetch = opencl_fetch,
	.taken = opencl_taken,
	.read = read_memory,
	.write = write_memory,
	.mark = opencl_mark,
	.await = opencl_await,
	.wait = opencl_wait,
	.release = opencl_release,
	.finish = finish,
	.make_stamps = opencl_make_stamps,
	.stamp = opencl_stamp,
	.between = opencl_between,
};
