/* plan.c - kolm plan: how long a step takes on machines that are not here. */
#include "cmd/plan.h"
#include "cmd/cmd.h"
#include "base/util.h"
#include "plan/cluster.h"
#include "plan/search.h"

#include <string.h>

static const char *const schedules[] = {"any",	       "naive", "gpipe", "1f1b",
					"interleaved", "zb-h1", NULL};
static const char *const recomputes[] = {"any", "none", "selective", "full", NULL};
static const char *const on_off[] = {"any", "off", "on", NULL};
static const char *const zeros[] = {"any", "0", "1", "2", "3", NULL};
static const char *const paretos[] = {NAMES_OF(PLAN_PARETOS)};

#define AT(member) .offset = offsetof(struct plan_settings, member)
#define SIZE(member, most)                                                             \
	.group = "Model", .type = OPTION_INT, AT(setup.member), .meta = "N", .min = 1, \
	.max = (most), .zero = "none", .initial = "none"
#define ANY(member, most)                                                             \
	.group = "Grid", .type = OPTION_INT, AT(setup.member), .meta = "N", .min = 1, \
	.max = (most), .zero = "any", .initial = "any"

#define CHOICE(member, list) \
	.group = "Grid", .type = OPTION_CHOICE, AT(member), .choices = (list), .initial = "any"

