/* test_sync.c - how gradients are cut into buckets. */
#include "testing.h"

#include "engine/sync.h"

enum { LAYERS = 12, CHUNKS = 3 };

/* Layers of random sizes, some without tensors, in chunks of equal counts, as far as buckets
   look at them. */
static void random_weights(struct random *r, struct weights *w, struct chunk *chunks)
{
	w->size = 0;
	for (int i = 0; i < LAYERS; i++) {
		w->begin[i] = w->size;
		w->size += (size_t)imax(0, random_int(r, -300, 2000));
	}
	for (int c = 0; c < CHUNKS; c++)
		chunks[c] =
			(struct chunk){.first = c * LAYERS / CHUNKS, .count = LAYERS / CHUNKS};
}

static size_t end_of(const struct weights *w, int layer)
{
	return layer + 1 < LAYERS ? w->begin[layer + 1] : w->size;
}

/* Without its first layer a bucket would be too small, unless its chunk ends there; and all of
   it is of one chunk. */
static void check_bucket(const struct weights *w, const struct bucket *b, size_t bucket_bytes)
{
	size_t size = dtype_size(w->grad_type), above = end_of(w, b->first_layer);
	int first = b->first_layer, next = (b->chunk + 1) * LAYERS / CHUNKS;

	assert_int_equal(b->chunk, first / (LAYERS / CHUNKS));
	assert_int_equal(b->begin, w->begin[first]);
	assert_true(b->begin < b->end);
	assert_true(next == LAYERS || b->end <= w->begin[next]);
	if (first % (LAYERS / CHUNKS))
		assert_true((b->end - b->begin) * size >= bucket_bytes);
	if (above < b->end)
		assert_true((b->end - above) * size < bucket_bytes);
}

static void buckets_are_as_large_as_asked_for(void **state)
{
	static const enum dtype types[] = {DTYPE_F32, DTYPE_F16, DTYPE_BF16};
	struct random r = random_start("buckets");
	(void)state;

	for (int round = 0; round < 300; round++) {
		size_t begin[LAYERS + 1];
		struct weights w = {.begin = begin,
				    .grad_type = types[round % ARRAY_SIZE(types)]};
		struct chunk chunks[CHUNKS];
		struct sync_options o = {.count = 1,
					 .kind = SYNC_DDP,
					 .bucket_bytes = (size_t)random_int(&r, 1, 20000)};
		struct error err = {0};
		struct sync s;
		size_t end;

		random_weights(&r, &w, chunks);
		end = w.shared = w.partial = w.size;
		assert_int_equal(
			sync_init(&s, &w, chunks, CHUNKS, &(struct sync_groups){0}, &o, &err),
			OK);
		for (int i = 0; i < s.n_buckets; i++) {
			assert_int_equal(s.buckets[i].end, end);
			check_bucket(&w, &s.buckets[i], o.bucket_bytes);
			end = s.buckets[i].begin;
		}
		assert_int_equal(end, 0);
		sync_release(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_are_as_large_as_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
