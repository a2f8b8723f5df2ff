/* weights_sum.c - sums of gradients on a rank; see weights.h */
#include "base/tree.h"
#include "model/weights.h"

void weights_add_gradients(const struct weights *w, size_t to, size_t from, size_t n)
{
	enum { ROW = 4096 }; /* threads share rows */
	struct view a = {flat_at(w->grad, w->grad_type, to), ROW, w->grad_type};
	struct view b = {flat_at(w->grad, w->grad_type, from), ROW, w->grad_type};

	for (size_t rows; n >= ROW; n -= rows * ROW) {
		rows = n / ROW < 1 << 20 ? n / ROW : 1 << 20;
		device_add(w->dev, a, b, (int)rows, ROW);
		a = view_from(a, rows);
		b = view_from(b, rows);
	}
	if (n)
		device_add(w->dev, a, b, 1, (int)n);
}

/* Some elements at a time: of several sums one behind the other, the next finds the result of
   the last in the cache. */
static void merge(const struct weights *w, int leaf, size_t begin, size_t n)
{
	enum { PIECE = 1 << 17 };
	size_t depth = (size_t)tree_depth((unsigned)leaf);
	size_t last = depth - (size_t)tree_merges((unsigned)leaf);

	for (size_t at = 0; at < n && last < depth; at += PIECE)
		for (size_t d = depth; d > last; d--)
			weights_add_gradients(w, (d - 1) * w->grad_size + begin + at,
					      d * w->grad_size + begin + at,
					      n - at < PIECE ? n - at : PIECE);
}

void weights_add_leaf(const struct weights *w, int layer, int leaf)
{
	const struct model *m = w->model;
	const struct layer *l = m->layers[layer];
	size_t end = w->begin[layer];

	for (int i = l->tensor; i < l->tensor + l->n_tensors; i++) {
		if (w->at[i] < w->shared)
			end = w->at[i] + weights_tensor_size(w, i) > end
				      ? w->at[i] + weights_tensor_size(w, i)
				      : end;
		else
			merge(w, leaf, w->at[i], weights_tensor_size(w, i));
	}
	if (end > w->begin[layer])
		merge(w, leaf, w->begin[layer], end - w->begin[layer]);
	for (int i = 0; i < m->n_ties; i++)
		if (m->ties[i].layer == layer)
			merge(w, leaf, weights_tied_at(w, m->ties[i].tensor, 0),
			      weights_tensor_size(w, m->ties[i].tensor));
}
