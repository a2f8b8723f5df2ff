/* sim_nccl.c - communicators and calls of NCCL for the simulated CUDA; see sim_nccl.h */
#include "sim_nccl.h"
#include "base/util.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct sim_driver driver;

/* In a unique id: the memory is a file of that process. */
struct lead {
	uint64_t token;
	int process, file;
};

static _Thread_local struct {
	int depth, n;
	struct ncclComm *comm;
	CUstream stream;
	struct exchange exchanges[TOGETHER];
} group;

static bool find(void *library, const char *name, void *function)
{
	void *found = dlsym(library, name);

	memcpy(function, &found, sizeof(found));
	return found != NULL;
}

bool sim_find_driver(void)
{
	char path[4096], *slash;
	void *library;
	Dl_info here;

	if (!dladdr(&driver, &here))
		return false;
	snprintf(path, sizeof(path) - 16, "%s", here.dli_fname);
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, "libcuda.so.1");
	library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	return library && find(library, "sim_enqueue_attempt", (void *)&driver.enqueue) &&
	       find(library, "sim_translate", (void *)&driver.translate) &&
	       find(library, "sim_lock", (void *)&driver.lock) &&
	       find(library, "sim_unlock", (void *)&driver.unlock) &&
	       find(library, "sim_keep", (void *)&driver.keep) &&
	       find(library, "sim_blame", (void *)&driver.blame) &&
	       find(library, "sim_device", (void *)&driver.device);
}

/* Is it what KOLM_SIM_FAIL says, "what" or "what:N", at its N-th time? */
static bool fails(const char *what)
{
	static int count;
	const char *value = getenv("KOLM_SIM_FAIL");
	size_t n = strlen(what);

	if (!value || strncmp(value, what, n) != 0)
		return false;
	return value[n] == ':' ? ++count == atoi(value + n + 1) : !value[n];
}

/* ---- communicators ---- */

static size_t hall_size(void)
{
	return (size_t)round_up(sizeof(struct hall), 4096) + (size_t)MEMBERS * MEMBERS * REGION;
}

EXPORTED ncclResult_t ncclGetVersion(int *version)
{
	*version = sim_number("KOLM_SIM_NCCL", 22809);
	return ncclSuccess;
}

/* The file stays open as long as this process: others come by way of it. */
EXPORTED ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
	struct timespec now;
	struct lead lead = {.process = getpid(), .file = memfd_create("nccl", MFD_CLOEXEC)};

	clock_gettime(CLOCK_MONOTONIC, &now);
	lead.token = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	if (lead.file < 0 || ftruncate(lead.file, (off_t)hall_size()) ||
	    pwrite(lead.file, &lead.token, sizeof(lead.token), 0) != sizeof(lead.token))
		return ncclSystemError;
	memset(id, 0x5A, sizeof(*id));
	memcpy(id, &lead, sizeof(lead));
	return ncclSuccess;
}

static struct hall *enter(const struct lead *lead)
{
	char path[64];
	struct hall *hall;
	int file;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", lead->process, lead->file);
	file = open(path, O_RDWR | O_CLOEXEC);
	if (file < 0)
		return NULL;
	hall = mmap(NULL, hall_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file,
		    0);
	close(file);
	return hall == MAP_FAILED || hall->token != lead->token ? NULL : hall;
}

static bool has_twins(const struct hall *h, int size)
{
	for (int i = 0; i < size; i++)
		for (int k = 0; k < i; k++)
			if (h->device[i] == h->device[k])
				return true;
	return false;
}

EXPORTED ncclResult_t ncclCommInitRank(ncclComm_t *out, int size, ncclUniqueId id, int rank)
{
	struct ncclComm *c = calloc(1, sizeof(*c));
	struct lead lead;

	memcpy(&lead, &id, sizeof(lead));
	if (!c || !sim_find_driver() || size < 1 || size > MEMBERS || rank < 0 || rank >= size)
		return ncclInvalidArgument;
	if (fails("join"))
		return ncclSystemError;
	*c = (struct ncclComm){.hall = enter(&lead), .rank = rank, .size = size};
	if (!c->hall || atomic_exchange(&c->hall->is_here[rank], true))
		return ncclInvalidArgument;
	c->hall->device[rank] = driver.device();
	c->hall->came++;
	while (c->hall->came < size)
		usleep(100);
	if (lead.process == getpid())
		close(lead.file);
	if (has_twins(c->hall, size))
		return ncclInvalidUsage;
	driver.lock();
	driver.keep(1);
	driver.unlock();
	*out = c;
	return ncclSuccess;
}

/* As the real one may, it returns when all members have called it. */
EXPORTED ncclResult_t ncclCommDestroy(ncclComm_t c)
{
	driver.lock();
	if (c->under_way)
		driver.blame("NCCL: a communicator is destroyed while it is used");
	driver.keep(-1);
	driver.unlock();
	c->hall->left++;
	for (int i = 0; c->hall->left < c->size; i++) {
		if (i == PATIENCE)
			driver.blame(
				"NCCL: a communicator is destroyed by some of its members");
		usleep(100);
	}
	munmap(c->hall, hall_size());
	free(c);
	return ncclSuccess;
}

/* What is under way ends; it is still in queues, so it stays. */
EXPORTED ncclResult_t ncclCommAbort(ncclComm_t c)
{
	driver.lock();
	c->aborted = true;
	driver.keep(-1);
	driver.unlock();
	return ncclSuccess;
}

EXPORTED ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *error)
{
	(void)c;
	*error = fails("remote") ? ncclRemoteError : ncclSuccess;
	return ncclSuccess;
}

