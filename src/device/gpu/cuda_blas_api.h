/*
 * cuda_blas_api.h - the part of cuBLASLt that cuda_blas.c uses, loaded at run time; see
 * cuda_api.h. Only for device/gpu/cuda*.
 */
#ifndef KOLM_DEVICE_GPU_CUDA_BLAS_API_H
#define KOLM_DEVICE_GPU_CUDA_BLAS_API_H

#include "device/gpu/cuda_api.h"

#ifndef CUBLAS_VERSION
typedef unsigned cublasStatus_t;
typedef unsigned cublasComputeType_t;
typedef unsigned cudaDataType_t;
typedef unsigned cublasLtMatmulDescAttributes_t;
typedef unsigned cublasLtMatmulPreferenceAttributes_t;
typedef struct cublasLtContext *cublasLtHandle_t;
typedef struct lt_desc *cublasLtMatmulDesc_t;
typedef struct lt_layout *cublasLtMatrixLayout_t;
typedef struct lt_preference *cublasLtMatmulPreference_t;
typedef struct {
	uint64_t data[8];
} cublasLtMatmulAlgo_t;
typedef struct {
	cublasLtMatmulAlgo_t algo;
	size_t workspaceSize;
	cublasStatus_t state;
	float wavesCount;
	int reserved[4];
} cublasLtMatmulHeuristicResult_t;
#endif

#define BLAS_CONSTANTS(X)                                \
	X(CUBLAS_STATUS_SUCCESS, 0)                      \
	X(CUBLAS_STATUS_NOT_INITIALIZED, 1)              \
	X(CUBLAS_STATUS_INVALID_VALUE, 7)                \
	X(CUBLAS_STATUS_EXECUTION_FAILED, 13)            \
	X(CUBLAS_STATUS_NOT_SUPPORTED, 15)               \
	X(CUBLAS_COMPUTE_32F, 68)                        \
	X(CUDA_R_32F, 0)                                 \
	X(CUDA_R_16F, 2)                                 \
	X(CUDA_R_16BF, 14)                               \
	X(CUBLAS_OP_N, 0)                                \
	X(CUBLAS_OP_T, 1)                                \
	X(CUBLASLT_MATMUL_DESC_TRANSA, 3)                \
	X(CUBLASLT_MATMUL_DESC_TRANSB, 4)                \
	X(CUBLASLT_MATMUL_DESC_EPILOGUE, 7)              \
	X(CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8)          \
	X(CUBLASLT_EPILOGUE_DEFAULT, 1)                  \
	X(CUBLASLT_EPILOGUE_RELU, 2)                     \
	X(CUBLASLT_EPILOGUE_BIAS, 4)                     \
	X(CUBLASLT_EPILOGUE_GELU, 32)                    \
	X(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1)   \
	X(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 3) \
	X(CUBLASLT_REDUCTION_SCHEME_NONE, 0)             \
	X(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 2)     \
	X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 5) \
	X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 6) \
	X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 7) \
	X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 8)

#ifndef CUBLAS_VERSION
#define CONSTANT(name, value) name = value,
enum { BLAS_CONSTANTS(CONSTANT) };
#undef CONSTANT
#endif

#define BLAS_FUNCTIONS(X)                                                                   \
	X(Create, cublasLtCreate, (cublasLtHandle_t *))                                     \
	X(Destroy, cublasLtDestroy, (cublasLtHandle_t))                                     \
	X(DescCreate, cublasLtMatmulDescCreate,                                             \
	  (cublasLtMatmulDesc_t *, cublasComputeType_t, cudaDataType_t))                    \
	X(DescDestroy, cublasLtMatmulDescDestroy, (cublasLtMatmulDesc_t))                   \
	X(DescSet, cublasLtMatmulDescSetAttribute,                                          \
	  (cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, const void *, size_t))     \
	X(LayoutCreate, cublasLtMatrixLayoutCreate,                                         \
	  (cublasLtMatrixLayout_t *, cudaDataType_t, uint64_t, uint64_t, int64_t))          \
	X(LayoutDestroy, cublasLtMatrixLayoutDestroy, (cublasLtMatrixLayout_t))             \
	X(PreferenceCreate, cublasLtMatmulPreferenceCreate, (cublasLtMatmulPreference_t *)) \
	X(PreferenceDestroy, cublasLtMatmulPreferenceDestroy, (cublasLtMatmulPreference_t)) \
	X(PreferenceSet, cublasLtMatmulPreferenceSetAttribute,                              \
	  (cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t, const void *,  \
	   size_t))                                                                         \
	X(Heuristic, cublasLtMatmulAlgoGetHeuristic,                                        \
	  (cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,                  \
	   cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,          \
	   cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t *, int *))      \
	X(Matmul, cublasLtMatmul,                                                           \
	  (cublasLtHandle_t, cublasLtMatmulDesc_t, const void *, const void *,              \
	   cublasLtMatrixLayout_t, const void *, cublasLtMatrixLayout_t, const void *,      \
	   const void *, cublasLtMatrixLayout_t, void *, cublasLtMatrixLayout_t,            \
	   const cublasLtMatmulAlgo_t *, void *, size_t, CUstream))

#define BLAS_MEMBER(name, symbol, args) cublasStatus_t(*name) args;
struct blas_api {
	BLAS_FUNCTIONS(BLAS_MEMBER)
};
#undef BLAS_MEMBER

#endif
