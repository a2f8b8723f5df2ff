/*
 * sim.h - a CUDA driver without a GPU, for tests: kernels run over PoCL from the same source,
 * and everything else is as unkind as CUDA may be.
 *
 * - Work runs only when somebody waits for it, or when the dice say so: queues go on in any
 *   order that streams and events allow.
 * - Addresses have a bit that no address of the host has; memory begins as 0xFF, is followed by
 *   bytes that must stay as they are, and then by a page that nobody may touch.
 * - Parameters of a kernel are those of when it was launched.
 * - Every stream has a clock: work begins when it was queued, or what the stream did before is
 *   over, or what it waited for, and takes what it takes, or what the environment says. So
 *   streams run beside each other, and events have the times of that; the host waits until
 *   the machine's clock has come as far.
 *
 * From the environment:
 *   KOLM_SIM_DEVICES=N   so many (1); CUDA_VISIBLE_DEVICES=1,0 chooses of them
 *   KOLM_SIM_MEMORY=N    bytes of each (1 GiB)
 *   KOLM_SIM_ARCH=N      90: compute capability 9.0
 *   KOLM_SIM_SEED=N      of the dice (1)
 *   KOLM_SIM_IGNORE=K    takes no notice of: wait (of a stream for an event), host (of the
 *                        host for an event), nccl (of a stream with exchanges for an event):
 *                        what a missing call would be
 *   KOLM_SIM_FAIL=K      busy: the device can't be opened; or, at the N-th kernel that runs,
 *                        launch:N: it fails, lost:N: the device is gone; launch:N@D, lost:N@D:
 *                        on device D only; NCCL: join: none can be joined, exchange:N: the
 *                        N-th fails, remote:N: something has failed when the N-th begins
 *   KOLM_SIM_KERNEL=N, KOLM_SIM_COPY=N   us that every kernel and product, or copy, takes
 *   KOLM_SIM_STREAMS=1   every stream is the same one: nothing runs beside anything
 *   KOLM_SIM_NVRTC=PATH  a true NVRTC, which must take the sources too
 */
#ifndef KOLM_TESTS_CUDA_SIM_H
#define KOLM_TESTS_CUDA_SIM_H

#include "device/gpu/cuda_api.h"

#include <stdlib.h>

#define EXPORTED      __attribute__((visibility("default")))
#define SIM_TAG	      ((uint64_t)1 << 62)
#define SIM_FIRST_BUS 16		  /* on PCI, that of device 0 */
#define SIM_IMAGE     "simulated sm_%d\n" /* before the source, in what NVRTC gives */

/* What kolm calls, as it calls it. */
#define SIM_CUDA(name, symbol, args)  CUresult symbol args;
#define SIM_NVRTC(name, symbol, args) nvrtcResult symbol args;
CUDA_FUNCTIONS(SIM_CUDA)
NVRTC_FUNCTIONS(SIM_NVRTC)

/* What a queue does: called once with a copy of what was given. */
typedef void sim_work(void *arg);

/* ---- sim_queue.c ---- */
/* How long work has run, of all queues of the device. */
EXPORTED double sim_busy_ms(int device);
EXPORTED CUresult sim_enqueue(CUstream stream, sim_work *work, const void *arg, size_t size);
/* What may have to wait for other processes: called again and again until it says that it is
   over, with the stream's clock, which it puts on. Meanwhile other streams go on, whether
   anybody waits or not, and so do all that such a thing is in: as devices do. */
typedef bool sim_attempt(void *arg, int64_t *ns);
EXPORTED CUresult sim_enqueue_attempt(CUstream stream, sim_attempt *attempt, const void *arg,
				      size_t size);
/* All that was queued on that stream, with what it waits for. */
void sim_drain(CUstream stream);
int sim_queues_left(void);
/* Called by work: how long it takes, where the environment has a word for it. */
EXPORTED void sim_takes(const char *name);

/* ---- sim_memory.c ---- */

/* Where it is, if all of it is the device's; else NULL, with a line that says so. */
EXPORTED void *sim_translate(const void *address, size_t bytes, const char *what);
bool sim_is_pinned(const void *host, size_t bytes);
int sim_memory_left(void);

/* Bytes of the device in use by this process. */
EXPORTED uint64_t sim_used_bytes(int device);

/* ---- sim.c ---- */

/* Has this process opened it? */
bool sim_is_open(int device);

/* One thread at a time. The sticky error: of a kernel that failed, for ever. */
EXPORTED void sim_lock(void);
EXPORTED void sim_unlock(void);
extern CUresult sim_failed;
/* A line on stderr, and the error of a wrong address from now on. */
EXPORTED void sim_blame(const char *format, ...) __attribute__((format(printf, 1, 2)));
unsigned sim_dice(unsigned sides);
/* The number of the calling thread's device. Things of other libraries that must not be left
   behind: so many more, or fewer. */
EXPORTED int sim_device(void);
EXPORTED void sim_keep(int more);
bool sim_ignores(const char *what);
/* What the environment says. */
static inline int sim_number(const char *name, int otherwise)
{
	const char *value = getenv(name);

	return value && *value ? atoi(value) : otherwise;
}
/* Is this the kernel that is to fail? Then it has. */
bool sim_kernel_fails(void);

#endif