EXPORTED const char *ncclGetErrorString(ncclResult_t code);
const char *ncclGetErrorString(ncclResult_t code)
{
	switch (code) {
	case ncclSystemError:
		return "unhandled system error";
	case ncclInvalidArgument:
		return "invalid argument";
	case ncclInvalidUsage:
		return "invalid usage";
	case ncclRemoteError:
		return "remote process exited or there was a network error";
	}
	return "unknown result code";
}

/* ---- calls ---- */

/* With the lock. */
static ncclResult_t flush(void)
{
	size_t bytes = (size_t)group.n * sizeof(*group.exchanges);
	struct together *t = malloc(sizeof(*t) + bytes);
	CUresult code = CUDA_SUCCESS;

	if (!t)
		abort();
	*t = (struct together){group.comm, group.n};
	memcpy(t->exchanges, group.exchanges, bytes);
	if (group.n) {
		group.comm->under_way++;
		code = driver.enqueue(group.stream, sim_meet, t, sizeof(*t) + bytes);
	}
	group.n = 0;
	free(t);
	return code == CUDA_SUCCESS ? ncclSuccess : 1; /* ncclUnhandledCudaError */
}

EXPORTED ncclResult_t ncclGroupStart(void)
{
	group.depth++;
	return ncclSuccess;
}

EXPORTED ncclResult_t ncclGroupEnd(void)
{
	ncclResult_t code;

	if (--group.depth > 0)
		return ncclSuccess;
	driver.lock();
	code = flush();
	driver.unlock();
	return code;
}

/* One more exchange, of so many bytes either way (0: of none). */
static ncclResult_t call(ncclComm_t c, CUstream stream, struct exchange x, const void *from,
			 size_t out, void *to, size_t in)
{
	ncclResult_t code = ncclSuccess;

	if (fails("exchange"))
		return ncclSystemError;
	driver.lock();
	if (out > REGION || in > REGION || group.n == TOGETHER)
		driver.blame("NCCL: more than the simulated one can");
	if ((group.n && (group.comm != c || group.stream != stream)) ||
	    (c->stream && c->stream != stream))
		driver.blame("NCCL: another communicator or stream than before");
	if (x.terms.root < 0 || x.terms.root >= c->size || x.peer < 0 || x.peer >= c->size ||
	    (x.terms.kind >= SEND && x.peer == c->rank))
		code = ncclInvalidArgument;
	c->stream = group.stream = stream;
	group.comm = c;
	x.from = out ? driver.translate(from, out, "NCCL, what is sent") : NULL;
	x.to = in ? driver.translate(to, in, "NCCL, what is received") : NULL;
	x.number = x.terms.kind < SEND ? ++c->collectives : 0;
	if (code == ncclSuccess) {
		group.exchanges[group.n++] = x;
		if (!group.depth)
			code = flush();
	}
	driver.unlock();
	return code;
}

/* In place means: its part of the larger one is the smaller one. */
static void check_place(const struct ncclComm *c, const char *large, const char *small,
			size_t bytes)
{
	if (small < large + (size_t)c->size * bytes && large < small + bytes &&
	    small != large + (size_t)c->rank * bytes)
		driver.blame("NCCL: buffers overlap");
}

EXPORTED ncclResult_t ncclAllReduce(const void *from, void *to, size_t count,
				    ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
				    CUstream stream)
{
	size_t bytes = count * sim_nccl_size(type);

	return op != ncclSum ? ncclInvalidArgument
			     : call(comm, stream,
				    (struct exchange){{ALLREDUCE, type, 0, count}, .peer = 0},
				    from, bytes, to, bytes);
}

EXPORTED ncclResult_t ncclReduce(const void *from, void *to, size_t count, ncclDataType_t type,
				 ncclRedOp_t op, int root, ncclComm_t comm, CUstream stream)
{
	size_t bytes = count * sim_nccl_size(type);

	return op != ncclSum ? ncclInvalidArgument
			     : call(comm, stream,
				    (struct exchange){{REDUCE, type, root, count}, .peer = 0},
				    from, bytes, to, comm->rank == root ? bytes : 0);
}

EXPORTED ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count,
					ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
					CUstream stream)
{
	size_t bytes = count * sim_nccl_size(type);

	check_place(comm, from, to, bytes);
	return op != ncclSum
		       ? ncclInvalidArgument
		       : call(comm, stream,
			      (struct exchange){{REDUCE_SCATTER, type, 0, count}, .peer = 0},
			      from, bytes * (size_t)comm->size, to, bytes);
}

EXPORTED ncclResult_t ncclAllGather(const void *from, void *to, size_t count,
				    ncclDataType_t type, ncclComm_t comm, CUstream stream)
{
	size_t bytes = count * sim_nccl_size(type);

	check_place(comm, to, from, bytes);
	return call(comm, stream, (struct exchange){{ALLGATHER, type, 0, count}, .peer = 0},
		    from, bytes, to, bytes * (size_t)comm->size);
}

EXPORTED ncclResult_t ncclBroadcast(const void *from, void *to, size_t count,
				    ncclDataType_t type, int root, ncclComm_t comm,
				    CUstream stream)
{
	size_t bytes = count * sim_nccl_size(type);

	return call(comm, stream, (struct exchange){{BROADCAST, type, root, count}, .peer = 0},
		    from, comm->rank == root ? bytes : 0, to, bytes);
}

EXPORTED ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer,
			       ncclComm_t comm, CUstream stream)
{
	return call(comm, stream, (struct exchange){{SEND, type, 0, count}, .peer = peer}, from,
		    count * sim_nccl_size(type), NULL, 0);
}

EXPORTED ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer,
			       ncclComm_t comm, CUstream stream)
{
	return call(comm, stream, (struct exchange){{RECEIVE, type, 0, count}, .peer = peer},
		    NULL, 0, to, count * sim_nccl_size(type));
}
