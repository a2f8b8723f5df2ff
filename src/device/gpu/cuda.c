/*
 * cuda.c - the driver of GPUs (driver.h) over the CUDA driver API: the device's primary
 * context, which cuBLASLt shares, a stream for each queue, and events between them. What goes
 * to the host and back goes through pinned memory (cuda_stage.c).
 *
 * Addresses are CUDA's own. An error of a kernel is seen by some later call: cuda_check says
 * which one, and that it may come from earlier work.
 */
#include "device/gpu/cuda.h"
#include "base/util.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local int current; /* the number of what cuda_enter has entered */

void cuda_check(CUresult code, const char *what)
{
	char why[220];

	if (code == CUDA_SUCCESS)
		return;
	snprintf(why, sizeof(why), "%s, here or in what was queued before", cuda_error(code));
	gpu_lost("cuda", current, what, why);
}

void cuda_enter(struct gpu_context *c)
{
	current = c->number;
	cuda_check(c->cu->CtxSetCurrent(c->context), "using the device");
}

/* ---- what there is ---- */

/* Streams that share a connection to the GPU wait for each other, and a message that is awaited
   would hold back what it is the answer to; the driver looks at this when it starts. */
static void allow_queues(void)
{
	const char *set = getenv("CUDA_DEVICE_MAX_CONNECTIONS");

	if (!set || atoi(set) < 32)
		setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
}

static const struct cuda_api *start(int *count, char *why, size_t size)
{
	const struct cuda_api *cu = cuda_load(why, size);
	CUresult code;

	*count = 0;
	if (!cu)
		return NULL;
	allow_queues();
	code = cu->Init(0);
	if (code == CUDA_SUCCESS)
		code = cu->DeviceGetCount(count);
	if (code == CUDA_SUCCESS && !*count)
		code = CUDA_ERROR_NO_DEVICE;
	if (code == CUDA_SUCCESS)
		return cu;
	snprintf(why, size, "CUDA: %s", cuda_error(code));
	*count = 0;
	return NULL;
}

static int number_of(const struct cuda_api *cu, CUdevice device, CUdevice_attribute what)
{
	int value = 0;

	cu->DeviceGetAttribute(&value, what, device);
	return value;
}

