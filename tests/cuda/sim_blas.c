/*
 * sim_blas.c - cuBLASLt for the simulated CUDA: one product after the other by three loops, in
 * the queue that it was given. It takes what cuBLASLt takes: leading dimensions that are long
 * enough, types that go together, a bias of the result's type, and room in device memory.
 */
#include "sim.h"
#include "base/half.h"
#include "device/gpu/cuda_blas_api.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SIM_BLAS(name, symbol, args) cublasStatus_t symbol args;
BLAS_FUNCTIONS(SIM_BLAS)

enum { ROOM = 4096 };

struct cublasLtContext {
	int unused;
};

struct lt_desc {
	int32_t turned_a, turned_b, epilogue;
	const void *bias;
};

struct lt_layout {
	int type;
	uint64_t rows, columns;
	int64_t step;
};

struct lt_preference {
	uint64_t room;
	uint32_t aligned[4];
};

/* C (m, n) in columns. */
struct product {
	struct lt_desc how;
	struct lt_layout a, b, c;
	const char *pa, *pb;
	char *pc;
	void *room;
	float alpha, beta;
};

/* The other library of this folder: queues and memory are its. */
static struct {
	CUresult (*enqueue)(CUstream, sim_work *, const void *, size_t);
	void *(*translate)(const void *, size_t, const char *);
	void (*lock)(void), (*unlock)(void);
	void (*takes)(const char *);
} driver;

static bool find(void *library, const char *name, void *function)
{
	void *found = dlsym(library, name);

	memcpy(function, &found, sizeof(found));
	return found != NULL;
}

EXPORTED cublasStatus_t cublasLtCreate(cublasLtHandle_t *out)
{
	char path[4096], *slash;
	void *library;
	Dl_info here;

	if (!dladdr(&driver, &here))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	snprintf(path, sizeof(path) - 16, "%s", here.dli_fname);
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, "libcuda.so.1");
	library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	if (!library || !find(library, "sim_enqueue", (void *)&driver.enqueue) ||
	    !find(library, "sim_translate", (void *)&driver.translate) ||
	    !find(library, "sim_lock", (void *)&driver.lock) ||
	    !find(library, "sim_unlock", (void *)&driver.unlock) ||
	    !find(library, "sim_takes", (void *)&driver.takes))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	*out = calloc(1, sizeof(**out));
	return CUBLAS_STATUS_SUCCESS;
}

EXPORTED cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
	free(handle);
	return CUBLAS_STATUS_SUCCESS;
}

EXPORTED cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out,
						 cublasComputeType_t compute,
						 cudaDataType_t scale)
{
	/* Another one would be TF32, or sums of 16 bits. */
	if (compute != CUBLAS_COMPUTE_32F || scale != CUDA_R_32F)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	*out = calloc(1, sizeof(**out));
	(*out)->epilogue = CUBLASLT_EPILOGUE_DEFAULT;
	return CUBLAS_STATUS_SUCCESS;
}

EXPORTED cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d)
{
	free(d);
	return CUBLAS_STATUS_SUCCESS;
}

EXPORTED cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d,
						       cublasLtMatmulDescAttributes_t what,
						       const void *value, size_t size)
{
	void *to = what == CUBLASLT_MATMUL_DESC_TRANSA	       ? (void *)&d->turned_a
		   : what == CUBLASLT_MATMUL_DESC_TRANSB       ? (void *)&d->turned_b
		   : what == CUBLASLT_MATMUL_DESC_EPILOGUE     ? (void *)&d->epilogue
		   : what == CUBLASLT_MATMUL_DESC_BIAS_POINTER ? (void *)&d->bias
							       : NULL;

	if (!to || size != (to == &d->bias ? sizeof(void *) : sizeof(int32_t)))
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy(to, value, size);
	return CUBLAS_STATUS_SUCCESS;
}

EXPORTED cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out,
						   cudaDataType_t type, uint64_t rows,
						   uint64_t columns, int64_t step)
{
	if (step < (int64_t)rows)
		return CUBLAS_STATUS_INVALID_VALUE;
	*out = calloc(1, sizeof(**out));
	**out = (struct lt_layout){(int)type, rows, columns, step};
	return CUBLAS_STATUS_SUCCESS;
}

EXPORTED cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l)
{
	free(l);
	return CUBLAS_STATUS_SUCCESS;
}

EXPORTED cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out)
{
	*out = calloc(1, sizeof(**out));
	return CUBLAS_STATUS_SUCCESS;
}

EXPORTED cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p)
{
	free(p);
	return CUBLAS_STATUS_SUCCESS;
}

