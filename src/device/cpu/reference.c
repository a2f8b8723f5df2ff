/*
 * reference.c - every kernel in plain C, as its definition reads. Slow, obvious, and
 * what the fast kernels are tested against. Sums are taken in double.
 */
#include "base/half.h"
#include "device/cpu/activation.h"
#include "device/cpu/kernels.h"
#include "device/cpu/layout.h"
#include "device/cpu/reference.h"

#include <math.h>
#include <string.h>

static float weight_at(const struct linear *l, int o, int i)
{
	return float_from(l->weight, layout_index(l->out, l->in, o, i), l->type);
}

/* Both factors of a product of bf16 are. */
static float rounded_as(float value, enum dtype type)
{
	return type == DTYPE_BF16 ? bfloat_to_float(bfloat_from_float(value)) : value;
}

static float element(struct view v, int row, int column)
{
	return float_from(v.data, (size_t)row * v.stride + (size_t)column, v.type);
}

static void set_element(struct view v, int row, int column, float value)
{
	float_to(v.data, (size_t)row * v.stride + (size_t)column, v.type, value);
}

static void forward(const struct linear *l, int p0, int p1, float *scratch)
{
	(void)scratch;
	for (int r = 0; r < l->rows; r++)
		for (int o = p0 * PANEL; o < imin(p1 * PANEL, l->out); o++) {
			double sum = 0;
			float z;

			for (int i = 0; i < l->in; i++)
				sum += (double)rounded_as(element(l->x, r, i), l->type) *
				       weight_at(l, o, i);
			z = (float)sum +
			    (l->bias ? float_from(l->bias, (size_t)o, l->type) : 0);
			if (l->saved.data)
				set_element(l->saved, r, o, z);
			set_element(l->y, r, o, (float)act_value(z, l->act));
		}
}

static float *packed_at(const struct linear *l, const struct packed *p, int r, int o)
{
	size_t block = (size_t)((o - p->o0) / BLOCK);

	return (float *)p->dy + (block * (size_t)l->rows + (size_t)r) * BLOCK_STRIDE +
	       (o - p->o0) % BLOCK;
}

static void pack_dy(const struct linear *l, int r0, int r1, const struct packed *p)
{
	for (int o0 = p->o0; o0 < p->o1; o0 += BLOCK) {
		int n = imin(BLOCK, p->o1 - o0);

		for (int r = r0; r < r1; r++) {
			float *to = packed_at(l, p, r, o0);

			for (int i = 0; i < n; i++) {
				float dy = element(l->y, r, o0 + i);

				if (l->act != ACT_NONE)
					set_element(l->y, r, o0 + i,
						    dy * (float)act_slope(
								 element(l->saved, r, o0 + i),
								 l->act));
				to[i] = element(l->y, r, o0 + i);
			}
			memset(to + n, 0, (size_t)(BLOCK_STRIDE - n) * sizeof(float));
		}
	}
}

static void backward_input(const struct linear *l, const struct packed *p, int i0, int i1,
			   float *scratch)
{
	(void)scratch;
	for (int r = 0; r < l->rows; r++)
		for (int i = i0; i < imin(i1, l->in); i++) {
			float *so_far =
				p->sums ? p->sums + (size_t)r * (size_t)l->in + i : NULL;
			double sum = p->o0 > 0 ? (double)*so_far : 0;

			for (int o = p->o0; o < p->o1; o++)
				sum += (double)*packed_at(l, p, r, o) * weight_at(l, o, i);
			if (p->o1 < l->out)
				*so_far = (float)sum;
			else
				set_element(l->x, r, i, (float)sum);
		}
}

static void backward_weight(const struct linear *l, int p0, int p1, float *scratch)
{
	(void)scratch;
	for (int o = p0 * PANEL; o < imin(p1 * PANEL, l->out); o++) {
		double bias =
			l->bias && l->accumulate ? float_from(l->bias, (size_t)o, l->type) : 0;

		for (int i = 0; i < l->in; i++) {
			double sum = l->accumulate ? weight_at(l, o, i) : 0;

			for (int r = 0; r < l->rows; r++)
				sum += (double)element(l->y, r, o) *
				       rounded_as(element(l->x, r, i), l->y.type);
			float_to(l->weight, layout_index(l->out, l->in, o, i), l->type,
				 (float)sum);
		}
		for (int r = 0; r < l->rows; r++)
			bias += element(l->y, r, o);
		if (l->bias)
			float_to(l->bias, (size_t)o, l->type, (float)bias);
	}
}

