/*
 * own_model.c - a model of one's own, with a kind of layer of one's own, trained on a grid of
 * 2 x 2 x 2 ranks on this machine.
 *
 *     cc own_model.c $(pkg-config --cflags --libs kolm) -lm -o own_model && ./own_model
 *
 * The layer is a gain: every column of its input times a number that is learned. It works on
 * a part of the columns as well as on all, so that layers can be split over ranks around it.
 */
#include <kolm.h>

#include <math.h>
#include <stdio.h>

enum { INPUTS = 16, OUTPUTS = 8, STEPS = 200 };

static enum kolm_status gain_describe(struct kolm_layer *l, const void *config,
				      struct kolm_error *err)
{
	kolm_layer_set_flops(l, kolm_layer_columns(l));
	return kolm_layer_add_vector(l, "gain", *(const float *)config, 0, err);
}

/* to = from times the gain, column by column. */
static void times_gain(const struct kolm_layer *l, struct kolm_pass *p, enum kolm_part to,
		       enum kolm_part from)
{
	size_t in, out;
	const float *x = kolm_pass_open(p, from, KOLM_READS, &in);
	const float *gain = kolm_pass_open_vector(p, 0);
	float *y = kolm_pass_open(p, to, KOLM_WRITES, &out);

	for (int r = 0; y && r < kolm_pass_rows(p); r++)
		for (int c = 0; c < kolm_layer_own_columns(l); c++)
			y[(size_t)r * out + c] = x[(size_t)r * in + c] * gain[c];
	kolm_pass_close(p, to);
	kolm_pass_close_vector(p, 0);
	kolm_pass_close(p, from);
}

static enum kolm_status gain_forward(const struct kolm_layer *l, const void *config,
				     struct kolm_pass *p, struct kolm_error *err)
{
	(void)config, (void)err;
	times_gain(l, p, KOLM_Y, KOLM_X);
	return KOLM_OK;
}

static enum kolm_status gain_backward_input(const struct kolm_layer *l, const void *config,
					    struct kolm_pass *p, struct kolm_error *err)
{
	(void)config, (void)err;
	times_gain(l, p, KOLM_DX, KOLM_DY);
	return KOLM_OK;
}

static enum kolm_status gain_backward_weight(const struct kolm_layer *l, const void *config,
					     struct kolm_pass *p, struct kolm_error *err)
{
	size_t in, out;
	const float *x = kolm_pass_open(p, KOLM_X, KOLM_READS, &in);
	const float *dy = kolm_pass_open(p, KOLM_DY, KOLM_READS, &out);
	float *gradient = kolm_pass_open_gradient(p, 0);

	(void)config, (void)err;
	for (int c = 0; c < kolm_layer_own_columns(l); c++) {
		float sum = kolm_pass_accumulates(p) ? gradient[c] : 0;

		for (int r = 0; r < kolm_pass_rows(p); r++)
			sum += dy[(size_t)r * out + c] * x[(size_t)r * in + c];
		gradient[c] = sum;
	}
	kolm_pass_close_gradient(p, 0);
	kolm_pass_close(p, KOLM_DY);
	kolm_pass_close(p, KOLM_X);
	return KOLM_OK;
}

static const struct kolm_layer_kind gain = {
	"gain", 1, gain_describe, gain_forward, gain_backward_input, gain_backward_weight};

/* A function to learn: sample number i is the same on every rank. */
static void fill(void *arg, int64_t first, int rows, const struct kolm_batch *b)
{
	int64_t step = *(const int *)arg;

	for (int r = 0; r < rows; r++) {
		double t = (double)(step * 977 + (first + r) * 31);

		for (int i = 0; i < INPUTS; i++)
			b->x[(size_t)r * b->x_stride + i] = (float)sin(t * (i + 1));
		for (int o = 0; o < OUTPUTS; o++)
			b->target[(size_t)r * b->target_stride + o] =
				(float)cos(sin(t * (o + 1)) + sin(t * (o + 2)));
	}
}

static enum kolm_status train(struct kolm_world *world, void *arg, struct kolm_error *err)
{
	struct kolm_options options = KOLM_OPTIONS;
	struct kolm_model *model = NULL;
	struct kolm_engine *engine = NULL;
	struct kolm_result result;
	float one = 1;
	enum kolm_status st;

	(void)arg;
	options.dp = options.pp = options.mp = 2;
	options.micro_batches = 4;
	options.optimizer = "adamw";
	options.lr = 0.01;
	if ((st = kolm_model_new(&model, INPUTS, err)) ||
	    (st = kolm_model_linear(model, 32, "gelu", err)) ||
	    (st = kolm_model_layer(model, &gain, &one, sizeof(one), err)) ||
	    (st = kolm_model_linear(model, 32, "gelu", err)) ||
	    (st = kolm_model_linear(model, OUTPUTS, "none", err)) ||
	    (st = kolm_engine_create(&engine, world, model, &options, err)))
		goto out;
	for (int step = 0; step < STEPS && st == KOLM_OK; step++) {
		st = kolm_engine_step(engine, fill, &step, &result, err);
		if (st == KOLM_OK && kolm_world_rank(world) == 0 && step % 20 == 19)
			printf("step %3d  loss %.6f\n", step + 1, result.loss);
	}
	if (st == KOLM_OK)
		st = kolm_engine_save(engine, ".", "own_model.safetensors", err);
out:
	kolm_engine_free(engine);
	kolm_model_free(model);
	return st;
}

int main(void)
{
	struct kolm_error err = {0};

	setvbuf(stdout, NULL, _IOLBF, 0); /* ranks end by _exit, which flushes nothing */
	if (kolm_world_fork(8, train, NULL, &err) == KOLM_OK)
		return 0;
	fprintf(stderr, "%s; %s\n", err.message, err.hint);
	return 1;
}
