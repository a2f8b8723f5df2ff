/* cuda.h - an open CUDA device, between the files of its driver. Only for device/gpu/cuda*. */
#ifndef KOLM_DEVICE_GPU_CUDA_H
#define KOLM_DEVICE_GPU_CUDA_H

#include "device/gpu/cuda_api.h"
#include "device/gpu/driver.h"

#include <pthread.h>

enum {
	CUDA_MODULES = 64,
	CUDA_SLOTS = 4,	      /* of a queue's staging */
	CUDA_SLOT = 1 << 20,  /* bytes */
	CUDA_ROOM = 32 << 20, /* of device memory, for cuBLASLt */
};

/* Pinned memory between the host and one queue: a ring, in the order of the queue. */
struct cuda_stage {
	pthread_mutex_t lock;
	char *slots[CUDA_SLOTS];
	CUevent done[CUDA_SLOTS];
	bool busy[CUDA_SLOTS];
	char *to[CUDA_SLOTS]; /* where what is there belongs, of a fetch; or NULL */
	size_t size[CUDA_SLOTS];
	int next;
};

struct cuda_blas;  /* cuda_blas.c */
struct cuda_meter; /* cuda_nvml.c */

struct gpu_context {
	const struct cuda_api *cu;
	int number;
	CUdevice device;
	int architecture; /* 90: of compute capability 9.0 */
	CUcontext context;
	CUstream streams[QUEUE_COUNT]; /* those of groups: NULL before the first */
	struct cuda_stage stages[QUEUE_HOST_COUNT];
	CUmodule modules[CUDA_MODULES]; /* to be unloaded */
	int n_modules;
	CUevent *stamps; /* (n_stamps) or NULL */
	int n_stamps;
	struct cuda_blas *blas;	  /* NULL: our own kernel multiplies */
	struct cuda_meter *meter; /* NULL: nobody knows */
	char remark[64];
};

/* Whatever fails once a device is open ends the process. */
void cuda_check(CUresult code, const char *what);
/* CUDA's functions mean the device of the calling thread. */
void cuda_enter(struct gpu_context *c);
static inline CUdeviceptr cuda_address(const void *address)
{
	return (CUdeviceptr)(uintptr_t)address;
}

/* cuda_stage.c */
CUresult cuda_stage_open(struct gpu_context *c, enum device_queue queue);
void cuda_stage_close(struct gpu_context *c, enum device_queue queue);
void cuda_read(struct gpu_context *c, enum device_queue queue, void *host, const void *address,
	       uint64_t bytes);
struct gpu_event *cuda_fetch(struct gpu_context *c, enum device_queue queue, void *host,
			     const void *address, uint64_t bytes);
bool cuda_taken(struct gpu_context *c, enum device_queue queue, struct gpu_event *event,
		bool wait);
void cuda_write(struct gpu_context *c, enum device_queue queue, void *address, const void *host,
		uint64_t bytes, struct gpu_event **done);
struct gpu_event *cuda_mark(struct gpu_context *c, enum device_queue queue);

/* cuda_build.c */
enum status cuda_build(struct gpu_context *c, const struct gpu_source *source, void **binary,
		       size_t *size, struct gpu_program **out, struct error *err);
enum status cuda_kernel(struct gpu_context *c, struct gpu_program *program, const char *name,
			struct gpu_kernel **out, struct error *err);

/* cuda_nvml.c. open: NULL where there is no NVML. */
struct cuda_meter *cuda_meter_open(const char *bus);
void cuda_meter_close(struct cuda_meter *m);
bool cuda_measure(struct gpu_context *c, struct device_reading *r);

/* cuda_blas.c. open: NULL, and why, where there is no cuBLASLt. */
struct cuda_blas *cuda_blas_open(char *why, size_t size);
void cuda_blas_close(struct cuda_blas *b);
bool cuda_product(struct gpu_context *c, const struct gpu_product *p);

/* cuda_nccl.c */
extern const struct gpu_groups cuda_groups;

#endif