static double mse_row(const float *y, const float *target, float *dy, int n, float scale)
{
	double sum = 0;

	for (int i = 0; i < n; i++) {
		float difference = y[i] - target[i];

		sum += (double)difference * difference;
		dy[i] = scale * difference;
	}
	return sum;
}

static double class_sum(const float *y, int n, float *top)
{
	double sum = 0;

	*top = y[0];
	for (int i = 1; i < n; i++)
		*top = y[i] > *top ? y[i] : *top;
	for (int i = 0; i < n; i++)
		sum += exp((double)y[i] - *top);
	return sum;
}

static void class_shares(const float *y, float *dy, int n, float top, float factor)
{
	for (int i = 0; i < n; i++)
		dy[i] = (float)(factor * exp((double)y[i] - top));
}

static void activate_row(float *y, const float *bias, float *before, int n, enum activation act)
{
	for (int i = 0; i < n; i++) {
		float z = y[i] + bias[i];

		if (before)
			before[i] = z;
		y[i] = (float)act_value(z, act);
	}
}

static void derive_row(float *dy, const float *saved, int n, enum activation act)
{
	for (int i = 0; i < n; i++)
		dy[i] *= (float)act_slope(saved[i], act);
}

/* What the derivative of an activation is taken from, for one that got z. */
static double saved_of(double z, enum activation act)
{
	return activation_saves(act) == ACT_SAVES_OUTPUT ? act_value(z, act) : z;
}

static void gate_row(const float *gate, const float *up, float *y, int n, enum activation act)
{
	for (int i = 0; i < n; i++)
		y[i] = (float)(act_value(gate[i], act) * up[i]);
}

static void gate_gradient_row(const float *gate, const float *up, const float *dy, float *dgate,
			      float *dup, int n, enum activation act)
{
	for (int i = 0; i < n; i++) {
		double z = gate[i], other = up[i];

		dgate[i] = (float)(dy[i] * other * act_slope(saved_of(z, act), act));
		dup[i] = (float)(dy[i] * act_value(z, act));
	}
}

static void add(float *to, const float *from, int n)
{
	for (int i = 0; i < n; i++)
		to[i] += from[i];
}

static void dropout(float *to, const float *from, int n, const struct dropout *d,
		    uint64_t first)
{
	float factor = dropout_factor(d);

	for (int i = 0; i < n; i++) {
		int64_t index = (int64_t)first + i;

		to[i] = dropout_keeps(d, index / d->columns, index % d->columns)
				? from[i] * factor
				: 0;
	}
}

static double norm_sum(const struct norm_piece *p)
{
	double sum = 0;

	for (int i = 0; i < p->n; i++)
		sum += p->x[i];
	return sum;
}

static void norm_spread(const struct norm_piece *p, double sums[2])
{
	for (int i = 0; i < p->n; i++) {
		double away = (double)p->x[i] - p->mean;

		sums[0] += away;
		sums[1] += away * away;
	}
}

static double normed(const struct norm_piece *p, int i)
{
	return ((double)p->x[i] - p->mean) * p->factor;
}

static void norm_forward(const struct norm_piece *p)
{
	for (int i = 0; i < p->n; i++)
		p->out[i] = (float)(normed(p, i) * p->weight[i] + (p->bias ? p->bias[i] : 0));
}

static void norm_sums(const struct norm_piece *p, double sums[2])
{
	for (int i = 0; i < p->n; i++) {
		double g = (double)p->dy[i] * p->weight[i];

		sums[0] += g;
		sums[1] += g * normed(p, i);
	}
}

static void norm_input(const struct norm_piece *p, const float means[2])
{
	for (int i = 0; i < p->n; i++)
		p->out[i] = (float)(((double)p->dy[i] * p->weight[i] - means[0] -
				     normed(p, i) * means[1]) *
				    p->factor);
}

