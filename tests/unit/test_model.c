/*
 * test_model.c - memory accounts and limits, casts, evaluation; and that neither threads
 * nor micro-batches change the result.
 */
#include "engines.h"

/* Train for some steps; returns the parameters, row by row, and the last loss. */
static float *train(const struct engine_options *o, int threads, int steps, double *loss)
{
	struct device *dev = open_device(threads, 0);
	struct engine *e;
	float *rows = calloc(1 << 20, sizeof(float)), *at = rows;

	assert_int_equal(engine_create(&e, dev, o, &err), OK);
	for (int i = 0; i < steps; i++) {
		fill_batch(e, (uint64_t)i);
		*loss = step_loss(e);
	}
	for (int i = 0; i < o->shape.depth; i++) {
		const struct layer *l = &e->model.layers[i];

		device_matrix_read(dev, e->model.param + l->weight, DTYPE_F32, l->out, l->in, 0,
				   l->out, at);
		at += l->out * l->in;
		memcpy(at, e->model.param + l->bias, (size_t)l->out * sizeof(float));
		at += l->out;
	}
	engine_free(e);
	device_close(dev);
	return rows;
}

static void threads_do_not_change_a_bit(void **state)
{
	struct engine_options o = options_of(150, 200, 130, 3, 140);
	double loss, loss1;
	float *one = train(&o, 1, 4, &loss1);
	(void)state;

	for (int threads = 2; threads <= 5; threads++) {
		float *many = train(&o, threads, 4, &loss);

		assert_true(loss == loss1);
		assert_memory_equal(one, many, (1 << 20) * sizeof(float));
		free(many);
	}
	free(one);
}

/* Accumulation over micro-batches is the same step as the whole batch at once. */
static void micro_batches_change_only_rounding(void **state)
{
	static const enum optimizer kinds[] = {OPT_SGD, OPT_MOMENTUM, OPT_ADAMW};
	(void)state;

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		struct engine_options o = options_of(20, 30, 10, 3, 24);
		double loss, loss1;
		float *whole, *parts;

		o.optimizer = (struct update){.kind = kinds[k],
					      .lr = 0.01f,
					      .momentum = 0.9f,
					      .beta1 = 0.9f,
					      .beta2 = 0.99f,
					      .eps = 1e-4f};
		o.clip = 0.5;
		whole = train(&o, 2, 10, &loss1);
		for (int m = 2; m <= 24; m++) {
			if (24 % m)
				continue;
			o.micro_batches = m;
			o.shape.rows = 24 / m;
			parts = train(&o, 2, 10, &loss);
			assert_true(fabs(loss - loss1) < 1e-5 * loss1);
			for (int i = 0; i < 2000; i++)
				assert_true(fabsf(parts[i] - whole[i]) < 1e-4f);
			free(parts);
		}
		free(whole);
	}
}

static void memory_is_accounted_and_limited(void **state)
{
	struct device *dev = open_device(1, 1 << 20);
	const struct memory_account *a = device_memory(dev);
	void *p, *q, *r;
	(void)state;

	assert_int_equal(device_alloc(dev, MEMORY_PARAMS, 1000, "a", &p, &err), OK);
	assert_int_equal(device_alloc(dev, MEMORY_GRADS, 1 << 19, "b", &q, &err), OK);
	assert_int_equal((uintptr_t)p % 64, 0);
	assert_int_equal(a->now[MEMORY_PARAMS], 1024);
	assert_int_equal(a->total, 1024 + (1 << 19));
	assert_int_equal(device_alloc(dev, MEMORY_OPTIMIZER, 1 << 19, "the moments", &r, &err),
			 ERR_MEMORY);
	assert_non_null(strstr(err.msg, "512.0 KiB needed for the moments (optimizer)"));
	assert_non_null(strstr(err.msg, "grads 512.0 KiB"));
	assert_non_null(strstr(err.msg, "of 1.0 MiB"));
	device_free(dev, q);
	assert_int_equal(a->total, 1024);
	assert_int_equal(a->total_peak, 1024 + (1 << 19));
	assert_int_equal(a->peak[MEMORY_GRADS], 1 << 19);
	device_free(dev, NULL);
	device_close(dev);
	/* More than any machine has is refused, not promised. */
	dev = open_device(1, 0);
	assert_int_equal(device_alloc(dev, MEMORY_PARAMS, 1ull << 50, "all", &p, &err),
			 ERR_MEMORY);
	device_close(dev);
}