/* clang-format off */
static const struct option options[] = {
	{"model", .group = "Model", .type = OPTION_CHOICE, AT(model), .choices = setup_model_names,
	 .initial = "gpt", .help = "gpt: GPT-2 as Megatron-LM trains it; mpt: without dropout and biases, with flash attention; llama: gated layers, groups of queries, flash attention"},
	{"layers", SIZE(layers, 1 << 16), .help = "blocks"},
	{"hidden", "dim", SIZE(hidden, 1 << 20), .help = "width of the model"},
	{"heads", SIZE(heads, 1 << 16), .help = "heads of attention"},
	{"ffn", .group = "Model", .type = OPTION_INT, AT(setup.ffn), .meta = "N", .min = 1, .max = 1 << 22, .zero = "auto", .initial = "auto",
	 .help = "width inside of the feed-forward layers; auto: 4 times --hidden, of llama 8/3 of it, rounded up to a multiple of 256"},
	{"kv-heads", .group = "Model", .type = OPTION_INT, AT(setup.kv_heads), .meta = "N", .min = 1, .max = 1 << 16, .zero = "auto", .initial = "auto",
	 .help = "llama: heads of keys and values; auto: as many as --heads"},
	{"context", SIZE(context, 1 << 24), .help = "tokens of a sample"},
	{"vocab", SIZE(vocab, 1 << 24), .help = "different tokens"},
	{"batch", SIZE(global_batch, 1 << 24), .help = "samples of a step, over all devices"},

	{"cluster", .group = "Machines", .type = OPTION_STRING, AT(cluster), .capacity = PATH_MAX,
	 .reserved = true, .initial = "", .meta = "NAME|FILE",
	 .help = "a built-in cluster or a file that describes one; with --validate: instead of those that the rows name"},
	{"gpus", .group = "Machines", .type = OPTION_INT, AT(setup.gpus), .meta = "N", .min = 1,
	 .max = 1 << 16, .zero = "none", .initial = "none", .help = "devices"},
	{"memory", .group = "Machines", .type = OPTION_SIZE, AT(memory), .zero = "auto",
	 .initial = "auto", .meta = "SIZE", .min = 1, .max = 1e18,
	 .help = "of a device; auto: what the cluster says"},
	{"set", .group = "Machines", .type = OPTION_STRING, AT(set), .capacity = sizeof(((struct plan_settings *)0)->set),
	 .repeat = true, .initial = "", .meta = "NAME=VALUE",
	 .help = "what if: change a constant of the cluster, to a value or, as 2x, by a factor; may be given several times"},

	{"dp", ANY(dp, 1 << 16), .help = "only with so many replicas"},
	{"pp", ANY(pp, 4096), .help = "only with so many pipeline stages"},
	{"mp", "tp", ANY(tp, 4096), .help = "only with layers split so many ways"},
	{"micro-batch-size", ANY(micro_batch, 1 << 20), .help = "only with micro-batches of so many samples"},
	{"schedule", CHOICE(schedule, schedules), .help = "only with this schedule; with more than one stage"},
	{"chunks", ANY(chunks, 256), .help = "only with so many parts of the model on each stage: interleaved"},
	{"recompute", CHOICE(recompute, recomputes), .help = "only with this computed again in the backward pass: selective is attention, full whole blocks, as --recompute attention and block of kolm train"},
	{"sequence-parallel", CHOICE(spread, on_off), .help = "only with rows spread between layers that are split, or without"},
	{"zero", CHOICE(zero, zeros), .help = "only with what this ZeRO shards over the replicas"},

	{"validate", .group = "Tables", .type = OPTION_STRING, AT(validate), .capacity = PATH_MAX,
	 .reserved = true, .initial = "", .meta = "FILE",
	 .help = "predict every row of this CSV file and print the errors (docs/plan.md has the columns)"},
	{"calibrate", .group = "Tables", .type = OPTION_STRING, AT(calibrate), .capacity = PATH_MAX,
	 .reserved = true, .initial = "", .meta = "FILE",
	 .help = "measure this machine with kolm bench and write it down as a cluster; takes some seconds"},

	{"top", .group = "Output", .type = OPTION_INT, AT(top), .initial = "5", .meta = "N", .min = 1,
	 .max = SEARCH_TOP_MAX, .help = "how many to show"},
	{"sensitivity", .group = "Output", .type = OPTION_FLAG, AT(sensitivity), .initial = "false",
	 .help = "how much faster or slower the first one is where a constant is a tenth larger"},
	{"explain", .group = "Output", .type = OPTION_FLAG, AT(explain), .initial = "false",
	 .help = "take the first one apart: its step, its blocks, its stages, its memory"},
	{"pareto", .group = "Output", .type = OPTION_CHOICE, AT(pareto), .choices = paretos, .initial = "none",
	 .help = "the step against memory: nothing is faster with less; or against devices"},
	{"out", .group = "Output", .type = OPTION_STRING, AT(out), .capacity = PATH_MAX - 64,
	 .reserved = true, .initial = "", .meta = "FOLDER",
	 .help = "write plan.json, plan.html, plan.pdf and pictures: a map of the grids, the fronts, the pipeline of the first one; kolm report takes the folder too"},
	{"svg", .group = "Output", .type = OPTION_STRING, AT(svg), .capacity = PATH_MAX,
	 .reserved = true, .initial = "", .meta = "FILE",
	 .help = "draw a pipeline of the first one into this file"},
	{"json", .group = "Output", .type = OPTION_FLAG, AT(as_json), .initial = "false",
	 .help = "print one JSON document instead of text"},
};
/* clang-format on */

static const char *const examples[] = {
	"kolm plan --cluster a100-80g-selene --gpus 64 --layers 48 --hidden 6144 \\",
	"    --heads 64 --context 2048 --vocab 51200 --batch 512",
	"kolm plan --validate measured.csv",
	"kolm plan --calibrate mine.json",
	"kolm plan --validate measured.csv --cluster mine.json --json",
	NULL,
};

const struct option_table plan_table = {
	.command = "plan",
	.usage = "kolm plan --cluster NAME|FILE --gpus N [options], or --validate FILE",
	.summary = "Predict how long a training step takes and how much memory it needs on a "
		   "cluster that is described by its constants, and find the fastest ways that "
		   "fit.",
	.options = options,
	.count = ARRAY_SIZE(options),
	.examples = examples,
};

