/* test_memory.c - the accounts of a device agree with what the kernel says a process takes. */
#include "testing.h"

#include "engine/engine.h"
#include "launch/launch.h"
#include "model/gpt.h"
#include "model/mlp.h"

#include <sys/mman.h>
#include <sys/resource.h>

enum { DEPTH = 8, WIDTH = 1500, CONTEXT = 100 };

/* Eight layers, or a GPT whose attention is what takes the memory. */
struct job {
	bool language;
	enum recompute recompute;
	int64_t *bytes; /* shared: by the accounts, and by what the process has grown */
};

static enum status build_gpt(struct model *m, const struct job *job, struct error *err)
{
	struct gpt gpt = {.layers = 4,
			  .heads = 8,
			  .kv_heads = 8,
			  .dim = 512,
			  .ffn = 2048,
			  .context = CONTEXT,
			  .vocabulary = 5003,
			  .norm = NORM_LAYER,
			  .eps = 1e-5f,
			  .act = ACT_GELU_TANH,
			  .biased = true,
			  .tied = true,
			  .dropout = 0.1,
			  .recompute = job->recompute};

	model_init(m, 1, 1);
	return gpt_build(m, &gpt, err);
}

static enum status build(struct model *m, struct error *err)
{
	int widths[DEPTH + 1];
	struct mlp mlp = {.widths = widths, .depth = DEPTH, .act = ACT_GELU};

	for (int i = 0; i <= DEPTH; i++)
		widths[i] = WIDTH;
	model_init(m, WIDTH, 1);
	return mlp_build(m, &mlp, err);
}

/* A model that is large beside the process itself: what it takes, and what the accounts say.
   Its samples are never filled in. */
static enum status take_memory(struct rank *rank, void *arg, struct error *err)
{
	struct device_options options = {.threads = 1};
	struct model model;
	struct partition partition;
	struct schedule schedule;
	const struct job *job = arg;
	struct engine_options o = {.model = &model,
				   .loss = job->language ? &loss_cross_entropy : &loss_mse,
				   .rows = 5 * CONTEXT,
				   .micro_batches = 1,
				   .optimizer = {.kind = OPT_ADAMW, .lr = 1e-3f, .eps = 1e-8f},
				   .world = rank->world,
				   .grid = {1, 1, 1},
				   .partition = &partition,
				   .schedule = &schedule};
	struct rusage before, after;
	struct step_result result;
	struct device *dev;
	struct engine *e;
	enum status st;

	getrusage(RUSAGE_SELF, &before);
	TRY(job->language ? build_gpt(&model, job, err) : build(&model, err));
	TRY(partition_init(&partition, &model, 1, 1, "", err));
	TRY(schedule_init(&schedule, SCHEDULE_1F1B, 1, 1, 1, err));
	TRY(device_open(&dev, "cpu", &options, err));
	TRY(engine_create(&e, dev, &o, err));
	for (int i = 0; i < 2; i++)
		TRY(engine_step(e, i, &result, err));
	getrusage(RUSAGE_SELF, &after);
	job->bytes[0] = (int64_t)device_memory(dev)->total_peak;
	job->bytes[1] = (after.ru_maxrss - before.ru_maxrss) * 1024;
	engine_free(e);
	device_close(dev);
	schedule_release(&schedule);
	partition_release(&partition);
	model_release(&model);
out:
	return st;
}

static void check(struct job job)
{
	struct launch l = {.ranks = 1, .timeout_ms = 60000};
	int64_t *bytes =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct error err = {0};

	job.bytes = bytes;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip(); /* they take memory of their own */
#endif
	if (launch_run(&l, take_memory, &job, &err) != OK)
		fail_msg("%s", err.msg);
	assert_true(bytes[0] > 200 << 20);
	if (llabs(bytes[1] - bytes[0]) > (24 << 20))
		fail_msg("the accounts say %lld bytes, the process grew by %lld",
			 (long long)bytes[0], (long long)bytes[1]);
}

static void accounts_are_what_the_process_takes(void **state)
{
	(void)state;
	check((struct job){0});
}

static void those_of_language_models_too(void **state)
{
	(void)state;
	check((struct job){.language = true});
	check((struct job){.language = true, .recompute = RECOMPUTE_BLOCK});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accounts_are_what_the_process_takes),
		cmocka_unit_test(those_of_language_models_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
