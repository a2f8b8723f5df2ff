/*
 * simd.c - the fast kernels, compiled once per instruction set (see simd.h and
 * CMakeLists.txt). What a vector unit can't speed up is taken from the reference.
 */
#include "device/cpu/activation.h"
#include "device/cpu/simd_attention_backward.h"
#include "device/cpu/simd_attention_forward.h"
#include "device/cpu/simd_classes.h"
#include "device/cpu/simd_dropout.h"
#include "device/cpu/simd_element.h"
#include "device/cpu/simd_forward.h"
#include "device/cpu/simd_norm.h"
#include "device/cpu/simd_rotary.h"
#include "device/cpu/simd_squares.h"
#include "device/cpu/simd_turned.h"
#include "device/cpu/simd_weight.h"

/* One loop per activation, with its constants in registers. copy gets the same. */
INLINE void derive_vectors(float *dy, const float *saved, float *copy, int n,
			   const enum activation act)
{
	for (int i = 0; i + VL <= n; i += VL) {
		vec gradient = load(dy + i) * act_slopes(load(saved + i), act);

		store(dy + i, gradient);
		store(copy + i, gradient);
	}
}

static void derive_whole(float *dy, const float *saved, float *copy, int n, enum activation act)
{
#define DERIVE(name, ...)                                       \
	case ACT_##name:                                        \
		derive_vectors(dy, saved, copy, n, ACT_##name); \
		break;
	switch (act) {
		ACTIVATIONS(DERIVE)
	}
}

/* dy . act'(saved) of some outputs of a row, in place. */
static void derive_outputs(const struct linear *l, int r, int o0, int n)
{
	float saved[PAIR_STRIDE], values[PAIR_STRIDE];
	int padded_n = (int)round_up(n, VL);

	get_as(l->saved, r, o0, saved, n);
	get_as(l->y, r, o0, values, n);
	for (int i = n; i < padded_n; i++)
		saved[i] = values[i] = 0;
	derive_whole(values, saved, values, padded_n, l->act);
	put_as(l->y, r, o0, values, n);
}

/* The same of floats, copied on the way: whole vectors in one pass. */
static void copy_floats_of(const struct linear *l, int r, int o0, int n, float *to)
{
	int whole = 0;

	if (l->act != ACT_NONE && l->y.type == DTYPE_F32 && l->saved.type == DTYPE_F32) {
		whole = n / VL * VL;
		derive_whole((float *)view_from(l->y, (size_t)r).data + o0,
			     (const float *)view_from(l->saved, (size_t)r).data + o0, to, whole,
			     l->act);
	}
	if (whole == n)
		return;
	if (l->act != ACT_NONE)
		derive_outputs(l, r, o0 + whole, n - whole);
	get_as(l->y, r, o0 + whole, to + whole, n - whole);
}

static void copy_dy(const struct linear *l, int r0, int r1, const struct packed *p)
{
	struct packing k = packing_of(l);
	bool in_place = multiplies_in_place(l);

	if (in_place && l->act == ACT_NONE)
		return;
	for (int o0 = p->o0; o0 < p->o1; o0 += k.block) {
		int n = imin(k.block, p->o1 - o0);

		for (int r = r0; r < r1; r++) {
			void *to = packed_row(l, p, o0, r);

			if (in_place) {
				copy_floats_of(l, r, o0, n,
					       (float *)view_from(l->y, (size_t)r).data + o0);
				continue;
			}
			if (k.element == sizeof(uint16_t)) {
				if (l->act != ACT_NONE)
					derive_outputs(l, r, o0, n);
				gather_row(&l->y, r, o0, n, to, k.stride);
				continue;
			}
			copy_floats_of(l, r, o0, n, to);
			memset((float *)to + n, 0, (size_t)(k.stride - n) * sizeof(float));
		}
	}
}

INLINE void activate_vectors(float *y, const float *bias, float *before, int n,
			     const enum activation act)
{
	for (int i = 0; i + VL <= n; i += VL) {
		vec z = load(y + i) + load(bias + i);

		if (before)
			store(before + i, z);
		store(y + i, act_values(z, act));
	}
}

static void simd_activate_row(float *y, const float *bias, float *before, int n,
			      enum activation act)
{
	int i = n / VL * VL;

#define ACTIVATE(name, ...)                                       \
	case ACT_##name:                                          \
		activate_vectors(y, bias, before, n, ACT_##name); \
		break;
	switch (act) {
		ACTIVATIONS(ACTIVATE)
	}
	kernels_reference.activate_row(y + i, bias + i, before ? before + i : NULL, n - i, act);
}

static void simd_derive_row(float *dy, const float *saved, int n, enum activation act)
{
	int i = n / VL * VL;

	if (act == ACT_NONE) /* and nothing is saved */
		return;
	derive_whole(dy, saved, dy, n, act);
	kernels_reference.derive_row(dy + i, saved + i, n - i, act);
}

/* Slope and value of an activation that gets z. */
INLINE vec act_both(vec z, vec *value, const enum activation act)
{
	*value = act_values(z, act);
	return act_slopes(activation_saves(act) == ACT_SAVES_OUTPUT ? *value : z, act);
}

INLINE void gate_vectors(const float *gate, const float *up, float *y, int n,
			 const enum activation act)
{
	for (int i = 0; i + VL <= n; i += VL)
		store(y + i, act_values(load(gate + i), act) * load(up + i));
}

static void simd_gate_row(const float *gate, const float *up, float *y, int n,
			  enum activation act)
{
	int i = n / VL * VL;

#define GATE(name, ...)                                   \
	case ACT_##name:                                  \
		gate_vectors(gate, up, y, n, ACT_##name); \
		break;
	switch (act) {
		ACTIVATIONS(GATE)
	}
	kernels_reference.gate_row(gate + i, up + i, y + i, n - i, act);
}

INLINE void gate_gradients(const float *gate, const float *up, const float *dy, float *dgate,
			   float *dup, int n, const enum activation act)
{
	for (int i = 0; i + VL <= n; i += VL) {
		vec value, slope = act_both(load(gate + i), &value, act), g = load(dy + i);
		vec other = load(up + i);

		store(dgate + i, g * other * slope);
		store(dup + i, g * value);
	}
}

static void simd_gate_gradient_row(const float *gate, const float *up, const float *dy,
				   float *dgate, float *dup, int n, enum activation act)
{
	int i = n / VL * VL;

#define GATE_GRADIENT(name, ...)                                         \
	case ACT_##name:                                                 \
		gate_gradients(gate, up, dy, dgate, dup, n, ACT_##name); \
		break;
	switch (act) {
		ACTIVATIONS(GATE_GRADIENT)
	}
	kernels_reference.gate_gradient_row(gate + i, up + i, dy + i, dgate + i, dup + i, n - i,
					    act);
}

const struct kernels SIMD_TABLE = {
	.name = SIMD_NAME,
	.forward = simd_forward,
	.pack_dy = copy_dy,
	.backward_input = simd_backward_input,
	.backward_weight = simd_backward_weight,
	.mse_row = simd_mse_row,
	.class_sum = simd_class_sum,
	.class_shares = simd_class_shares,
	.activate_row = simd_activate_row,
	.derive_row = simd_derive_row,
	.gate_row = simd_gate_row,
	.gate_gradient_row = simd_gate_gradient_row,
	.add = simd_add,
	.dropout = simd_dropout,
	.norm_sum = simd_norm_sum,
	.norm_spread = simd_norm_spread,
	.norm_forward = simd_norm_forward,
	.norm_sums = simd_norm_sums,
	.norm_input = simd_norm_input,
	.norm_weight = simd_norm_weight,
	.attention_forward = simd_attention_forward,
	.attention_backward = simd_attention_backward,
	.attention_turn = simd_attention_turn,
	.rotary_angles = simd_rotary_angles,
	.rotate = simd_rotate,
	.update = simd_update,
	.sum_squares = simd_sum_squares,
	.line_squares = simd_line_squares,
	.f32_to_f16 = simd_f32_to_f16,
	.f16_to_f32 = simd_f16_to_f32,
	.f32_to_bf16 = simd_f32_to_bf16,
	.bf16_to_f32 = simd_bf16_to_f32,
	.fma_rounds = simd_fma_rounds,
#if defined(KOLM_AVX512BF16)
	.bf16_rounds = simd_bf16_rounds,
#endif
};
