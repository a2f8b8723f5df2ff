/* test_kernels.c - elementwise kernels of every table against the plain reference. */
#include "testing.h"

#include "base/half.h"
#include "device/cpu/activation.h"
#include "device/cpu/kernels.h"

static void close_to(double got, double want, double tolerance, const char *what)
{
	if (!(fabs(got - want) <= tolerance * (1 + fabs(want))))
		fail_msg("%s: %.9g, should be %.9g", what, got, want);
}

static void losses_agree(void **state)
{
	struct random r = random_start("losses");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++)
		for (int i = 0; i < 50; i++) {
			int n = i == 0 ? PIECE : random_int(&r, 1, 300);
			float top, top2;
			float *y = malloc((size_t)n * 4), *t = malloc((size_t)n * 4);
			float *d = malloc((size_t)n * 4), *d2 = malloc((size_t)n * 4);

			random_fill(&r, y, (size_t)n);
			random_fill(&r, t, (size_t)n);
			close_to((*k)->mse_row(y, t, d, n, 0.3f),
				 kernels_reference.mse_row(y, t, d2, n, 0.3f), 1e-5, "mse");
			for (int j = 0; j < n; j++)
				close_to(d[j], d2[j], 1e-6, "mse gradient");
			if (i % 2)
				y[random_int(&r, 0, n - 1)] = 200; /* must not overflow */
			close_to((*k)->class_sum(y, n, &top),
				 kernels_reference.class_sum(y, n, &top2), 1e-6,
				 "sum of exponentials");
			assert_true(top == top2);
			(*k)->class_shares(y, d, n, top, 0.3f);
			kernels_reference.class_shares(y, d2, n, top, 0.3f);
			for (int j = 0; j < n; j++)
				close_to(d[j], d2[j], 1e-6, "softmax");
			free(y);
			free(t);
			free(d);
			free(d2);
		}
}

/* Relative to what it should be, which is at least so large. */
static void near(double got, double want, double least, const char *what, enum activation act)
{
	if (!(fabs(got - want) <= 5e-7 * fmax(fabs(want), least)))
		fail_msg("%s of %s: %.9g, should be %.9g", what, activation_names[act], got,
			 want);
}

/* Values of all sizes, both signs; 0 and what is far beyond any saturation among them. */
static void fill_wide(struct random *r, float *out, size_t n)
{
	random_fill(r, out, n);
	for (size_t i = 0; i < n; i++)
		out[i] = ldexpf(out[i], random_int(r, -30, 4));
	out[random_int(r, 0, (int)n - 1)] = 0;
	out[random_int(r, 0, (int)n - 1)] = random_int(r, 0, 1) ? 200.0f : -200.0f;
}

/* Of these every digit counts, however small the result is. Elsewhere a sum of the formula may
   come near 0 (the tail of gelu, the minimum of a derivative), and the error is held against
   its terms instead. */
static const bool exact_values[ACT_COUNT] = {
	[ACT_NONE] = true, [ACT_RELU] = true, [ACT_TANH] = true, [ACT_SILU] = true};
static const bool exact_slopes[ACT_COUNT] = {
	[ACT_NONE] = true, [ACT_RELU] = true, [ACT_TANH] = true};

/* Every table against the formulas in double. */
static void check_activation(const struct kernels *k, struct random *r, enum activation act,
			     bool keep)
{
	float z[300], y[300], bias[300], before[300], saved[300], dy[300], scale[300];
	int n = random_int(r, 1, 300);

	fill_wide(r, z, (size_t)n);
	fill_wide(r, bias, (size_t)n);
	fill_wide(r, saved, (size_t)n);
	random_fill(r, scale, (size_t)n);
	for (int i = 0; i < n; i++)
		if (activation_saves(act) == ACT_SAVES_OUTPUT)
			saved[i] = (float)act_value(saved[i], act);
	memcpy(y, z, sizeof(y));
	memcpy(dy, scale, sizeof(dy));
	k->activate_row(y, bias, keep ? before : NULL, n, act);
	k->derive_row(dy, saved, n, act);
	for (int i = 0; i < n; i++) {
		float sum = z[i] + bias[i];

		near(y[i], act_value(sum, act), exact_values[act] ? 1e-28 : fabsf(sum), "value",
		     act);
		near(dy[i], (double)scale[i] * act_slope(saved[i], act),
		     exact_slopes[act] ? 1e-28 : 1, "derivative", act);
		if (keep)
			assert_true(before[i] == sum);
	}
}

static void activations_agree(void **state)
{
	struct random r = random_start("activations");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++)
		for (enum activation act = 0; (int)act < ACT_COUNT; act++)
			for (int i = 0; i < 200; i++)
				check_activation(*k, &r, act, i % 2);
}

