/* reference.h - kernels of the reference table that are in files of their own. Only for
   device/cpu/. */
#ifndef KOLM_DEVICE_CPU_REFERENCE_H
#define KOLM_DEVICE_CPU_REFERENCE_H

#include "device/cpu/kernels.h"

/* reference_attention.c */
void reference_attention_forward(const struct attention *a, const struct attention_block *b,
				 const struct attention_block *next, float *scratch);
void reference_attention_backward(const struct attention *a, int sequence, int kv_head,
				  float *scratch);
void reference_rotary_angles(const double *turns, int position, int n, float *sines,
			     float *cosines);
void reference_rotate(float *x, const float *sines, const float *cosines, int half);

#endif
