/*
 * layout.h - how the CPU keeps a weight matrix W [out, in].
 *
 * Cut in slabs of 128 inputs; a slab holds a panel for every 16 outputs; a panel
 * holds, for each input of the slab in turn, its 16 weights side by side:
 *
 *     [slab: in/128][panel: out/16][input: 128 + 4 spare][output: 16]
 *
 * All three matrix products read this layout, so parameters, gradients and optimizer
 * state live in it and no other copy is kept: the optimizer is elementwise and does
 * not care. The 4 spare rows keep panels off
 * power-of-two strides, which collide in the caches. Outputs beyond out and inputs
 * beyond in exist up to the panel's edge and are always zero.
 */
#ifndef KOLM_DEVICE_CPU_LAYOUT_H
#define KOLM_DEVICE_CPU_LAYOUT_H

#include "base/util.h"

enum {
	PANEL = 16,   /* outputs side by side */
	SLAB = 128,   /* inputs of a slab; the last one may be narrower */
	SPARE = 4,    /* unused rows behind each panel */
	IN_ALIGN = 4, /* the last slab's width is a multiple of this */
};

static inline int layout_panels(int out)
{
	return (int)ceil_div(out, PANEL);
}

static inline int layout_slabs(int in)
{
	return (int)ceil_div(in, SLAB);
}

/* Inputs of slab s, padded. */
static inline int layout_slab_width(int in, int s)
{
	return imin(SLAB, (int)round_up(in, IN_ALIGN) - s * SLAB);
}

/* Elements of one panel in a slab of that width. */
static inline size_t layout_panel_size(int width)
{
	return (size_t)(width + SPARE) * PANEL;
}

/* Where slab s begins. Every slab before it is full. */
static inline size_t layout_slab_offset(int out, int s)
{
	return (size_t)s * (size_t)layout_panels(out) * layout_panel_size(SLAB);
}

static inline size_t layout_size(int out, int in)
{
	int last = layout_slabs(in) - 1;

	return layout_slab_offset(out, last) +
	       (size_t)layout_panels(out) * layout_panel_size(layout_slab_width(in, last));
}

/* Where W[o, i] is. */
static inline size_t layout_index(int out, int in, int o, int i)
{
	int s = i / SLAB;

	return layout_slab_offset(out, s) +
	       (size_t)(o / PANEL) * layout_panel_size(layout_slab_width(in, s)) +
	       (size_t)(i % SLAB) * PANEL + (size_t)(o % PANEL);
}

#endif