static int architecture_of(const struct cuda_api *cu, CUdevice device)
{
	return number_of(cu, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
	       number_of(cu, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

/* As nvidia-smi -L has it: GPU-6e0ab7d2-... */
static void identify(const struct cuda_api *cu, CUdevice device, struct gpu_info *info)
{
	CUuuid id = {{0}};
	int n = 0;

	if (cu->DeviceGetUuid(&id, device) == CUDA_SUCCESS)
		n = snprintf(info->id, sizeof(info->id), "GPU");
	for (int i = 0; n && i < (int)sizeof(id.bytes); i++) {
		bool first = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;

		n += snprintf(info->id + n, sizeof(info->id) - (size_t)n, "%s%02x",
			      first ? "-" : "", (unsigned char)id.bytes[i]);
	}
	if (cu->DeviceGetPCIBusId(info->bus, sizeof(info->bus), device) != CUDA_SUCCESS)
		info->bus[0] = '\0';
}

static void describe(const struct cuda_api *cu, CUdevice device, int number,
		     struct gpu_info *info)
{
	size_t memory = 0;
	int version = 0;

	*info = (struct gpu_info){.driver = "cuda", .number = number};
	cu->DeviceGetName(info->name, sizeof(info->name), device);
	cu->DriverGetVersion(&version);
	snprintf(info->version, sizeof(info->version), "CUDA %d.%d, sm_%d", version / 1000,
		 version % 1000 / 10, architecture_of(cu, device));
	cu->DeviceTotalMem(&memory, device);
	info->memory = memory;
	info->local = (uint64_t)number_of(cu, device,
					  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
	info->group = number_of(cu, device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
	info->units = number_of(cu, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	identify(cu, device, info);
}

static int list(struct gpu_info *all, char *why, size_t size)
{
	int count;
	const struct cuda_api *cu = start(&count, why, size);

	count = imin(count, GPU_DEVICES);
	for (int i = 0; i < count; i++) {
		CUdevice device;

		if (cu->DeviceGet(&device, i) != CUDA_SUCCESS)
			return i;
		describe(cu, device, i, &all[i]);
	}
	return count;
}

/* ---- opening ---- */

static void close_context(struct gpu_context *c)
{
	if (!c)
		return;
	if (c->context)
		c->cu->CtxSetCurrent(c->context);
	cuda_meter_close(c->meter);
	cuda_blas_close(c->blas);
	for (int q = 0; q < QUEUE_COUNT; q++) {
		if (c->streams[q])
			c->cu->StreamSynchronize(c->streams[q]);
		if (q < QUEUE_HOST_COUNT)
			cuda_stage_close(c, (enum device_queue)q);
		if (c->streams[q])
			c->cu->StreamDestroy(c->streams[q]);
	}
	for (int i = 0; i < c->n_stamps; i++)
		c->cu->EventDestroy(c->stamps[i]);
	free(c->stamps);
	for (int i = 0; i < c->n_modules; i++)
		c->cu->ModuleUnload(c->modules[i]);
	if (c->context)
		c->cu->DevicePrimaryCtxRelease(c->device);
	free(c);
}

static CUresult open_queues(struct gpu_context *c, int number)
{
	CUresult code = c->cu->DeviceGet(&c->device, number);

	if (code == CUDA_SUCCESS)
		code = c->cu->DevicePrimaryCtxRetain(&c->context, c->device);
	if (code == CUDA_SUCCESS)
		code = c->cu->CtxSetCurrent(c->context);
	for (int q = 0; q < QUEUE_HOST_COUNT && code == CUDA_SUCCESS; q++) {
		code = c->cu->StreamCreate(&c->streams[q], CU_STREAM_NON_BLOCKING);
		if (code == CUDA_SUCCESS)
			code = cuda_stage_open(c, (enum device_queue)q);
	}
	return code;
}

static enum status open_context(struct gpu_context **out, int number, struct error *err)
{
	struct gpu_context *c = calloc(1, sizeof(*c));
	struct gpu_info info;
	enum status st = OK;
	char why[160] = "";
	CUresult code;
	int count;

	if (!c)
		return FAIL(err, ERR_MEMORY, "no memory for a CUDA device");
	c->number = number;
	c->cu = start(&count, why, sizeof(why));
	if (number >= count) {
		st = FAIL(err, ERR_USAGE, "no device cuda:%d: %s", number,
			  *why ? why : "there are fewer");
		goto out;
	}
	code = open_queues(c, number);
	if (code != CUDA_SUCCESS) {
		st = FAIL(err, code == CUDA_ERROR_OUT_OF_MEMORY ? ERR_MEMORY : ERR_FAILED,
			  "the device cuda:%d can't be used: %s", number, cuda_error(code));
		goto out;
	}
	c->architecture = architecture_of(c->cu, c->device);
	describe(c->cu, c->device, number, &info);
	c->meter = cuda_meter_open(info.bus);
	c->blas = cuda_blas_open(why, sizeof(why));
	if (!c->blas)
		snprintf(c->remark, sizeof(c->remark), "kolm's own products: %.40s", why);
	*out = c;
	c = NULL; /* the caller's now */
out:
	close_context(c);
	return st;
}

static const char *remark(struct gpu_context *c)
{
	return c->remark;
}

/* ---- memory ---- */

static void finish(struct gpu_context *c)
{
	cuda_enter(c);
	for (int q = 0; q < QUEUE_COUNT; q++)
		if (c->streams[q])
			cuda_check(c->cu->StreamSynchronize(c->streams[q]),
				   "waiting for a queue");
}

static void *alloc(struct gpu_context *c, uint64_t bytes)
{
	CUstream stream = c->streams[QUEUE_COMPUTE];
	CUdeviceptr address = 0;
	CUresult code;

	cuda_enter(c);
	code = c->cu->MemAlloc(&address, bytes);
	if (code == CUDA_ERROR_OUT_OF_MEMORY)
		return NULL;
	cuda_check(code, "allocating memory");
	cuda_check(c->cu->MemsetD8Async(address, 0, bytes, stream), "clearing memory");
	/* Other queues use it without being told to wait. */
	cuda_check(c->cu->StreamSynchronize(stream), "clearing memory");
	return (void *)(uintptr_t)address; /* NOLINT: it is never followed */
}

static void free_memory(struct gpu_context *c, void *address)
{
	finish(c);
	cuda_check(c->cu->MemFree(cuda_address(address)), "freeing memory");
}

/* ---- queues ---- */

static void launch(struct gpu_context *c, const struct gpu_launch *l)
{
	static const uint64_t zero; /* an operand begins at its address */
	void *parameters[2 * GPU_ARGUMENTS];
	int n = 0;

	for (int i = 0; i < l->count; i++) {
		const struct gpu_argument *a = &l->arguments[i];

		parameters[n++] = (void *)(uintptr_t)(a->bytes ? (const void *)&a->bits
							       : (const void *)&a->address);
		if (!a->bytes)
			parameters[n++] = (void *)(uintptr_t)&zero;
	}
	cuda_enter(c);
	cuda_check(c->cu->LaunchKernel((CUfunction)l->kernel, l->groups[0], l->groups[1],
				       l->groups[2], l->items[0], l->items[1], 1, 0,
				       c->streams[QUEUE_COMPUTE], parameters, NULL),
		   "launching a kernel");
}

static void await(struct gpu_context *c, enum device_queue queue, struct gpu_event *event)
{
	cuda_enter(c);
	cuda_check(c->cu->StreamWaitEvent(c->streams[queue], (CUevent)event, 0),
		   "ordering queues");
}

static void wait_event(struct gpu_context *c, struct gpu_event *event)
{
	cuda_enter(c);
	cuda_check(c->cu->EventSynchronize((CUevent)event), "waiting for an event");
}

static void release_event(struct gpu_context *c, struct gpu_event *event)
{
	cuda_enter(c);
	c->cu->EventDestroy((CUevent)event);
}

/* ---- time ---- */

static enum status make_stamps(struct gpu_context *c, int n, struct error *err)
{
	CUevent *stamps = realloc(c->stamps, (size_t)n * sizeof(*stamps));
	CUresult code = CUDA_SUCCESS;

	if (!stamps)
		return FAIL(err, ERR_MEMORY, "no memory for %d stamps of CUDA", n);
	c->stamps = stamps;
	cuda_enter(c);
	for (; c->n_stamps < n && code == CUDA_SUCCESS; c->n_stamps += code == CUDA_SUCCESS)
		code = c->cu->EventCreate(&c->stamps[c->n_stamps], CU_EVENT_DEFAULT);
	if (code != CUDA_SUCCESS)
		return FAIL(err, ERR_FAILED, "%d events of CUDA can't be made: %s", n,
			    cuda_error(code));
	return OK;
}

static void put_stamp(struct gpu_context *c, enum device_queue queue, int stamp)
{
	cuda_enter(c);
	cuda_check(c->cu->EventRecord(c->stamps[stamp], c->streams[queue]), "marking a queue");
}

/* CUDA says it in ms, with 24 bits: to a microsecond up to 16 s. */
static int64_t between(struct gpu_context *c, int from, int to)
{
	float ms = 0;

	cuda_enter(c);
	cuda_check(c->cu->EventSynchronize(c->stamps[from]), "waiting for an event");
	cuda_check(c->cu->EventSynchronize(c->stamps[to]), "waiting for an event");
	cuda_check(c->cu->EventElapsedTime(&ms, c->stamps[from], c->stamps[to]),
		   "reading the time of an event");
	return (int64_t)((double)ms * 1e6);
}

const struct gpu_driver gpu_cuda = {
	.name = "cuda",
	.room = CUDA_ROOM,
	.list = list,
	.open = open_context,
	.close = close_context,
	.remark = remark,
	.alloc = alloc,
	.free = free_memory,
	.build = cuda_build,
	.kernel = cuda_kernel,
	.launch = launch,
	.fetch = cuda_fetch,
	.taken = cuda_taken,
	.read = cuda_read,
	.write = cuda_write,
	.mark = cuda_mark,
	.await = await,
	.wait = wait_event,
	.release = release_event,
	.finish = finish,
	.make_stamps = make_stamps,
	.stamp = put_stamp,
	.between = between,
	.product = cuda_product,
	.measure = cuda_measure,
	.groups = &cuda_groups,
};