/* The formulas in double are those that everybody knows. */
static void activations_have_known_values(void **state)
{
	static const struct {
		enum activation act;
		double z, value;
	} known[] = {{ACT_NONE, -3, -3},
		     {ACT_RELU, -2, 0},
		     {ACT_RELU, 2, 2},
		     {ACT_GELU, 1, 0.8413447460685429},
		     {ACT_GELU, -1, -0.1586552539314571},
		     {ACT_TANH, 0.5, 0.46211715726000976},
		     {ACT_SILU, 1, 0.7310585786300049},
		     {ACT_SILU, -2, -0.23840584404423517},
		     {ACT_GELU_TANH, 1, 0.8411919906082768},
		     {ACT_GELU_TANH, -1, -0.15880800939172324}};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		near(act_value(known[i].z, known[i].act), known[i].value, 1e-7, "value",
		     known[i].act);
}

/* What is not a number stays that, so that a run that diverges shows. */
static void activations_keep_nan(void **state)
{
	(void)state;
	for (const struct kernels *const *k = kernels_available(); *k; k++)
		for (enum activation act = 0; (int)act < ACT_COUNT; act++)
			for (int n = 1; n < 40; n++) {
				float y[40] = {0}, bias[40] = {0};

				y[n - 1] = NAN;
				(*k)->activate_row(y, bias, NULL, n, act);
				for (int i = 0; i < n; i++)
					assert_int_equal(isnan(y[i]), i == n - 1);
			}
}

/* The formulas of the derivatives are those of the values. */
static void derivatives_are_differences(void **state)
{
	const double h = 1e-5;

	(void)state;
	for (enum activation act = 0; (int)act < ACT_COUNT; act++)
		for (double z = -12.0123; z < 12; z += 0.0317) {
			double saved = activation_saves(act) == ACT_SAVES_OUTPUT
					       ? act_value(z, act)
					       : z;
			double slope = (act_value(z + h, act) - act_value(z - h, act)) / h / 2;

			if (!(fabs(act_slope(saved, act) - slope) <= 1e-9))
				fail_msg("%s at %g: %.12g, should be %.12g",
					 activation_names[act], z, act_slope(saved, act),
					 slope);
		}
}

static struct update random_update(struct random *r, enum optimizer kind)
{
	return (struct update){.kind = kind,
			       .lr = 0.1f,
			       .momentum = 0.9f,
			       .beta1 = 0.9f,
			       .beta2 = 0.99f,
			       .eps = 1e-6f,
			       .weight_decay = 0.01f,
			       .grad_scale = (float)random_int(r, 1, 10) / 10,
			       .correction1 = 0.19f,
			       .correction2 = 0.0199f};
}

/* What an update works on; index 1 is the gradient, 4 the working copy, of any type. */
enum { ARRAYS = 5, MOST = 6000 };

static struct update on_arrays(struct update u, float (*a)[MOST])
{
	u.param = a[0];
	u.grad = a[1];
	u.m = u.kind == OPT_SGD ? NULL : a[2]; /* must not be touched */
	u.v = u.kind == OPT_ADAMW ? a[3] : NULL;
	u.working = u.working_type == DTYPE_F32 ? NULL : a[4];
	return u;
}

static void optimizers_agree(void **state)
{
	static float a[ARRAYS][MOST], b[ARRAYS][MOST];
	struct random r = random_start("optimizers");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++)
		for (int i = 0; i < 120; i++) {
			int n = i < 80 ? random_int(&r, 1, 100) : random_int(&r, 100, MOST);
			size_t begin = (size_t)random_int(&r, 0, n - 1);
			struct update u = random_update(&r, (enum optimizer)(i % OPT_COUNT)),
				      u2;

			u.working_type = (enum dtype)random_int(&r, DTYPE_F32, DTYPE_BF16);
			u.grad_type = random_int(&r, 0, 1) ? u.working_type : DTYPE_F32;
			for (int j = 0; j < ARRAYS; j++)
				random_fill(&r, a[j], MOST);
			for (int j = 0; j < MOST; j++) {
				a[3][j] = fabsf(a[3][j]); /* second moments are not negative */
				float_to(a[1], (size_t)j, u.grad_type, a[1][j]);
				float_to(a[4], (size_t)j, u.working_type, a[4][j]);
			}
			memcpy(b, a, sizeof(a));
			u2 = on_arrays(u, b);
			u = on_arrays(u, a);
			close_to((*k)->update(&u, begin, (size_t)n),
				 kernels_reference.update(&u2, begin, (size_t)n), 1e-5,
				 "sum of squares");
			for (int j = 0; j < ARRAYS - 1; j++)
				for (int e = 0; e < MOST; e++)
					close_to(a[j][e], b[j][e], 2e-6, "update");
			for (size_t e = 0; e < MOST; e++)
				close_to(float_from(a[4], e, u.working_type),
					 float_from(b[4], e, u.working_type),
					 u.working_type == DTYPE_F16	? 0x1p-10
					 : u.working_type == DTYPE_BF16 ? 0x1p-7
									: 0,
					 "working copy");
		}
}