EXPORTED cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
	cublasLtMatmulPreference_t p, cublasLtMatmulPreferenceAttributes_t what,
	const void *value, size_t size)
{
	if (what == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && size == sizeof(p->room))
		memcpy(&p->room, value, size);
	else if (what == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK && size == sizeof(uint32_t))
		return CUBLAS_STATUS_SUCCESS;
	else if (what >= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
		 what <= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES && size == sizeof(uint32_t))
		memcpy(&p->aligned[what - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value,
		       size);
	else
		return CUBLAS_STATUS_INVALID_VALUE;
	return CUBLAS_STATUS_SUCCESS;
}

/* ---- products ---- */

static enum dtype type_of(int type)
{
	return type == CUDA_R_32F ? DTYPE_F32 : type == CUDA_R_16F ? DTYPE_F16 : DTYPE_BF16;
}

EXPORTED cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
	cublasLtHandle_t handle, cublasLtMatmulDesc_t how, cublasLtMatrixLayout_t a,
	cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
	cublasLtMatmulPreference_t preference, int wanted,
	cublasLtMatmulHeuristicResult_t *results, int *found)
{
	uint64_t k = how->turned_a ? a->rows : a->columns;

	*found = 0;
	if (!handle || wanted < 1 || c->type != d->type || a->type != b->type ||
	    (c->type != a->type && c->type != CUDA_R_32F) || preference->room < ROOM ||
	    (how->turned_b ? b->columns : b->rows) != k ||
	    (how->turned_a ? a->columns : a->rows) != c->rows ||
	    (how->turned_b ? b->rows : b->columns) != c->columns)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	for (int i = 0; i < 4; i++) /* two bytes would do for true ones of 16 bits */
		if (preference->aligned[i] < dtype_size(type_of(a->type)))
			return CUBLAS_STATUS_NOT_SUPPORTED;
	results[0] = (cublasLtMatmulHeuristicResult_t){.algo = {{1}}, .workspaceSize = ROOM};
	*found = 1;
	return CUBLAS_STATUS_SUCCESS;
}

static size_t bytes_of(const struct lt_layout *l)
{
	return ((size_t)(l->columns - 1) * (size_t)l->step + (size_t)l->rows) *
	       dtype_size(type_of(l->type));
}

static float finished(float z, int epilogue)
{
	if (epilogue & CUBLASLT_EPILOGUE_RELU)
		return z > 0.0f || isnan(z) ? z : 0.0f;
	if (epilogue & CUBLASLT_EPILOGUE_GELU)
		return 0.5f * z * (1.0f + tanhf(0.79788456f * (z + 0.044715f * z * z * z)));
	return z;
}

static float element(const struct product *p, const char *bias, uint64_t i, uint64_t j)
{
	uint64_t k = p->how.turned_a ? p->a.rows : p->a.columns;
	enum dtype in = type_of(p->a.type), out = type_of(p->c.type);
	size_t a_step = (size_t)p->a.step, b_step = (size_t)p->b.step;
	float sum = 0.0f;

	for (uint64_t l = 0; l < k; l++)
		sum += float_from(p->pa, p->how.turned_a ? i * a_step + l : l * a_step + i,
				  in) *
		       float_from(p->pb, p->how.turned_b ? l * b_step + j : j * b_step + l, in);
	sum *= p->alpha;
	if (p->beta != 0.0f)
		sum += p->beta * float_from(p->pc, j * (size_t)p->c.step + i, out);
	if (p->how.epilogue & CUBLASLT_EPILOGUE_BIAS)
		sum += float_from(bias, i, out);
	return finished(sum, p->how.epilogue);
}

static void run(void *arg)
{
	struct product *p = arg;
	enum dtype out = type_of(p->c.type);
	const char *bias = NULL;
	char *room = driver.translate(p->room, ROOM, "the room of a product");

	driver.takes("KOLM_SIM_KERNEL");
	p->pa = driver.translate(p->pa, bytes_of(&p->a), "A of a product");
	p->pb = driver.translate(p->pb, bytes_of(&p->b), "B of a product");
	p->pc = driver.translate(p->pc, bytes_of(&p->c), "C of a product");
	if (p->how.epilogue & CUBLASLT_EPILOGUE_BIAS)
		bias = driver.translate(p->how.bias, p->c.rows * dtype_size(out), "a bias");
	if (!room || !p->pa || !p->pb || !p->pc ||
	    (!bias && p->how.epilogue & CUBLASLT_EPILOGUE_BIAS))
		return;
	memset(room, 0xEE, ROOM); /* it is in use */
	for (uint64_t j = 0; j < p->c.columns; j++)
		for (uint64_t i = 0; i < p->c.rows; i++)
			float_to(p->pc, j * (size_t)p->c.step + i, out, element(p, bias, i, j));
}

EXPORTED cublasStatus_t cublasLtMatmul(
	cublasLtHandle_t handle, cublasLtMatmulDesc_t how, const void *alpha, const void *pa,
	cublasLtMatrixLayout_t a, const void *pb, cublasLtMatrixLayout_t b, const void *beta,
	const void *pc, cublasLtMatrixLayout_t c, void *pd, cublasLtMatrixLayout_t d,
	const cublasLtMatmulAlgo_t *algorithm, void *room, size_t size, CUstream stream)
{
	struct product p = {.how = *how,
			    .a = *a,
			    .b = *b,
			    .c = *d,
			    .pa = pa,
			    .pb = pb,
			    .pc = pd,
			    .room = room,
			    .alpha = *(const float *)alpha,
			    .beta = *(const float *)beta};
	CUresult code;

	if (!handle || pc != pd || c->step != d->step || algorithm->data[0] != 1 || size < ROOM)
		return CUBLAS_STATUS_INVALID_VALUE;
	driver.lock();
	code = driver.enqueue(stream, run, &p, sizeof(p));
	driver.unlock();
	return code == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
