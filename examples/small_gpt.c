/*
 * small_gpt.c - a GPT learns the bytes of a file, on one rank or on 2 x 2 x 2.
 *
 *	cc small_gpt.c $(pkg-config --cflags --libs kolm) -o small_gpt && ./small_gpt FILE 8
 *
 * Every rank has the same text; a sample is a piece of it from a place that follows from the
 * number of the step and of the sample alone, so that any grid sees the same ones.
 */
#include <kolm.h>

#include <stdio.h>
#include <stdlib.h>

enum { CONTEXT = 32, BATCH = 16, STEPS = 60 };

struct text {
	unsigned char bytes[1 << 16];
	size_t size;
	int grid; /* ranks along each of its three sides */
	int step;
};

/* A place in the text: what a linear congruential generator makes of two numbers. */
static size_t place_of(const struct text *t, int64_t sample)
{
	uint64_t n = (uint64_t)t->step * BATCH + (uint64_t)sample + 1;

	for (int i = 0; i < 3; i++)
		n = n * 6364136223846793005u + 1442695040888963407u;
	return (size_t)(n >> 20) % (t->size - CONTEXT);
}

static void fill(void *arg, int64_t first, int samples, const struct kolm_batch *b)
{
	const struct text *t = arg;

	for (int s = 0; s < samples; s++) {
		const unsigned char *piece = t->bytes + place_of(t, first + s);

		for (int i = 0; i < CONTEXT; i++) {
			b->tokens[s * CONTEXT + i] = piece[i];
			b->labels[s * CONTEXT + i] = piece[i + 1];
		}
	}
}

static enum kolm_status train(struct kolm_world *world, void *arg, struct kolm_error *err)
{
	struct kolm_language language = KOLM_LANGUAGE;
	struct kolm_options options = KOLM_OPTIONS;
	struct kolm_model *model = NULL;
	struct kolm_engine *engine = NULL;
	struct kolm_evaluation evaluation;
	struct kolm_result result;
	struct text *text = arg;
	enum kolm_status st;

	language.layers = 2;
	language.heads = 4;
	language.dim = 64;
	language.context = CONTEXT;
	language.vocabulary = 256;
	language.sequence_parallel = 1;
	language.recompute = "attention";
	options.dp = options.pp = options.mp = text->grid;
	options.batch = BATCH;
	options.micro_batches = 4;
	options.loss = "cross-entropy";
	options.optimizer = "adamw";
	options.lr = 0.003;
	options.clip_grad = 1;
	if ((st = kolm_model_gpt(&model, &language, err)) ||
	    (st = kolm_engine_create(&engine, world, model, &options, err)))
		goto out;
	for (text->step = 0; text->step < STEPS && st == KOLM_OK; text->step++) {
		st = kolm_engine_step(engine, fill, text, &result, err);
		if (st == KOLM_OK && kolm_world_rank(world) == 0 && text->step % 10 == 9)
			printf("step %3d  loss %.4f\n", text->step + 1, result.loss);
	}
	if (st == KOLM_OK)
		st = kolm_engine_evaluate(engine, 4L * BATCH, fill, text, &evaluation, err);
	if (st == KOLM_OK && kolm_world_rank(world) == 0)
		printf("loss %.4f, %.0f %% of the next bytes known\n", evaluation.loss,
		       100 * evaluation.accuracy);
	if (st == KOLM_OK)
		st = kolm_engine_save(engine, ".", "small_gpt.safetensors", err);
out:
	kolm_engine_free(engine);
	kolm_model_free(model);
	return st;
}

int main(int argc, char **argv)
{
	static struct text text;
	struct kolm_error err = {0};
	int ranks = argc > 2 ? atoi(argv[2]) : 1;
	FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;

	if (f) {
		text.size = fread(text.bytes, 1, sizeof(text.bytes), f);
		fclose(f);
	}
	if (text.size <= CONTEXT || (ranks != 1 && ranks != 8)) {
		fprintf(stderr, "usage: small_gpt FILE [1 or 8]; the file has a text\n");
		return 2;
	}
	text.grid = ranks == 8 ? 2 : 1;
	setvbuf(stdout, NULL, _IOLBF, 0); /* ranks end by _exit, which flushes nothing */
	if (kolm_world_fork(ranks, train, &text, &err) == KOLM_OK)
		return 0;
	fprintf(stderr, "%s; %s\n", err.message, err.hint);
	return 1;
}
