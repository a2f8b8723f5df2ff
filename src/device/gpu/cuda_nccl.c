/*
 * cuda_nccl.c - GPUs of several ranks that are a group of NCCL's: see struct gpu_groups of
 * driver.h, and device.h for what the calls mean.
 *
 * A group has a communicator and a stream: the queue that it was joined for. NCCL connects GPUs
 * when they first meet, and has the host wait for the others meanwhile; so they meet once right
 * when they are joined, where all ranks are at the same place, and NCCL_RUNTIME_CONNECT=0 has
 * them connected for every kind of sum then. From then on a call only puts work into the
 * stream.
 *
 * Whoever dies leaves the others waiting on their GPUs, where no host is told: the launcher
 * ends them. What NCCL notices by itself is seen by the next call.
 */
#include "base/util.h"
#include "device/gpu/cuda.h"
#include "device/gpu/cuda_nccl_api.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 64 };	 /* bytes of the first exchange */
enum { OLDEST = 21000 }; /* 2.10: the first that adds up bf16 */

struct gpu_group {
	struct gpu_context *context;
	const struct nccl_api *nccl;
	ncclComm_t comm;
	CUstream stream;
	int rank, size;
};

/* ---- the library ---- */

#define FIND(name, symbol, ...)                              \
	if (!cuda_find(library, #symbol, (void *)&api.name)) \
		missing = #symbol;

const struct nccl_api *nccl_load(char *why, size_t size)
{
	static struct nccl_api api;
	static void *library; /* stays: it leaves threads behind */
	const char *missing = NULL;

	if (library)
		return &api;
	setenv("NCCL_RUNTIME_CONNECT", "0", 0);
	library = cuda_open_version("libnccl.so", ".2");
	if (!library) {
		snprintf(why, size, "there is no libnccl.so.2");
		return NULL;
	}
	NCCL_FUNCTIONS(FIND)
	FIND(GetErrorString, ncclGetErrorString)
	if (!missing && api.GetVersion(&api.version) != ncclSuccess)
		missing = "version";
	if (!missing && api.version >= OLDEST)
		return &api;
	if (missing)
		snprintf(why, size, "libnccl.so.2 has no %s", missing);
	else
		snprintf(why, size, "libnccl.so.2 is older than 2.10");
	dlclose(library);
	library = NULL;
	return NULL;
}

static void check(const struct gpu_group *g, ncclResult_t code, const char *what)
{
	if (code != ncclSuccess)
		gpu_lost("cuda", g->context->number, what, g->nccl->GetErrorString(code));
}

/* ---- joining ---- */

static void introduce(struct gpu_context *c, struct device_card *card)
{
	const char *wish = getenv("KOLM_NCCL");
	const struct nccl_api *nccl;
	CUuuid uuid;

	if (wish && !strcmp(wish, "0")) {
		snprintf(card->why, sizeof(card->why), "KOLM_NCCL=0");
		return;
	}
	nccl = nccl_load(card->why, sizeof(card->why));
	if (!nccl)
		return;
	cuda_enter(c);
	cuda_check(c->cu->DeviceGetUuid(&uuid, c->device), "asking for the device's number");
	memcpy(card->device, uuid.bytes, sizeof(card->device));
	snprintf(card->through, sizeof(card->through), "NCCL %d.%d.%d", nccl->version / 10000,
		 nccl->version / 100 % 100, nccl->version % 100);
}

static enum status found(struct gpu_context *c, struct device_ticket *ticket, struct error *err)
{
	const struct nccl_api *nccl = nccl_load(err->msg, sizeof(err->msg));
	ncclUniqueId id;
	ncclResult_t code;

	_Static_assert(sizeof(id) <= sizeof(ticket->bytes), "an id is a ticket");
	cuda_enter(c);
	code = nccl->GetUniqueId(&id);
	memcpy(ticket->bytes, &id, sizeof(id));
	if (code == ncclSuccess)
		return OK;
	return FAIL(err, ERR_FAILED, "NCCL does not start: %s", nccl->GetErrorString(code));
}

/* From the first to each other, and back, at places of their own. */
static ncclResult_t greet(const struct gpu_group *g, char *at)
{
	const struct nccl_api *nccl = g->nccl;
	int first = g->rank ? 0 : 1, end = g->rank ? 1 : g->size;
	ncclResult_t code = nccl->GroupStart(), ended;

	for (int r = first; r < end && code == ncclSuccess; r++) {
		code = nccl->Send(at, FIRST, ncclUint8, r, g->comm, g->stream);
		if (code == ncclSuccess)
			code = nccl->Recv(at + (size_t)(r + 1) * FIRST, FIRST, ncclUint8, r,
					  g->comm, g->stream);
	}
	ended = nccl->GroupEnd();
	return code == ncclSuccess ? ended : code;
}

/* All of them add up and greet the first, or the first sends to the second, as they will. */
static void meet(struct gpu_group *g, enum device_queue queue)
{
	const struct cuda_api *cu = g->context->cu;
	const struct nccl_api *nccl = g->nccl;
	size_t size = (size_t)(g->size + 1) * FIRST;
	CUdeviceptr memory = 0;
	void *at;

	cuda_check(cu->MemAlloc(&memory, size), "allocating memory");
	at = (void *)(uintptr_t)memory; /* NOLINT: it is never followed */
	cuda_check(cu->MemsetD8Async(memory, 0, size, g->stream), "clearing memory");
	if (queue == QUEUE_SUMS) {
		check(g,
		      nccl->AllReduce(at, at, FIRST / sizeof(float), ncclFloat32, ncclSum,
				      g->comm, g->stream),
		      "the first sum with NCCL");
		check(g, greet(g, at), "the first messages with NCCL");
	} else if (g->rank == 0) {
		check(g, nccl->Send(at, FIRST, ncclUint8, 1, g->comm, g->stream),
		      "the first message with NCCL");
	} else {
		check(g, nccl->Recv(at, FIRST, ncclUint8, 0, g->comm, g->stream),
		      "the first message with NCCL");
	}
	cuda_check(cu->StreamSynchronize(g->stream), "meeting the other GPUs");
	cuda_check(cu->MemFree(memory), "freeing memory");
}

static void leave(struct gpu_group *g, bool failed)
{
	cuda_enter(g->context);
	if (failed) /* others may never come */
		g->nccl->CommAbort(g->comm);
	else
		check(g, g->nccl->CommDestroy(g->comm), "leaving a group of NCCL's");
	free(g);
}

static enum status join(struct gpu_context *c, const struct device_ticket *ticket, int size,
			int rank, enum device_queue queue, struct gpu_group **out,
			struct error *err)
{
	struct gpu_group *g = calloc(1, sizeof(*g));
	ncclUniqueId id;
	ncclResult_t code;

	if (!g)
		return FAIL(err, ERR_MEMORY, "no memory for a group of GPUs");
	*g = (struct gpu_group){.context = c,
				.nccl = nccl_load(err->msg, sizeof(err->msg)),
				.rank = rank,
				.size = size};
	cuda_enter(c);
	if (!c->streams[queue])
		cuda_check(c->cu->StreamCreate(&c->streams[queue], CU_STREAM_NON_BLOCKING),
			   "making a queue");
	g->stream = c->streams[queue];
	memcpy(&id, ticket->bytes, sizeof(id));
	code = g->nccl->CommInitRank(&g->comm, size, id, rank);
	if (code != ncclSuccess) {
		FAIL(err, ERR_FAILED, "NCCL can't join the GPUs of %d ranks: %s", size,
		     g->nccl->GetErrorString(code));
		free(g);
		return HINT(err, "NCCL_DEBUG=WARN has it say more; KOLM_NCCL=0 exchanges "
				 "through the host's memory instead");
	}
	meet(g, queue);
	*out = g;
	return OK;
}

/* ---- exchanging ---- */

static ncclDataType_t type_of(enum dtype type)
{
	static const ncclDataType_t types[DTYPE_COUNT] = {
		[DTYPE_F32] = ncclFloat32,   [DTYPE_F16] = ncclFloat16,
		[DTYPE_BF16] = ncclBfloat16, [DTYPE_I32] = ncclInt32,
		[DTYPE_BYTE] = ncclUint8,
	};

	return types[type];
}

/* Where a member's slice begins, and how many elements it has. */
static char *slice_of(const struct gpu_group *g, const struct device_exchange *x, int member,
		      size_t *n)
{
	size_t begin = (size_t)part_begin((int64_t)x->n, member, g->size);

	*n = (size_t)part_begin((int64_t)x->n, member + 1, g->size) - begin;
	return (char *)x->data + begin * dtype_size(x->type);
}

/* Slices of different sizes are one call each, which NCCL does together. */
static ncclResult_t each_slice(const struct gpu_group *g, const struct device_exchange *x)
{
	const struct nccl_api *nccl = g->nccl;
	ncclDataType_t type = type_of(x->type);
	ncclResult_t code = nccl->GroupStart(), end;

	for (int r = 0; r < g->size && code == ncclSuccess; r++) {
		size_t n;
		void *at = slice_of(g, x, r, &n);

		if (!n)
			continue;
		if (x->kind == EXCHANGE_REDUCE_SCATTER)
			code = nccl->Reduce(at, at, n, type, ncclSum, r, g->comm, g->stream);
		else
			code = nccl->Broadcast(at, at, n, type, r, g->comm, g->stream);
	}
	end = nccl->GroupEnd();
	return code == ncclSuccess ? end : code;
}

/* Between the root, which has all slices, and the others. */
static ncclResult_t with_root(const struct gpu_group *g, const struct device_exchange *x)
{
	const struct nccl_api *nccl = g->nccl;
	bool is_root = g->rank == x->peer, out = is_root == (x->kind == EXCHANGE_SCATTER);
	ncclDataType_t type = type_of(x->type);
	ncclResult_t code = nccl->GroupStart(), end;

	for (int r = 0; r < g->size && code == ncclSuccess; r++) {
		int peer = is_root ? r : x->peer;
		size_t n;
		void *at = slice_of(g, x, is_root ? r : g->rank, &n);

		if (!n || peer == g->rank || (!is_root && r != x->peer))
			continue;
		code = out ? nccl->Send(at, n, type, peer, g->comm, g->stream)
			   : nccl->Recv(at, n, type, peer, g->comm, g->stream);
	}
	end = nccl->GroupEnd();
	return code == ncclSuccess ? end : code;
}

static ncclResult_t start(const struct gpu_group *g, const struct device_exchange *x)
{
	const struct nccl_api *nccl = g->nccl;
	ncclDataType_t type = type_of(x->type);
	bool is_even = x->n % (size_t)g->size == 0;
	size_t own;
	void *slice = slice_of(g, x, g->rank, &own);

	switch (x->kind) {
	case EXCHANGE_ALLREDUCE:
		return nccl->AllReduce(x->data, x->data, x->n, type, ncclSum, g->comm,
				       g->stream);
	case EXCHANGE_REDUCE_SCATTER:
		return is_even ? nccl->ReduceScatter(x->data, slice, own, type, ncclSum,
						     g->comm, g->stream)
			       : each_slice(g, x);
	case EXCHANGE_ALLGATHER:
		return is_even ? nccl->AllGather(slice, x->data, own, type, g->comm, g->stream)
			       : each_slice(g, x);
	case EXCHANGE_BROADCAST:
		return nccl->Broadcast(x->data, x->data, x->n, type, x->peer, g->comm,
				       g->stream);
	case EXCHANGE_SCATTER:
	case EXCHANGE_GATHER:
		return with_root(g, x);
	case EXCHANGE_SEND:
		return nccl->Send(x->data, x->n, type, x->peer, g->comm, g->stream);
	case EXCHANGE_RECEIVE:
		return nccl->Recv(x->data, x->n, type, x->peer, g->comm, g->stream);
	}
	return ncclInvalidArgument;
}

static void exchange(struct gpu_group *g, const struct device_exchange *x)
{
	static const char *const names[] = {
		[EXCHANGE_ALLREDUCE] = "an all-reduce with NCCL",
		[EXCHANGE_REDUCE_SCATTER] = "a reduce-scatter with NCCL",
		[EXCHANGE_ALLGATHER] = "an all-gather with NCCL",
		[EXCHANGE_BROADCAST] = "a broadcast with NCCL",
		[EXCHANGE_SCATTER] = "a scatter with NCCL",
		[EXCHANGE_GATHER] = "a gather with NCCL",
		[EXCHANGE_SEND] = "sending a message with NCCL",
		[EXCHANGE_RECEIVE] = "receiving a message with NCCL",
	};
	ncclResult_t code, before = ncclSuccess;

	if (!x->n)
		return;
	cuda_enter(g->context);
	code = g->nccl->CommGetAsyncError(g->comm, &before);
	check(g, code == ncclSuccess ? before : code, names[x->kind]);
	check(g, start(g, x), names[x->kind]);
}

const struct gpu_groups cuda_groups = {
	.introduce = introduce,
	.found = found,
	.join = join,
	.leave = leave,
	.exchange = exchange,
};
