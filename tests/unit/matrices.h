/* matrices.h - for the tests of the matrix products: kernels run in parts, sizes to try. */
#ifndef KOLM_TESTS_MATRICES_H
#define KOLM_TESTS_MATRICES_H

#include "testing.h"

#include "device/cpu/kernels.h"
#include "device/cpu/layout.h"

static inline float *scratch_new(void)
{
	return aligned_alloc(64, SCRATCH * sizeof(float));
}

/* Run a kernel in random parts, as threads do. */
static inline void run_panels(void (*kernel)(const struct linear *l, int p0, int p1,
					     float *scratch),
			      const struct linear *l, struct random *r)
{
	float *scratch = scratch_new();
	int panels = layout_panels(l->out), a = 0;

	while (a < panels) {
		int b = random_int(r, a + 1, panels);

		kernel(l, a, b, scratch);
		a = b;
	}
	free(scratch);
}

static inline void run_backward_input(const struct kernels *k, const struct linear *l,
				      struct random *r)
{
	float *scratch = scratch_new();
	float *packed = aligned_alloc(64, kernels_packed_size(l->rows, l->out) * sizeof(float));
	float *sums = aligned_alloc(64, round_up((size_t)l->rows * (size_t)l->in, 16) *
						sizeof(float));
	bool spans = l->out > SPAN && random_int(r, 0, 1);
	struct packed p = {
		.dy = packed, .sums = spans ? sums : NULL, .o1 = spans ? SPAN : l->out};

	for (; p.o0 < l->out; p.o0 = p.o1, p.o1 = imin(p.o1 + SPAN, l->out)) {
		int middle = random_int(r, 0, l->rows), a = 0;

		k->pack_dy(l, 0, middle, &p);
		k->pack_dy(l, middle, l->rows, &p);
		while (a < l->in) {
			int b = imin((int)round_up(random_int(r, a + 1, l->in), PANEL), l->in);

			k->backward_input(l, &p, a, b, scratch);
			a = b;
		}
	}
	free(sums);
	free(packed);
	free(scratch);
}

/* Sizes at which something changes: vectors, tiles, panels, slabs, blocks. */
static inline int edge(struct random *r)
{
	static const int edges[] = {1,	2,  3,	4,  5,	 7,   8,   15,	16,  17,  31,
				    33, 63, 64, 65, 127, 128, 129, 131, 255, 257, 300};

	return edges[random_int(r, 0, ARRAY_SIZE(edges) - 1)];
}

#endif
