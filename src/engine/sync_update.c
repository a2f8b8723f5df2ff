/* sync_update.c - squares of gradients, and the update of what is ours; see sync.h */
#include "engine/sync.h"

/* Take back the squares of what is counted elsewhere, in a range. */
static void leave_out_others(const struct sync *s, size_t begin, size_t end, double *squares)
{
	const struct weights *w = s->weights;

	for (int i = 0; i < w->model->n_tensors; i++) {
		size_t a = w->at[i], b;

		if (a == WEIGHTS_ELSEWHERE || weights_is_counted(w, i))
			continue;
		b = a + weights_tensor_size(w, i);
		a = a > begin ? a : begin;
		b = b < end ? b : end;
		if (a < b)
			device_sum_squares(w->dev, flat_at(w->grad, w->grad_type, a),
					   w->grad_type, b - a, -1, squares);
	}
}

/* In a range, without what is counted elsewhere. */
static void exact_squares(const struct sync *s, size_t begin, size_t end)
{
	const struct weights *w = s->weights;

	for (size_t at = begin, next; at < end; at = next) {
		bool counted;

		next = weights_run(w, at, weights_is_counted, &counted);
		next = next < end ? next : end;
		if (counted)
			device_exact_squares(w->dev, flat_at(w->grad, w->grad_type, at),
					     w->grad_type, next - at, s->exact);
	}
}

void sync_squares(const struct sync *s, double *squares)
{
	const struct weights *w = s->weights;
	bool slice = s->kind != SYNC_MASTER; /* the master alone has the sums */

	for (int i = 0; i < s->n_buckets; i++) {
		size_t begin, end;

		sync_range(s, &s->buckets[i], slice, &begin, &end);
		if (s->exact) {
			exact_squares(s, begin, end);
			continue;
		}
		device_sum_squares(w->dev, flat_at(w->grad, w->grad_type, begin), w->grad_type,
				   end - begin, 1, squares);
		leave_out_others(s, begin, end, squares);
	}
}

/* Weight decay is not for all of it. */
static void update_range(const struct sync *s, struct optim *o, size_t begin, size_t end,
			 size_t state, double *squares)
{
	const struct weights *w = s->weights;

	for (size_t at = begin, next; at < end; at = next) {
		bool decays;

		next = weights_run(w, at, weights_decays, &decays);
		next = next < end ? next : end;
		optim_apply(o, flat_at(w->param, w->type, at),
			    flat_at(w->grad, w->grad_type, at), state + at - begin, next - at,
			    decays, squares);
	}
}

/* Some at a time, so that gradients are still in the cache when they are used. */
static void update_exactly(const struct sync *s, struct optim *o, size_t begin, size_t end,
			   size_t state, double *unused)
{
	enum { PIECE = 1 << 18 };

	for (size_t at = begin, n; at < end; at += n) {
		n = end - at < PIECE ? end - at : PIECE;
		exact_squares(s, at, at + n);
		update_range(s, o, at, at + n, state + (at - begin), unused);
	}
}

void sync_update(struct sync *s, struct optim *o, double *squares, bool wanted)
{
	for (int i = 0; i < s->n_buckets; i++) {
		size_t begin, end, state = sync_state_begin(s, &s->buckets[i]);

		sync_own_range(s, &s->buckets[i], &begin, &end);
		if (s->exact && wanted) {
			update_exactly(s, o, begin, end, state, squares);
			continue;
		}
		update_range(s, o, begin, end, state, squares);
		if (wanted)
			leave_out_others(s, begin, end, squares);
	}
}
