/*
 * common.h - what makes one source OpenCL C and CUDA C.
 *
 * Memory comes as a pointer and where in it the operand begins, in elements: a buffer of
 * OpenCL's is no address. Sums are taken in an order that depends on sizes alone, with fma()
 * where products are added: no compiler contracts anything by itself.
 */
#ifdef __OPENCL_VERSION__

#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef long i64;
#define KERNEL(x, y) __kernel __attribute__((reqd_work_group_size(x, y, 1)))
#define FUNCTION     static inline
#define GLOBAL	     __global
#define LOCAL	     __local
#ifdef WITHOUT_BARRIER /* for tests: that one is missing, which must be noticed */
#define BARRIER()                           \
	if (__COUNTER__ != WITHOUT_BARRIER) \
	barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#else
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#endif
#ifdef REVERSED /* for tests: where items are run one after the other, the other way round */
#define ITEM_X ((int)(get_local_size(0) - 1 - get_local_id(0)))
#define ITEM_Y ((int)(get_local_size(1) - 1 - get_local_id(1)))
#else
#define ITEM_X ((int)get_local_id(0))
#define ITEM_Y ((int)get_local_id(1))
#endif
#define GROUP_X	      ((int)get_group_id(0))
#define GROUP_Y	      ((int)get_group_id(1))
#define GROUP_Z	      ((int)get_group_id(2))
#define GROUPS_X      ((int)get_num_groups(0))
#define GROUPS_Y      ((int)get_num_groups(1))
#define FLOAT_BITS(f) as_uint(f)
#define BITS_FLOAT(u) as_float(u)
#define UNROLL

FUNCTION float half_at(GLOBAL const void *p, u64 i)
{
	return vload_half(i, (GLOBAL const half *)p);
}

FUNCTION void put_half(GLOBAL void *p, u64 i, float value)
{
	vstore_half_rte(value, i, (GLOBAL half *)p);
}

#else

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
#define KERNEL(x, y) extern "C" __global__ __launch_bounds__((x) * (y))
#define FUNCTION     static __device__ __forceinline__
#define GLOBAL
#define LOCAL	      __shared__
#define BARRIER()     __syncthreads()
#define ITEM_X	      ((int)threadIdx.x)
#define ITEM_Y	      ((int)threadIdx.y)
#define GROUP_X	      ((int)blockIdx.x)
#define GROUP_Y	      ((int)blockIdx.y)
#define GROUP_Z	      ((int)blockIdx.z)
#define GROUPS_X      ((int)gridDim.x)
#define GROUPS_Y      ((int)gridDim.y)
#define FLOAT_BITS(f) __float_as_uint(f)
#define BITS_FLOAT(u) __uint_as_float(u)
#define UNROLL	      _Pragma("unroll")
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif

FUNCTION float half_at(const void *p, u64 i)
{
	float value;

	asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(((const u16 *)p)[i]));
	return value;
}

FUNCTION void put_half(void *p, u64 i, float value)
{
	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(((u16 *)p)[i]) : "f"(value));
}

#endif

/* Element types, as enum dtype numbers them. */
#define F32 0
#define F16 1

FUNCTION float load(GLOBAL const void *p, u64 i, int type)
{
	if (type == F32)
		return ((GLOBAL const float *)p)[i];
	if (type == F16)
		return half_at(p, i);
	return BITS_FLOAT((u32)((GLOBAL const u16 *)p)[i] << 16);
}

