/* sync_state.c - what the optimizer keeps, between its own arrays and ones like the model's;
   see sync.h */
#include "engine/sync.h"

enum { PIECE = 1 << 30 }; /* elements that are copied at once: a row of so many columns */

void sync_keep_part(const struct sync *s, float *part, size_t first, size_t n, float *state)
{
	for (int i = 0; i < s->n_buckets; i++) {
		size_t begin, end, at = sync_state_begin(s, &s->buckets[i]);

		sync_own_range(s, &s->buckets[i], &begin, &end);
		at += first > begin ? first - begin : 0;
		end = end < first + n ? end : first + n;
		begin = begin > first ? begin : first;
		for (size_t count; begin < end; begin += count, at += count) {
			struct view to = {.data = state + at},
				    from = {.data = part + (begin - first)};

			count = end - begin < PIECE ? end - begin : PIECE;
			device_copy(s->weights->dev, to, 0, from, 0, 1, (int)count);
		}
	}
}

/* Between the state of ours and an array like the model's, from one to the other. */
static void copy_own(const struct sync *s, float *state, float *flat, bool to_flat)
{
	for (int i = 0; i < s->n_buckets && (s->kind != SYNC_MASTER || s->number == 0); i++) {
		size_t at = sync_state_begin(s, &s->buckets[i]), begin, end;

		sync_own_range(s, &s->buckets[i], &begin, &end);
		for (size_t n; begin < end; begin += n, at += n) {
			struct view there = {.data = flat + begin}, ours = {.data = state + at};

			n = end - begin < PIECE ? end - begin : PIECE;
			device_copy(s->weights->dev, to_flat ? there : ours, 0,
				    to_flat ? ours : there, 0, 1, (int)n);
		}
	}
}

enum status sync_spread(struct sync *s, const float *state, float *flat, struct error *err)
{
	copy_own(s, (float *)(uintptr_t)state, flat, true);
	return sync_share_array(s, flat, DTYPE_F32, err);
}

void sync_keep(const struct sync *s, const float *flat, float *state)
{
	copy_own(s, state, (float *)(uintptr_t)flat, false);
}
