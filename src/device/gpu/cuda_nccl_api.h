/*
 * cuda_nccl_api.h - the part of NCCL that cuda_nccl.c uses, loaded at run time. Where NVIDIA's
 * header is, tests/cuda/headers_nccl.c includes it before this file and compares every line.
 * Only for device/gpu/cuda*.
 */
#ifndef KOLM_DEVICE_GPU_CUDA_NCCL_API_H
#define KOLM_DEVICE_GPU_CUDA_NCCL_API_H

#include "device/gpu/cuda_api.h"

#ifndef NCCL_MAJOR
typedef unsigned ncclResult_t;
typedef unsigned ncclDataType_t;
typedef unsigned ncclRedOp_t;
typedef struct ncclComm *ncclComm_t;
typedef struct {
	char internal[128];
} ncclUniqueId;
#endif

#define NCCL_CONSTANTS(X)         \
	X(ncclSuccess, 0)         \
	X(ncclSystemError, 2)     \
	X(ncclInvalidArgument, 4) \
	X(ncclInvalidUsage, 5)    \
	X(ncclRemoteError, 6)     \
	X(ncclUint8, 1)           \
	X(ncclInt32, 2)           \
	X(ncclFloat16, 6)         \
	X(ncclFloat32, 7)         \
	X(ncclBfloat16, 9)        \
	X(ncclSum, 0)

#ifndef NCCL_MAJOR
#define CONSTANT(name, value) name = value,
enum { NCCL_CONSTANTS(CONSTANT) };
#undef CONSTANT
#endif

#define NCCL_FUNCTIONS(X)                                                                    \
	X(GetVersion, ncclGetVersion, (int *))                                               \
	X(GetUniqueId, ncclGetUniqueId, (ncclUniqueId *))                                    \
	X(CommInitRank, ncclCommInitRank, (ncclComm_t *, int, ncclUniqueId, int))            \
	X(CommDestroy, ncclCommDestroy, (ncclComm_t))                                        \
	X(CommAbort, ncclCommAbort, (ncclComm_t))                                            \
	X(CommGetAsyncError, ncclCommGetAsyncError, (ncclComm_t, ncclResult_t *))            \
	X(GroupStart, ncclGroupStart, (void))                                                \
	X(GroupEnd, ncclGroupEnd, (void))                                                    \
	X(AllReduce, ncclAllReduce,                                                          \
	  (const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, CUstream)) \
	X(ReduceScatter, ncclReduceScatter,                                                  \
	  (const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, CUstream)) \
	X(Reduce, ncclReduce,                                                                \
	  (const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, int, ncclComm_t,       \
	   CUstream))                                                                        \
	X(AllGather, ncclAllGather,                                                          \
	  (const void *, void *, size_t, ncclDataType_t, ncclComm_t, CUstream))              \
	X(Broadcast, ncclBroadcast,                                                          \
	  (const void *, void *, size_t, ncclDataType_t, int, ncclComm_t, CUstream))         \
	X(Send, ncclSend, (const void *, size_t, ncclDataType_t, int, ncclComm_t, CUstream)) \
	X(Recv, ncclRecv, (void *, size_t, ncclDataType_t, int, ncclComm_t, CUstream))

#define NCCL_MEMBER(name, symbol, args) ncclResult_t(*name) args;
struct nccl_api {
	NCCL_FUNCTIONS(NCCL_MEMBER)
	const char *(*GetErrorString)(ncclResult_t);
	int version; /* 22809: 2.28.9 */
};
#undef NCCL_MEMBER

/* Loaded once; NULL, and why, where there is none. */
const struct nccl_api *nccl_load(char *why, size_t size);

#endif
