/*
 * test_model.c - memory accounts and limits, casts, sums, evaluation; and that neither threads
 * nor micro-batches change the result.
 */
#include "engines.h"

#include "engine/impl.h"

/* Train for some steps; returns the parameters, row by row, and the last loss. */
static float *train(const struct recipe *r, int steps, size_t *count, double *loss)
{
	struct fixture f;
	float *weights;

	fixture_open(&f, r);
	for (int i = 0; i < steps; i++) {
		load_random(&f, (uint64_t)i);
		*loss = step_loss(&f);
	}
	*count = (size_t)model_parameters(&f.model);
	weights = read_tensors(&f, collect_weights);
	fixture_close(&f);
	return weights;
}

static void threads_do_not_change_a_bit(void **state)
{
	struct recipe r = recipe_of(150, 200, 130, 3, 140);
	double loss, loss1;
	size_t count;
	float *one = train(&r, 4, &count, &loss1);
	(void)state;

	for (r.threads = 2; r.threads <= 5; r.threads++) {
		float *many = train(&r, 4, &count, &loss);

		assert_true(loss == loss1);
		assert_memory_equal(one, many, count * sizeof(float));
		free(many);
	}
	free(one);
}

/* Accumulation over micro-batches is the same step as the whole batch at once. */
static void micro_batches_change_only_rounding(void **state)
{
	(void)state;

	for (int kind = 0; kind < OPT_COUNT; kind++) {
		struct recipe r = recipe_of(20, 30, 10, 3, 24);
		double loss, loss1;
		float *whole, *parts;
		size_t count;

		r.threads = 2;
		r.options.optimizer = (struct update){.kind = (enum optimizer)kind,
						      .lr = 0.01f,
						      .momentum = 0.9f,
						      .beta1 = 0.9f,
						      .beta2 = 0.99f,
						      .eps = 1e-4f};
		r.options.clip = 0.5;
		whole = train(&r, 10, &count, &loss1);
		for (int m = 2; m <= 24; m++) {
			if (24 % m)
				continue;
			r.options.micro_batches = m;
			r.options.rows = 24 / m;
			parts = train(&r, 10, &count, &loss);
			assert_true(fabs(loss - loss1) < 1e-5 * loss1);
			for (size_t i = 0; i < count; i++)
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

static double sum_of_squares(struct device *dev, double *number, const float *x, size_t n)
{
	double sum;

	device_clear(dev, number, 1);
	device_sum_squares(dev, x, DTYPE_F32, n, 0.5, number);
	device_numbers(dev, number, 1, &sum);
	return sum;
}

/* Cut over threads, odd sizes included, a device does what one kernel call does. */
static void devices_cast_and_sum_like_the_kernels(void **state)
{
	enum { N = 70001 };
	static float x[N], y[N], back[N];
	static uint16_t half[N], want[N];
	struct random r = random_start("device casts");
	double squares = 0;
	(void)state;

	random_fill(&r, x, N);
	for (int i = 0; i < N; i++)
		squares += 0.5 * (double)x[i] * (double)x[i];
	for (int threads = 1; threads <= 4; threads++) {
		struct device *dev = open_device(threads, 0);
		double *number;

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
		assert_int_equal(device_alloc(dev, MEMORY_WORKSPACE, sizeof(*number),
					      "a number", (void **)&number, &err),
				 OK);
		memcpy(y, x, sizeof(x));
		assert_true(fabs(sum_of_squares(dev, number, y, N) / squares - 1) < 1e-6);
		y[random_int(&r, 0, N - 1)] = NAN;
		assert_true(isnan(sum_of_squares(dev, number, y, N)));
		device_close(dev);
	}
}

static void fill_with_a_nan(void *arg, int64_t first, int rows, const struct batch *b)
{
	fill_random(arg, first, rows, b);
	row_of(b->x, 0)[3] = NAN;
}

/* A NaN inside the stack must show in the loss, not vanish behind a rectifier. */
static void nan_is_not_swallowed(void **state)
{
	(void)state;
	for (const struct kernels *const *k = kernels_available(); *k; k++)
		for (int act = 0; act < ACT_COUNT; act++) {
			struct recipe r = recipe_of(20, 20, 20, 3, 4);
			struct fixture f;

			setenv("KOLM_CPU", (*k)->name, 1);
			r.mlp.act = (enum activation)act;
			r.options.clip = 1;
			fixture_open(&f, &r);
			engine_load(f.engine, fill_with_a_nan,
				    &(struct random_samples){1, &f.model});
			assert_true(isnan(step_loss(&f)));
			fixture_close(&f);
			unsetenv("KOLM_CPU");
		}
}

enum { HELD_OUT = 7 };

/* Class = the larger of x0, x1, or the third if both are negative; one is wrong. */
static void fill_held_out(void *arg, int64_t first, int rows, const struct batch *b)
{
	(void)arg;
	assert_true(first >= 0 && rows > 0 && first + rows <= HELD_OUT);
	for (int r = 0; r < rows; r++) {
		float *x = row_of(b->x, r);
		int i = (int)first + r;

		x[0] = (float)(i % 3) - 1.5f;
		x[1] = (float)((i + 1) % 4) - 2.4f;
		b->labels[r] = x[0] < 0 && x[1] < 0 ? 2 : x[0] > x[1] ? 0 : 1;
		if (i == 0)
			b->labels[r] = (b->labels[r] + 1) % 3;
	}
}

static void evaluation_counts_what_is_right(void **state)
{
	static const float w[6] = {10, 0, 0, 10, 0, 0}, none[3];
	struct recipe r = recipe_of(2, 4, 3, 1, 4);
	struct evaluation result;
	struct weights *weights;
	struct fixture f;
	(void)state;

	r.options.loss = &loss_cross_entropy;
	fixture_open(&f, &r);
	weights = &f.engine->weights;
	weights_write_rows(weights, weights->param, DTYPE_F32, 0, 0, 0, 3, w);
	weights_write_rows(weights, weights->param, DTYPE_F32, 1, 0, 0, 3, none);
	assert_int_equal(
		engine_evaluate(f.engine, HELD_OUT, fill_held_out, NULL, &result, &err), OK);
	assert_int_equal(result.samples, HELD_OUT);
	assert_true(fabs(result.accuracy - 6.0 / HELD_OUT) < 1e-9);
	assert_true(result.loss > 0 && isfinite(result.loss));
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_do_not_change_a_bit),
		cmocka_unit_test(micro_batches_change_only_rounding),
		cmocka_unit_test(memory_is_accounted_and_limited),
		cmocka_unit_test(devices_cast_and_sum_like_the_kernels),
		cmocka_unit_test(nan_is_not_swallowed),
		cmocka_unit_test(evaluation_counts_what_is_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
