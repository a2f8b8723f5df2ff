/* test_sync.c - how gradients are cut into buckets. */
#include "testing.h"

#include "engine/sync.h"

enum { LAYERS = 12, CHUNKS = 3 };

/* Layers of random sizes in chunks of equal counts, as far as buckets look at them. */
static struct model random_model(struct random *r, struct layer *layers, struct chunk *chunks)
{
	struct model m = {
		.layers = layers, .n_layers = LAYERS, .chunks = chunks, .n_chunks = CHUNKS};

	for (int i = 0; i < LAYERS; i++) {
		layers[i] = (struct layer){.number = i, .weight = m.size};
		m.size += (size_t)random_int(r, 1, 2000);
	}
	for (int c = 0; c < CHUNKS; c++)
		chunks[c] =
			(struct chunk){.first = c * LAYERS / CHUNKS, .count = LAYERS / CHUNKS};
	return m;
}

/* Without its first layer a bucket would be too small, unless its chunk ends there. */
static void check_bucket(const struct model *m, const struct bucket *b, size_t bucket_bytes)
{
	size_t size = dtype_size(m->grad_type);
	int first = b->first_layer;

	assert_int_equal(b->begin, m->layers[first].weight);
	if (first % (LAYERS / CHUNKS))
		assert_true((b->end - b->begin) * size >= bucket_bytes);
	if (first + 1 < LAYERS && m->layers[first + 1].weight < b->end)
		assert_true((b->end - m->layers[first + 1].weight) * size < bucket_bytes);
}

static void buckets_are_as_large_as_asked_for(void **state)
{
	static const enum dtype types[] = {DTYPE_F32, DTYPE_F16, DTYPE_BF16};
	struct random r = random_start("buckets");
	(void)state;

	for (int round = 0; round < 300; round++) {
		struct layer layers[LAYERS];
		struct chunk chunks[CHUNKS];
		struct model m = random_model(&r, layers, chunks);
		struct sync_options o = {.count = 1,
					 .kind = SYNC_DDP,
					 .bucket_bytes = (size_t)random_int(&r, 1, 20000)};
		struct error err = {0};
		struct sync s;
		size_t end = m.size;

		m.grad_type = types[round % ARRAY_SIZE(types)];
		assert_int_equal(sync_init(&s, &m, NULL, &o, &err), OK);
		for (int i = 0; i < s.n_buckets; i++) {
			assert_int_equal(s.buckets[i].end, end);
			check_bucket(&m, &s.buckets[i], o.bucket_bytes);
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
