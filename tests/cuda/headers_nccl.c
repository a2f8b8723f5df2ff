/* headers_nccl.c - what kolm declares of NCCL is what NVIDIA's header says; compiled where
   there is one, never run. */
#include <cuda.h>
#include <nccl.h>
#include <nvrtc.h>

#include "device/gpu/cuda_nccl_api.h"

#define SAME(name, value) _Static_assert((int)name == (value), #name);
NCCL_CONSTANTS(SAME)

#define SAME_NCCL(name, symbol, args) ncclResult_t(*const same_##symbol) args = symbol;
NCCL_FUNCTIONS(SAME_NCCL)
const char *(*const same_ncclGetErrorString)(ncclResult_t) = ncclGetErrorString;

_Static_assert(sizeof(ncclResult_t) == sizeof(unsigned) &&
		       sizeof(ncclDataType_t) == sizeof(unsigned) &&
		       sizeof(ncclRedOp_t) == sizeof(unsigned) && sizeof(ncclUniqueId) == 128,
	       "types of cuda_nccl_api.h");
