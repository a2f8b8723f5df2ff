/*
 * cuda_blas.c - products by cuBLASLt: 32 bits without TF32, 16 bits with sums of 32, with bias
 * and activation where it has them. What it does not take our own kernel does.
 *
 * cuBLASLt counts down columns. C (m, n) in rows is C' (n, m) for it, so it multiplies B' by
 * A'. Descriptors and the way it chose for a product are made once for each shape and kept.
 */
#include "device/gpu/cuda_blas_api.h"
#include "base/util.h"
#include "device/gpu/cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLANS = 256, ALIGNMENT = 16 };

/* All that a way is chosen for; zeroed before it is filled, since it is compared as bytes. */
struct shape {
	int m, n, k;
	int a_type, b_type, c_type;
	uint64_t a_step, b_step, c_step; /* between columns, as cuBLASLt has them */
	int a_turned, b_turned;
	int epilogue;
	int accumulate;
	unsigned a_aligned, b_aligned, c_aligned; /* bytes, up to ALIGNMENT */
};

struct plan {
	struct shape shape;
	cublasLtMatmulDesc_t how;
	cublasLtMatrixLayout_t a, b, c;
	cublasLtMatmulAlgo_t algorithm;
	size_t room;
	bool is_possible;
};

struct cuda_blas {
	struct blas_api lt;
	void *library;
	cublasLtHandle_t handle;
	struct plan plans[PLANS];
	int n_plans, oldest;
};

static void release_plan(const struct blas_api *lt, struct plan *p)
{
	if (p->how)
		lt->DescDestroy(p->how);
	if (p->a)
		lt->LayoutDestroy(p->a);
	if (p->b)
		lt->LayoutDestroy(p->b);
	if (p->c)
		lt->LayoutDestroy(p->c);
	*p = (struct plan){0};
}

void cuda_blas_close(struct cuda_blas *b)
{
	if (!b)
		return;
	for (int i = 0; i < b->n_plans; i++)
		release_plan(&b->lt, &b->plans[i]);
	if (b->handle)
		b->lt.Destroy(b->handle);
	free(b); /* the library stays: it leaves threads and handlers behind */
}

struct cuda_blas *cuda_blas_open(char *why, size_t size)
{
	struct cuda_blas *b = calloc(1, sizeof(*b));
	const char *missing = NULL;

