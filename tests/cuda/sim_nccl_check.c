/*
 * sim_nccl_check.c - does the simulated NCCL notice what it is there to notice? Two processes
 * meet through the libraries of a folder, once well and once for each mistake.
 */
#include "device/gpu/cuda_nccl_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 100, RANKS = 2, FLOATS = N * (int)sizeof(float) };

static struct cuda_api cu;
static struct nccl_api nccl;

struct meeting {
	int rank;
	ncclComm_t comm;
	CUstream stream;
	float *host;
	CUdeviceptr memory;
};

static void *at(const struct meeting *m)
{
	return (void *)(uintptr_t)m->memory; /* NOLINT: it is never followed */
}

static CUresult finish(const struct meeting *m, ncclResult_t code)
{
	return code == ncclSuccess ? cu.StreamSynchronize(m->stream) : (CUresult)code;
}

/* Each case says whether this rank is as it should be. */
static bool sums(struct meeting *m)
{
	ncclResult_t code =
		nccl.AllReduce(at(m), at(m), N, ncclFloat32, ncclSum, m->comm, m->stream);

	cu.MemcpyDtoHAsync(m->host, m->memory, FLOATS, m->stream);
	if (finish(m, code) != CUDA_SUCCESS)
		return false;
	for (int i = 0; i < N; i++)
		if (m->host[i] != (float)(2 * i + 1))
			return false;
	return nccl.CommDestroy(m->comm) == ncclSuccess;
}

static bool sizes(struct meeting *m)
{
	return finish(m, nccl.AllReduce(at(m), at(m), (size_t)(N - m->rank), ncclFloat32,
					ncclSum, m->comm, m->stream)) != CUDA_SUCCESS;
}

static bool types(struct meeting *m)
{
	return finish(m,
		      nccl.AllReduce(at(m), at(m), N / 2, m->rank ? ncclFloat16 : ncclBfloat16,
				     ncclSum, m->comm, m->stream)) != CUDA_SUCCESS;
}

static bool order(struct meeting *m)
{
	ncclResult_t code =
		m->rank ? nccl.AllReduce(at(m), at(m), N, ncclFloat32, ncclSum, m->comm,
					 m->stream)
			: nccl.Broadcast(at(m), at(m), N, ncclFloat32, 0, m->comm, m->stream);

	return finish(m, code) != CUDA_SUCCESS;
}

/* The receiver is the one to say it. */
static bool messages(struct meeting *m)
{
	if (!m->rank)
		return finish(m, nccl.Send(at(m), N, ncclFloat32, 1, m->comm, m->stream)) ==
		       CUDA_SUCCESS;
	return finish(m, nccl.Recv(at(m), N - 1, ncclFloat32, 0, m->comm, m->stream)) !=
	       CUDA_SUCCESS;
}

/* Those of the first would be in place. */
static bool places(struct meeting *m)
{
	return m->rank == 0 || finish(m, nccl.AllGather(at(m), at(m), N / 2, ncclFloat32,
							m->comm, m->stream)) != CUDA_SUCCESS;
}

static bool leaving(struct meeting *m)
{
	if (m->rank == 0)
		nccl.Send(at(m), N, ncclFloat32, 1, m->comm, m->stream);
	nccl.CommDestroy(m->comm);
	return m->rank == 1 || cu.StreamSynchronize(m->stream) != CUDA_SUCCESS;
}

static const struct {
	const char *name;
	bool (*run)(struct meeting *m);
	bool twins; /* both on one device: they do not meet */
} cases[] = {
	{"sums", sums, false},	     {"sizes", sizes, false},	    {"types", types, false},
	{"order", order, false},     {"messages", messages, false}, {"places", places, false},
	{"leaving", leaving, false}, {"twins", NULL, true},
};

static void *open_in(const char *folder, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return dlopen(path, RTLD_NOW);
}

static bool find(void *library, const char *name, void *function)
{
	void *found = library ? dlsym(library, name) : NULL;

	memcpy(function, &found, sizeof(found));
	return found != NULL;
}

static bool load(const char *folder)
{
	void *library = open_in(folder, "libcuda.so.1");
	bool all = true;

#define FIND_CUDA(name, symbol, ...) all = find(library, #symbol, (void *)&cu.name) && all;
#define FIND_NCCL(name, symbol, ...) all = find(library, #symbol, (void *)&nccl.name) && all;
	CUDA_FUNCTIONS(FIND_CUDA)
	library = open_in(folder, "libnccl.so.2");
	NCCL_FUNCTIONS(FIND_NCCL)
	return all;
}

static bool meet(const char *folder, int k, int rank, const int pipes[2])
{
	struct meeting m = {.rank = rank};
	ncclUniqueId id;
	CUcontext context;
	CUdevice device;
	ncclResult_t code;

	if (!load(folder) || cu.Init(0) != CUDA_SUCCESS ||
	    cu.DeviceGet(&device, cases[k].twins ? 0 : rank) != CUDA_SUCCESS ||
	    cu.DevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS ||
	    cu.CtxSetCurrent(context) != CUDA_SUCCESS ||
	    cu.StreamCreate(&m.stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS ||
	    cu.MemAlloc(&m.memory, FLOATS) != CUDA_SUCCESS ||
	    cu.MemAllocHost((void **)&m.host, FLOATS) != CUDA_SUCCESS)
		return false;
	if (rank == 0 && (nccl.GetUniqueId(&id) != ncclSuccess ||
			  write(pipes[1], &id, sizeof(id)) != (ssize_t)sizeof(id)))
		return false;
	if (rank == 1 && read(pipes[0], &id, sizeof(id)) != (ssize_t)sizeof(id))
		return false;
	code = nccl.CommInitRank(&m.comm, RANKS, id, rank);
	if (cases[k].twins)
		return code == ncclInvalidUsage;
	for (int i = 0; i < N; i++)
		m.host[i] = (float)(i + rank);
	cu.MemcpyHtoDAsync(m.memory, m.host, FLOATS, m.stream);
	return code == ncclSuccess && cu.StreamSynchronize(m.stream) == CUDA_SUCCESS &&
	       cases[k].run(&m);
}

static bool try_case(const char *folder, int k)
{
	int pipes[2], status;
	bool well = pipe(pipes) == 0;

	for (int rank = 0; rank < RANKS; rank++)
		if (fork() == 0) {
			alarm(30);
			_exit(!meet(folder, k, rank, pipes));
		}
	for (int rank = 0; rank < RANKS; rank++)
		well = wait(&status) > 0 && status == 0 && well;
	close(pipes[0]);
	close(pipes[1]);
	printf("%s %s\n", well ? "ok     " : "FAILED ", cases[k].name);
	fflush(stdout);
	return well;
}

int main(int argc, char **argv)
{
	bool well = argc == 2;

	for (int k = 0; k < (int)(sizeof(cases) / sizeof(*cases)) && argc == 2; k++)
		well = try_case(argv[1], k) && well;
	return !well;
}