static void norm_weight(const struct norm_piece *p, float *dweight, float *dbias)
{
	for (int i = 0; i < p->n; i++) {
		dweight[i] += (float)(p->dy[i] * normed(p, i));
		dbias[i] += p->dy[i];
	}
}

static double update(const struct update *u, size_t begin, size_t end)
{
	double squares = 0;

	for (size_t i = begin; i < end; i++) {
		float raw = float_from(u->grad, i, u->grad_type), g = raw * u->grad_scale;
		float p = u->param[i];

		squares += (double)raw * raw;
		switch (u->kind) {
		case OPT_SGD:
			p -= u->lr * (g + u->weight_decay * p);
			break;
		case OPT_MOMENTUM:
			u->m[i] = u->momentum * u->m[i] + (g + u->weight_decay * p);
			p -= u->lr * u->m[i];
			break;
		case OPT_ADAMW:
			p *= 1 - u->lr * u->weight_decay;
			u->m[i] = u->beta1 * u->m[i] + (1 - u->beta1) * g;
			u->v[i] = u->beta2 * u->v[i] + (1 - u->beta2) * g * g;
			p -= u->lr / u->correction1 * u->m[i] /
			     (sqrtf(u->v[i]) / sqrtf(u->correction2) + u->eps);
		}
		u->param[i] = p;
		if (u->working)
			float_to(u->working, i, u->working_type, p);
	}
	return squares;
}

static double sum_squares(const void *x, enum dtype type, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += pow((double)float_from(x, i, type), 2);
	return sum;
}

static void line_squares(const void *x, enum dtype type, size_t lines, double *sums)
{
	double values[SQUARES_LINE];

	for (size_t line = 0; line < lines; line++) {
		for (size_t i = 0; i < SQUARES_LINE; i++) {
			double value = (double)float_from(x, line * SQUARES_LINE + i, type);

			values[i] = value * value;
		}
		for (int half = SQUARES_LINE / 2; half > 0; half /= 2)
			for (int i = 0; i < half; i++)
				values[i] += values[i + half];
		sums[line] = values[0];
	}
}

static void f32_to_f16(const float *src, uint16_t *dst, size_t n)
{
	for (size_t i = 0; i < n; i++)
		dst[i] = half_from_float(src[i]);
}

static void f16_to_f32(const uint16_t *src, float *dst, size_t n)
{
	for (size_t i = 0; i < n; i++)
		dst[i] = half_to_float(src[i]);
}

static void f32_to_bf16(const float *src, uint16_t *dst, size_t n)
{
	for (size_t i = 0; i < n; i++)
		dst[i] = bfloat_from_float(src[i]);
}

static void bf16_to_f32(const uint16_t *src, float *dst, size_t n)
{
	for (size_t i = 0; i < n; i++)
		dst[i] = bfloat_to_float(src[i]);
}

static double fma_rounds(long n)
{
	volatile float a = 0.5f;

	for (long i = 0; i < n; i++)
		a = a * 0.999f + 0.001f;
	return 2.0 * (double)n;
}

const struct kernels kernels_reference = {
	.name = "reference",
	.forward = forward,
	.pack_dy = pack_dy,
	.backward_input = backward_input,
	.backward_weight = backward_weight,
	.mse_row = mse_row,
	.class_sum = class_sum,
	.class_shares = class_shares,
	.activate_row = activate_row,
	.derive_row = derive_row,
	.gate_row = gate_row,
	.gate_gradient_row = gate_gradient_row,
	.add = add,
	.dropout = dropout,
	.norm_sum = norm_sum,
	.norm_spread = norm_spread,
	.norm_forward = norm_forward,
	.norm_sums = norm_sums,
	.norm_input = norm_input,
	.norm_weight = norm_weight,
	.attention_forward = reference_attention_forward,
	.attention_backward = reference_attention_backward,
	.rotary_angles = reference_rotary_angles,
	.rotate = reference_rotate,
	.update = update,
	.sum_squares = sum_squares,
	.line_squares = line_squares,
	.f32_to_f16 = f32_to_f16,
	.f16_to_f32 = f16_to_f32,
	.f32_to_bf16 = f32_to_bf16,
	.bf16_to_f32 = bf16_to_f32,
	.fma_rounds = fma_rounds,
};