	if (!b) {
		snprintf(why, size, "no memory");
		return NULL;
	}
	b->library = cuda_open_library("libcublasLt.so");
	if (!b->library) {
		snprintf(why, size, "there is no libcublasLt.so");
		goto failed;
	}
#define FIND(name, symbol, ...)                                   \
	if (!cuda_find(b->library, #symbol, (void *)&b->lt.name)) \
		missing = #symbol;
	BLAS_FUNCTIONS(FIND)
#undef FIND
	if (missing) {
		snprintf(why, size, "no %s", missing);
		goto failed;
	}
	if (b->lt.Create(&b->handle) == CUBLAS_STATUS_SUCCESS)
		return b;
	b->handle = NULL;
	snprintf(why, size, "cuBLASLt does not start");
failed:
	cuda_blas_close(b);
	return NULL;
}

/* ---- which shape ---- */

static int type_of(enum dtype type)
{
	switch (type) {
	case DTYPE_F32:
		return CUDA_R_32F;
	case DTYPE_F16:
		return CUDA_R_16F;
	case DTYPE_BF16:
		return CUDA_R_16BF;
	case DTYPE_I32:
	case DTYPE_BYTE:
		return -1;
	}
	return -1;
}

static unsigned aligned(const void *address)
{
	uintptr_t at = (uintptr_t)address | ALIGNMENT;

	return (unsigned)(at & -at);
}

/* What stands behind the product, as cuBLASLt has it; -1: it has not. Its gelu is the one with
   tanh, and what goes into an activation it would keep in a form of its own. */
static int epilogue_of(const struct gpu_product *p)
{
	int bias = p->bias ? CUBLASLT_EPILOGUE_BIAS : 0;

	if (p->saved.data || (p->bias && p->bias_type != p->c.type))
		return -1;
	if (p->accumulate && (p->bias || p->act != ACT_NONE))
		return -1;
	if (p->act == ACT_RELU)
		return CUBLASLT_EPILOGUE_RELU | bias;
	if (p->act == ACT_GELU_TANH)
		return CUBLASLT_EPILOGUE_GELU | bias;
	if (p->act == ACT_NONE)
		return bias ? bias : CUBLASLT_EPILOGUE_DEFAULT;
	return -1;
}

static bool shape_of(const struct gpu_product *p, struct shape *s)
{
	memset(s, 0, sizeof(*s));
	s->m = p->m;
	s->n = p->n;
	s->k = p->k;
	s->a_type = type_of(p->a_type);
	s->b_type = type_of(p->b_type);
	s->c_type = type_of(p->c.type);
	s->a_turned = p->a_k != 1;
	s->b_turned = p->b_n != 1;
	s->a_step = s->a_turned ? p->a_k : p->a_m;
	s->b_step = s->b_turned ? p->b_n : p->b_k;
	s->c_step = p->c.stride;
	s->epilogue = epilogue_of(p);
	s->accumulate = p->accumulate;
	s->a_aligned = aligned(p->a);
	s->b_aligned = aligned(p->b);
	s->c_aligned = aligned(p->c.data);
	return s->m && s->n && s->k && s->a_type >= 0 && s->a_type == s->b_type &&
	       (s->c_type == s->a_type || s->c_type == CUDA_R_32F) && s->epilogue >= 0 &&
	       (!s->a_turned || p->a_m == 1) && (!s->b_turned || p->b_k == 1);
}

/* ---- how it is done ---- */

static bool describe(struct cuda_blas *b, struct plan *p)
{
	const struct blas_api *lt = &b->lt;
	const struct shape *s = &p->shape;
	uint64_t m = (uint64_t)s->m, n = (uint64_t)s->n, k = (uint64_t)s->k;
	int32_t of_b = s->b_turned ? CUBLAS_OP_T : CUBLAS_OP_N;
	int32_t of_a = s->a_turned ? CUBLAS_OP_T : CUBLAS_OP_N;
	int32_t epilogue = s->epilogue;

	/* Without TF32: that is CUBLAS_COMPUTE_32F_FAST_TF32. */
	return lt->DescCreate(&p->how, CUBLAS_COMPUTE_32F, CUDA_R_32F) ==
		       CUBLAS_STATUS_SUCCESS &&
	       lt->DescSet(p->how, CUBLASLT_MATMUL_DESC_TRANSA, &of_b, sizeof(of_b)) ==
		       CUBLAS_STATUS_SUCCESS &&
	       lt->DescSet(p->how, CUBLASLT_MATMUL_DESC_TRANSB, &of_a, sizeof(of_a)) ==
		       CUBLAS_STATUS_SUCCESS &&
	       lt->DescSet(p->how, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
			   sizeof(epilogue)) == CUBLAS_STATUS_SUCCESS &&
	       lt->LayoutCreate(&p->b, (cudaDataType_t)s->b_type, s->b_turned ? k : n,
				s->b_turned ? n : k,
				(int64_t)s->b_step) == CUBLAS_STATUS_SUCCESS &&
	       lt->LayoutCreate(&p->a, (cudaDataType_t)s->a_type, s->a_turned ? m : k,
				s->a_turned ? k : m,
				(int64_t)s->a_step) == CUBLAS_STATUS_SUCCESS &&
	       lt->LayoutCreate(&p->c, (cudaDataType_t)s->c_type, n, m, (int64_t)s->c_step) ==
		       CUBLAS_STATUS_SUCCESS;
}

static bool prefer(const struct blas_api *lt, cublasLtMatmulPreference_t preference,
		   const struct shape *s)
{
	uint64_t room = CUDA_ROOM;
	/* Sums of parts only as sums of 32 bits, and in an order that is always the same. */
	uint32_t reduction = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
	const struct {
		cublasLtMatmulPreferenceAttributes_t what;
		const void *value;
		size_t size;
	} all[] = {
		{CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room, sizeof(room)},
		{CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reduction, sizeof(reduction)},
		{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &s->b_aligned, sizeof(uint32_t)},
		{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &s->a_aligned, sizeof(uint32_t)},
		{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &s->c_aligned, sizeof(uint32_t)},
		{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &s->c_aligned, sizeof(uint32_t)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (lt->PreferenceSet(preference, all[i].what, all[i].value, all[i].size) !=
		    CUBLAS_STATUS_SUCCESS)
			return false;
	return true;
}

static bool choose(struct cuda_blas *b, struct plan *p)
{
	const struct blas_api *lt = &b->lt;
	cublasLtMatmulHeuristicResult_t best = {0};
	cublasLtMatmulPreference_t preference = NULL;
	int found = 0;

	if (lt->PreferenceCreate(&preference) != CUBLAS_STATUS_SUCCESS)
		return false;
	if (!prefer(lt, preference, &p->shape) ||
	    lt->Heuristic(b->handle, p->how, p->b, p->a, p->c, p->c, preference, 1, &best,
			  &found) != CUBLAS_STATUS_SUCCESS ||
	    best.state != CUBLAS_STATUS_SUCCESS)
		found = 0;
	lt->PreferenceDestroy(preference);
	p->algorithm = best.algo;
	p->room = best.workspaceSize;
	return found > 0;
}

static struct plan *plan_of(struct cuda_blas *b, const struct shape *s)
{
	struct plan *p;

	for (int i = 0; i < b->n_plans; i++)
		if (!memcmp(&b->plans[i].shape, s, sizeof(*s)))
			return &b->plans[i];
	if (b->n_plans < PLANS) {
		p = &b->plans[b->n_plans++];
	} else {
		p = &b->plans[b->oldest];
		b->oldest = (b->oldest + 1) % PLANS;
		release_plan(&b->lt, p);
	}
	p->shape = *s;
	p->is_possible = describe(b, p) && choose(b, p);
	return p;
}

bool cuda_product(struct gpu_context *c, const struct gpu_product *p)
{
	static const float one = 1.0f, zero = 0.0f;
	struct cuda_blas *b = c->blas;
	struct shape shape;
	struct plan *plan;

	if (!b || !shape_of(p, &shape))
		return false;
	cuda_enter(c);
	plan = plan_of(b, &shape);
	if (!plan->is_possible || (plan->room && !p->room))
		return false;
	if (p->bias && b->lt.DescSet(plan->how, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &p->bias,
				     sizeof(p->bias)) != CUBLAS_STATUS_SUCCESS)
		return false;
	if (b->lt.Matmul(b->handle, plan->how, &one, p->b, plan->b, p->a, plan->a,
			 p->accumulate ? &one : &zero, p->c.data, plan->c, p->c.data, plan->c,
			 &plan->algorithm, p->room, plan->room,
			 c->streams[QUEUE_COMPUTE]) != CUBLAS_STATUS_SUCCESS)
		gpu_lost("cuda", c->number, "multiplying with cuBLASLt",
			 "it could not be queued");
	return true;
}