static void reductions_agree(void **state)
{
	struct random r = random_start("reductions");
	static float a[70000], c[70000];
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++)
		for (int i = 0; i < 40; i++) {
			size_t n = (size_t)(i < 30 ? random_int(&r, 0, 200)
						   : random_int(&r, 200, 70000));
			int at = random_int(&r, 0, 69999);
			static const float bad[] = {INFINITY, -INFINITY, NAN};

			random_fill(&r, a, ARRAY_SIZE(a));
			for (enum dtype type = DTYPE_F32; type <= DTYPE_BF16; type++) {
				for (size_t j = 0; j < n; j++)
					float_to(c, j, type, a[j]);
				close_to((*k)->sum_squares(c, type, n),
					 kernels_reference.sum_squares(c, type, n), 1e-6,
					 "sum of squares");
				float_to(c, (size_t)at, type, bad[i % 3]);
				assert_int_equal(isfinite((*k)->sum_squares(c, type, n)),
						 (size_t)at >= n);
			}
		}
}

static bool same_half(uint16_t a, uint16_t b, int exponent_bits)
{
	uint16_t infinity = exponent_bits == 5 ? 0x7c00 : 0x7f80;

	if ((a & 0x7fff) > infinity && (b & 0x7fff) > infinity)
		return true; /* any NaN will do */
	return a == b;
}

static void conversions_agree(void **state)
{
	enum { N = 1 << 16 };
	static uint16_t all[N], back[N], want[N];
	static float wide[N], wide2[N];
	struct random r = random_start("conversions");
	(void)state;

	for (int i = 0; i < N; i++)
		all[i] = (uint16_t)i;
	for (const struct kernels *const *k = kernels_available(); *k; k++) {
		/* Every 16-bit value survives the way there and back. */
		(*k)->f16_to_f32(all, wide, N);
		kernels_reference.f16_to_f32(all, wide2, N);
		(*k)->f32_to_f16(wide, back, N);
		for (int i = 0; i < N; i++) {
			assert_true(wide[i] == wide2[i] || (isnan(wide[i]) && isnan(wide2[i])));
			assert_true(same_half(back[i], all[i], 5));
		}
		(*k)->bf16_to_f32(all, wide, N);
		(*k)->f32_to_bf16(wide, back, N);
		for (int i = 0; i < N; i++)
			assert_true(same_half(back[i], all[i], 8));
		/* Random bit patterns round the same way. */
		for (int round = 0; round < 20; round++) {
			int odd = random_int(&r, 0, 40);

			for (int i = 0; i < N; i++) {
				uint32_t bits = rng_below(r.seed, 7, r.next++, UINT32_MAX);

				/* Half of them in the range of fp16. */
				if (i % 2)
					bits = (bits & 0x807fffff) | (95 + bits % 50) << 23;
				memcpy(&wide[i], &bits, 4);
			}
			(*k)->f32_to_f16(wide, back, (size_t)(N - odd));
			kernels_reference.f32_to_f16(wide, want, N);
			for (int i = 0; i < N - odd; i++)
				assert_true(same_half(back[i], want[i], 5));
			(*k)->f32_to_bf16(wide, back, (size_t)(N - odd));
			kernels_reference.f32_to_bf16(wide, want, N);
			for (int i = 0; i < N - odd; i++)
				assert_true(same_half(back[i], want[i], 8));
		}
	}
}

/* The reference's own rounding, at the points where it is easy to get wrong. */
static void halves_round_to_even(void **state)
{
	static const struct {
		float f;
		uint16_t half, bfloat;
	} cases[] = {
		{0, 0, 0},
		{-0.0f, 0x8000, 0x8000},
		{1, 0x3c00, 0x3f80},
		{65504, 0x7bff, 0x4780},
		{65519.996f, 0x7bff, 0x4780},
		{65520, 0x7c00, 0x4780},
		{INFINITY, 0x7c00, 0x7f80},
		{0x1p-24f, 0x0001, 0x3380},
		{0x1p-25f, 0, 0x3300},
		{0x1.000002p-25f, 1, 0x3300},
		{0x1.8p-24f, 2, 0x33c0},
		{0x1p-14f, 0x0400, 0x3880},
		{0x1.ff8p-15f, 0x03ff, 0x3880},
		{0x1.ffcp-15f, 0x0400, 0x3880},
		{1 + 0x1p-11f, 0x3c00, 0x3f80},
		{1 + 0x1.8p-10f, 0x3c02, 0x3f80},
		{1 + 0x1p-8f, 0x3c04, 0x3f80},
		{1 + 0x1.8p-7f, 0x3c0c, 0x3f82},
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint16_t h, b;

		kernels_reference.f32_to_f16(&cases[i].f, &h, 1);
		kernels_reference.f32_to_bf16(&cases[i].f, &b, 1);
		if (h != cases[i].half || b != cases[i].bfloat)
			fail_msg("%a gave %04x %04x", (double)cases[i].f, h, b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(losses_agree),
		cmocka_unit_test(activations_agree),
		cmocka_unit_test(activations_have_known_values),
		cmocka_unit_test(activations_keep_nan),
		cmocka_unit_test(derivatives_are_differences),
		cmocka_unit_test(optimizers_agree),
		cmocka_unit_test(reductions_agree),
		cmocka_unit_test(conversions_agree),
		cmocka_unit_test(halves_round_to_even),
	};

	printf("kernels here:");
	for (const struct kernels *const *k = kernels_available(); *k; k++)
		printf(" %s", (*k)->name);
	printf("\n");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