FUNCTION u16 bfloat_of(float value)
{
	u32 bits = FLOAT_BITS(value);

	if ((bits & 0x7fffffffu) > 0x7f800000u)
		return (u16)(bits >> 16 | 0x40u);
	return (u16)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

FUNCTION void store(GLOBAL void *p, u64 i, int type, float value)
{
	if (type == F32)
		((GLOBAL float *)p)[i] = value;
	else if (type == F16)
		put_half(p, i, value);
	else
		((GLOBAL u16 *)p)[i] = bfloat_of(value);
}

/* A matrix whose rows may lie apart, an array, integers, numbers for the host. Of what is not
   there the type is negative. */
#define VIEW(v)		    GLOBAL void *v, u64 v##_at, u64 v##_stride, int v##_type
#define VECTOR(v)	    GLOBAL void *v, u64 v##_at, int v##_type
#define INTS(v)		    GLOBAL int *v, u64 v##_at
#define NUMBERS(v)	    GLOBAL double *v, u64 v##_at
#define HAS(v)		    (v##_type >= 0)
#define GET(v, r, c)	    load(v, v##_at + (u64)(r)*v##_stride + (u64)(c), v##_type)
#define PUT(v, r, c, value) store(v, v##_at + (u64)(r)*v##_stride + (u64)(c), v##_type, value)
#define GET_AT(v, i)	    load(v, v##_at + (u64)(i), v##_type)
#define PUT_AT(v, i, value) store(v, v##_at + (u64)(i), v##_type, value)

/* ---- activations, as enum activation numbers them ---- */

#define ACT_NONE      0
#define ACT_RELU      1
#define ACT_GELU      2
#define ACT_TANH      3
#define ACT_SILU      4
#define ACT_GELU_TANH 5

FUNCTION float sigmoid(float z)
{
	float e = exp(-fabs(z)), large = 1.0f / (1.0f + e);

	return z < 0.0f ? e * large : large;
}

FUNCTION float normal_cdf(float z)
{
	return 0.5f * erfc(-z * 0.70710678f);
}

FUNCTION float gelu_argument(float z)
{
	return z * fma(z * z, 0.0713548163f, 1.59576912f);
}

FUNCTION float activation(float z, int act)
{
	if (act == ACT_RELU)
		return z <= 0.0f ? 0.0f : z; /* NaN stays NaN */
	if (act == ACT_GELU)
		return z * normal_cdf(z);
	if (act == ACT_TANH)
		return tanh(z);
	if (act == ACT_SILU)
		return z * sigmoid(z);
	if (act == ACT_GELU_TANH)
		return z * sigmoid(gelu_argument(z));
	return z;
}

/* The derivative, of what was saved: the output of relu and tanh, what went in of others. */
FUNCTION float slope(float saved, int act)
{
	if (act == ACT_RELU)
		return saved > 0.0f ? 1.0f : 0.0f;
	if (act == ACT_GELU)
		return fma(saved, exp(-0.5f * saved * saved) * 0.39894228f, normal_cdf(saved));
	if (act == ACT_TANH)
		return (1.0f - saved) * (1.0f + saved);
	if (act == ACT_SILU)
		return sigmoid(saved) * fma(saved, sigmoid(-saved), 1.0f);
	if (act == ACT_GELU_TANH) {
		float z = gelu_argument(saved),
		      more = fma(saved * saved, 0.214064449f, 1.59576912f);

		return sigmoid(z) * fma(saved * more, sigmoid(-z), 1.0f);
	}
	return 1.0f;
}

/* ---- what dropout keeps: word `index` of the stream, see base/rng.h ---- */

FUNCTION u32 random_word(u64 seed, u64 stream, u64 index)
{
	u64 block = index >> 2;
	u32 c0 = (u32)block, c1 = (u32)(block >> 32), c2 = (u32)stream,
	    c3 = (u32)(stream >> 32);
	u32 k0 = (u32)seed, k1 = (u32)(seed >> 32), word = (u32)(index & 3);

	for (int i = 0; i < 10; i++) {
		u64 a = (u64)0xD2511F53u * c0, b = (u64)0xCD9E8D57u * c2;

		c0 = (u32)(b >> 32) ^ c1 ^ k0;
		c1 = (u32)b;
		c2 = (u32)(a >> 32) ^ c3 ^ k1;
		c3 = (u32)a;
		k0 += 0x9E3779B9u;
		k1 += 0xBB67AE85u;
	}
	return word == 0 ? c0 : word == 1 ? c1 : word == 2 ? c2 : c3;
}

#define DROPOUT	    u64 seed, u64 stream, u64 bound, float factor
#define KEPT(index) ((u64)random_word(seed, stream, (u64)(index)) >= bound)
