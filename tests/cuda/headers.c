/* headers.c - what kolm declares of CUDA is what NVIDIA's headers say; compiled where there are
   some, never run. */
#include <cublasLt.h>
#include <cuda.h>
#include <nvrtc.h>

#include "device/gpu/cuda_api.h"
#include "device/gpu/cuda_blas_api.h"

#define SAME(name, value) _Static_assert((int)name == (value), #name);
CUDA_CONSTANTS(SAME)
BLAS_CONSTANTS(SAME)

#define SAME_CUDA(name, symbol, args)  CUresult(*const same_##symbol) args = symbol;
#define SAME_NVRTC(name, symbol, args) nvrtcResult(*const same_##symbol) args = symbol;
#define SAME_BLAS(name, symbol, args)  cublasStatus_t(*const same_##symbol) args = symbol;
CUDA_FUNCTIONS(SAME_CUDA)
NVRTC_FUNCTIONS(SAME_NVRTC)
BLAS_FUNCTIONS(SAME_BLAS)

_Static_assert(sizeof(CUresult) == sizeof(unsigned) && sizeof(CUdevice) == sizeof(int) &&
		       sizeof(CUdeviceptr) == sizeof(unsigned long long) &&
		       sizeof(CUuuid) == 16 && sizeof(cublasStatus_t) == sizeof(unsigned) &&
		       sizeof(cublasLtMatmulAlgo_t) == 8 * sizeof(uint64_t) &&
		       sizeof(cublasLtMatmulHeuristicResult_t) == 96,
	       "types of cuda_api.h and cuda_blas_api.h");
