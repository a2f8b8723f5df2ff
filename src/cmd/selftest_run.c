/* selftest_run.c - whole trainings of kolm selftest: the losses of 20 steps against the CPU's
 */
#include "cmd/selftest_report.h"
#include "base/util.h"
#include "cmd/verify.h"

#include <string.h>

enum { WORDS = 48 };

struct trial {
	const char *name;
	double tolerance; /* of losses, relative */
	const char *options[WORDS - 4];
};

#define MLP \
	"--dim", "48", "--depth", "4", "--batch", "16", "--micro-batches", "2", "--lr", "0.01"
#define LANGUAGE                                                                            \
	"--layers", "2", "--heads", "4", "--dim", "32", "--context", "40", "--vocab", "60", \
		"--batch", "4", "--micro-batches", "2", "--lr", "0.003", "--optimizer",     \
		"adamw"

static const struct trial trials[] = {
	{"20 steps of an MLP, fp32", 1e-5, {MLP}},
	{"20 steps of an MLP, fp16, 2 stages", 1e-2, {MLP, "--precision", "fp16", "--pp", "2"}},
	{"20 steps of a GPT, fp32, 2 slices", 1e-4, {LANGUAGE, "--model", "gpt", "--mp", "2"}},
	{"20 steps of a LLaMA, bf16, 2 replicas",
	 2e-2,
	 {LANGUAGE, "--model", "llama", "--kv-heads", "2", "--precision", "bf16", "--dp", "2"}},
};

static enum status compare_runs(struct setup *s, double *loss, struct error *err)
{
	static const struct variant on_device = {0}, on_cpu = {.alone = true};
	struct outcome many = {0}, one = {0};
	struct distance d = {0};
	enum status st;

	TRY(run_variant(s, &on_device, &many, err));
	TRY(run_variant(s, &on_cpu, &one, err));
	TRY(distance_init(&d, &one, &many, err));
	*loss = distance_most(&d, MEASURE_LOSS);
out:
	distance_release(&d);
	outcome_release(&many);
	outcome_release(&one);
	return st;
}

static void try_run(const struct selftest_plan *plan, const struct trial *trial)
{
	const char *words[WORDS] = {"--device", plan->device, "--steps", "20"};
	struct setup setup = {.argc = 4, .argv = (char *const *)(uintptr_t)words};
	struct error err = {0};
	double loss;

	for (int i = 0; trial->options[i]; i++)
		words[setup.argc++] = trial->options[i];
	if (compare_runs(&setup, &loss, &err) != OK)
		selftest_add(plan->report, false, trial->name, "%s", err.msg);
	else /* not a number is not below it */
		selftest_add(plan->report, loss <= trial->tolerance, trial->name,
			     "losses differ by %.2g from the CPU's, %.0e are allowed", loss,
			     trial->tolerance);
}

void selftest_do_runs(const struct selftest_plan *plan)
{
	for (size_t i = 0; i < ARRAY_SIZE(trials); i++)
		try_run(plan, &trials[i]);
}