/* What nothing would come of beside --validate or --calibrate. */
static enum status check_alone(const struct option_values *v, const char *with,
			       const char *const *used, const char *why, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		size_t k = 0;

		while (used[k] && strcmp(used[k], options[i].name))
			k++;
		if (!used[k] && v->source[i] != SOURCE_DEFAULT)
			return FAIL(err, ERR_USAGE, "--%s does nothing with --%s: %s",
				    options[i].name, with, why);
	}
	return OK;
}

static enum status check_search(const struct plan_settings *o, struct error *err)
{
	const struct setup *s = &o->setup;
	const struct {
		const char *name;
		bool given;
	} needed[] = {{"layers", s->layers}, {"hidden", s->hidden},
		      {"heads", s->heads},   {"context", s->context},
		      {"vocab", s->vocab},   {"batch", s->global_batch},
		      {"gpus", s->gpus},     {"cluster", *o->cluster != 0}};

	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (!needed[i].given) {
			FAIL(err, ERR_USAGE, "--%s is missing", needed[i].name);
			return HINT(err, "'kolm plan --help' has an example");
		}
	if (s->hidden % s->heads)
		return FAIL(err, ERR_USAGE, "--heads %d does not divide --hidden %d", s->heads,
			    s->hidden);
	return OK;
}

/* What nothing would come of is an error. */
static enum status check_used(const struct plan_settings *o, struct error *err)
{
	const struct setup *s = &o->setup;
	int interleaved = SCHEDULE_INTERLEAVED + 1;

	if (s->kv_heads && o->model != SETUP_LLAMA)
		return FAIL(err, ERR_USAGE, "--kv-heads does nothing with --model %s",
			    setup_model_names[o->model]);
	if (s->kv_heads && s->heads % s->kv_heads)
		return FAIL(err, ERR_USAGE, "--kv-heads %d does not divide --heads %d",
			    s->kv_heads, s->heads);
	if (o->schedule && s->pp == 1)
		return FAIL(err, ERR_USAGE, "--schedule %s does nothing with --pp 1",
			    schedules[o->schedule]);
	if (s->chunks > 1 && o->schedule && o->schedule != interleaved)
		return FAIL(err, ERR_USAGE, "--schedule %s does not have --chunks %d",
			    schedules[o->schedule], s->chunks);
	if (s->chunks > 1 && s->pp == 1)
		return FAIL(err, ERR_USAGE, "--chunks %d does nothing with --pp 1", s->chunks);
	if (s->chunks == 1 && o->schedule == interleaved)
		return FAIL(err, ERR_USAGE, "--schedule interleaved needs --chunks 2 or more");
	if (o->spread == 2 && s->tp == 1)
		return FAIL(err, ERR_USAGE, "--sequence-parallel does nothing with --mp 1");
	if (o->zero > 1 && s->dp == 1)
		return FAIL(err, ERR_USAGE, "--zero %s does nothing with --dp 1",
			    zeros[o->zero]);
	return OK;
}

enum status cmd_plan(int argc, char *const *argv, struct error *err)
{
	struct plan_settings o = {.as_json = false};
	static const char *const judging[] = {"validate", "cluster", "set", "json", NULL};
	static const char *const measuring[] = {"calibrate", NULL};
	struct option_values values;
	enum status st;

	options_init(&values, &plan_table, &o);
	TRY(options_parse(&values, argc, argv, err));
	if (values.help) {
		options_print_help(&plan_table, stdout);
		goto out;
	}
	if (*o.calibrate) {
		TRY(check_alone(&values, "calibrate", measuring, "it only measures", err));
		TRY(plan_calibrate(&o, err));
	} else if (*o.validate) {
		TRY(check_alone(&values, "validate", judging, "the table says it", err));
		TRY(plan_validate(&o, err));
	} else {
		TRY(check_search(&o, err));
		TRY(check_used(&o, err));
		TRY(plan_search(&o, err));
	}
out:
	return st;
}