/* Cut over threads, odd sizes included, a device does what one kernel call does. */
static void devices_cast_and_scale_like_the_kernels(void **state)
{
	enum { N = 70001 };
	static float x[N], y[N], back[N];
	static uint16_t half[N], want[N];
	struct random r = random_start("device casts");
	(void)state;

	random_fill(&r, x, N);
	for (int threads = 1; threads <= 4; threads++) {
		struct device *dev = open_device(threads, 0);

		assert_int_equal(device_reserve(dev, 1, 1, &err), OK);
		for (int n = N - 3; n <= N; n++) {
			memset(half, 0xff, sizeof(half));
			device_cast(dev, x, DTYPE_F32, half, DTYPE_F16, (size_t)n);
			kernels_reference.f32_to_f16(x, want, N);
			assert_memory_equal(half, want, (size_t)n * 2);
			assert_true(n == N || half[n] == 0xffff);
			device_cast(dev, half, DTYPE_F16, back, DTYPE_F32, (size_t)n);
			for (int i = 0; i < n; i++)
				assert_true(fabsf(back[i] - x[i]) < 1e-3f);
			device_cast(dev, x, DTYPE_F32, half, DTYPE_BF16, (size_t)n);
			kernels_reference.f32_to_bf16(x, want, N);
			assert_memory_equal(half, want, (size_t)n * 2);
		}
		memcpy(y, x, sizeof(x));
		assert_true(device_scale_check(dev, y, N, 0.5f));
		assert_true(y[N - 1] == x[N - 1] * 0.5f);
		y[random_int(&r, 0, N - 1)] = NAN;
		assert_false(device_scale_check(dev, y, N, 1));
		device_close(dev);
	}
}

/* A NaN inside the stack must show in the loss, not vanish behind a rectifier. */
static void nan_is_not_swallowed(void **state)
{
	(void)state;
	for (const struct kernels *const *k = kernels_available(); *k; k++) {
		struct engine_options o = options_of(20, 20, 20, 3, 4);
		struct device *dev;
		struct engine *e;

		setenv("KOLM_CPU", (*k)->name, 1);
		dev = open_device(1, 0);
		o.shape.act = ACT_RELU;
		o.clip = 1;
		assert_int_equal(engine_create(&e, dev, &o, &err), OK);
		fill_batch(e, 1);
		e->batch.x.data[3] = NAN;
		assert_true(isnan(step_loss(e)));
		engine_free(e);
		device_close(dev);
		unsetenv("KOLM_CPU");
	}
}

static void evaluation_counts_what_is_right(void **state)
{
	struct engine_options o = options_of(2, 4, 3, 1, 4);
	struct device *dev = open_device(1, 0);
	float values[14];
	int32_t labels[7], order[7];
	struct data d = {
		.kind = DATA_TABLE,
		.in = 2,
		.out = 3,
		.labelled = true,
		.held_out = 7,
		.table = {.samples = 7, .features = 2, .values = values, .labels = labels},
		.order = order};
	struct engine *e;
	struct evaluation result;
	/* Class = the larger of x0, x1, or the third if both are negative. */
	static const float w[6] = {10, 0, 0, 10, 0, 0};
	(void)state;

	o.labelled = true;
	assert_int_equal(engine_create(&e, dev, &o, &err), OK);
	device_matrix_write(dev, e->model.param + e->model.layers[0].weight, DTYPE_F32, 3, 2, 0,
			    3, w);
	memset(e->model.param + e->model.layers[0].bias, 0, 3 * sizeof(float));
	for (int i = 0; i < 7; i++) {
		order[i] = i;
		values[2 * i] = (float)(i % 3) - 1.5f;
		values[2 * i + 1] = (float)((i + 1) % 4) - 2.4f;
		labels[i] = values[2 * i] < 0 && values[2 * i + 1] < 0 ? 2
			    : values[2 * i] > values[2 * i + 1]	       ? 0
								       : 1;
	}
	labels[0] = (labels[0] + 1) % 3; /* one is wrong */
	assert_int_equal(engine_evaluate(e, &d, &result, &err), OK);
	assert_int_equal(result.samples, 7);
	assert_true(fabs(result.accuracy - 6.0 / 7) < 1e-9);
	assert_true(result.loss > 0 && isfinite(result.loss));
	engine_free(e);
	device_close(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_do_not_change_a_bit),
		cmocka_unit_test(micro_batches_change_only_rounding),
		cmocka_unit_test(memory_is_accounted_and_limited),
		cmocka_unit_test(devices_cast_and_scale_like_the_kernels),
		cmocka_unit_test(nan_is_not_swallowed),
		cmocka_unit_test(evaluation_counts_what_is_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
