/* generate.c - kolm generate: its options, and starting its ranks; see generate.h */
#include "cmd/generate.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/util.h"
#include "cmd/cmd.h"

#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 60 * 1000, TOKENS_MOST = 10000000 };

static const char *const precisions[] = {"trained", NAMES_OF(CONFIG_PRECISIONS)};

#define AT(member)	.offset = offsetof(struct generate_options, member)
#define TEXT_AT(member) AT(member), .capacity = sizeof(((struct generate_options *)0)->member)

/* clang-format off */
static const struct option options[] = {
	{"prompt", .group = "Text", .type = OPTION_STRING, TEXT_AT(prompt), .initial = "", .meta = "TEXT",
	 .help = "the text to continue; without one it begins with the end of a text, or of a line"},
	{"prompt-file", .group = "Text", .type = OPTION_STRING, TEXT_AT(prompt_file), .initial = "", .meta = "FILE",
	 .help = "the text to continue is in this file"},
	{"prompt-ids", .group = "Text", .type = OPTION_STRING, TEXT_AT(prompt_ids), .initial = "", .meta = "N,N,...",
	 .help = "the numbers of the tokens to continue"},
	{"tokens", .group = "Text", .type = OPTION_INT, AT(tokens), .initial = "200", .meta = "N", .min = 1, .max = TOKENS_MOST,
	 .help = "to write, at most"},
	{"stop", .group = "Text", .type = OPTION_STRING, TEXT_AT(stop), .initial = "", .meta = "TEXT",
	 .help = "end where this would begin"},
	{"past-end", .group = "Text", .type = OPTION_FLAG, AT(past_end), .initial = "false",
	 .help = "go on behind an end of text"},
	{"tokenizer", .group = "Text", .type = OPTION_STRING, TEXT_AT(tokenizer), .initial = "", .meta = "FILE",
	 .help = "for a model that has none with it"},
	{"temperature", .group = "Choice", .type = OPTION_FLOAT, AT(temperature), .initial = "0.8", .meta = "X", .min = 0, .max = 1000,
	 .help = "what the model's outputs are divided by: 1 is what it has learned, less is likelier text, 0 always the likeliest token"},
	{"top-k", .group = "Choice", .type = OPTION_INT, AT(top_k), .initial = "all", .zero = "all", .meta = "K", .min = 1, .max = VOCABULARY_MAX,
	 .help = "choose among the K likeliest"},
	{"top-p", .group = "Choice", .type = OPTION_FLOAT, AT(top_p), .initial = "1", .meta = "P", .min = 0, .max = 1,
	 .help = "choose among the likeliest that have together at least this probability"},
	{"seed", .group = "Choice", .type = OPTION_INT64, AT(seed), .initial = "1", .meta = "N",
	 .help = "another one gives another text; the same gives the same, on any grid"},
	{"only-new", .group = "Output", .type = OPTION_FLAG, AT(only_new), .initial = "false",
	 .help = "do not print the prompt before what is written"},
	{"json", .group = "Output", .type = OPTION_FLAG, AT(as_json), .initial = "false",
	 .help = "print one JSON document at the end instead of text, with the numbers of the tokens"},
	{"quiet", .group = "Output", .type = OPTION_FLAG, AT(quiet), .initial = "false",
	 .help = "nothing on standard error but warnings and errors"},
	{"dp", .group = "Grid", .type = OPTION_INT, AT(dp), .initial = "1", .meta = "N", .min = 1, .max = RANKS_MAX,
	 .help = "1: a text is written by one replica"},
	{"pp", .group = "Grid", .type = OPTION_INT, AT(pp), .initial = "1", .meta = "N", .min = 1, .max = RANKS_MAX,
	 .help = "pipeline stages"},
	{"mp", .alias = "tp", .group = "Grid", .type = OPTION_INT, AT(mp), .initial = "1", .meta = "N", .min = 1, .max = RANKS_MAX,
	 .help = "ways to split each layer"},
	{"precision", .group = "Machine", .type = OPTION_CHOICE, AT(precision), .choices = precisions, .initial = "trained",
	 .help = "of weights, keys and values; trained: as the model was. 16 bit take half the memory"},
	{"device", .group = "Machine", .type = OPTION_STRING, TEXT_AT(device), .initial = "cpu", .meta = "DEVICE",
	 .help = "what to compute on; see kolm devices"},
	{"threads", .group = "Machine", .type = OPTION_INT, AT(threads), .initial = "auto", .zero = "auto",
	 .meta = "N", .min = 1, .max = 256, .help = "of each rank; auto: its share of the cores"},
};

static const char *const examples[] = {
	"kolm generate runs/gpt --prompt 'ROMEO:' --tokens 500",
	"kolm generate runs/gpt --prompt-file story.txt --top-k 40 --seed 3",
	"kolm generate runs/gpt/checkpoints/step-100 --temperature 0 --json",
	"kolm generate runs/gpt --pp 2 --mp 2   # the same text, from four ranks",
	"kolm generate imported --prompt 'Once upon' --precision bf16",
	NULL,
};
/* clang-format on */

const struct option_table generate_table = {
	.command = "generate",
	.usage = "kolm generate RUN|DIR [--prompt TEXT] [options]",
	.summary =
		"Have a language model continue a text, token by token, as it comes: that of "
		"a run, of one of its checkpoints, or what kolm import has made. Where the "
		"model's context is full, it forgets the older half.",
	.options = options,
	.count = ARRAY_SIZE(options),
	.examples = examples,
	.positional = 1,
	.arguments = "RUN|DIR",
};

static enum status check_prompt(const struct option_values *v, struct error *err)
{
	static const char *const ways[] = {"prompt", "prompt-file", "prompt-ids"};
	const char *used = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		if (options_source(v, ways[i]) != SOURCE_COMMAND_LINE)
			continue;
		if (used) {
			FAIL(err, ERR_USAGE, "--%s contradicts --%s", ways[i], used);
			return HINT(err, "leave one of them out");
		}
		used = ways[i];
	}
	return OK;
}

static enum status check(const struct option_values *v, const struct generate_options *o,
			 struct error *err)
{
	if (v->positionals != 1) {
		FAIL(err, ERR_USAGE, "generate needs a run or a checkpoint");
		return HINT(err, "such as kolm generate runs/mine --prompt 'Once'");
	}
	if (o->dp > 1) {
		FAIL(err, ERR_USAGE, "--dp %d: a text is written by one replica", o->dp);
		return HINT(err, "leave it out; --pp and --mp share the work");
	}
	if (!strncmp(o->device, "virtual", strlen("virtual"))) {
		FAIL(err, ERR_USAGE, "a virtual device computes nothing that could be read");
		return HINT(err, "use --device cpu");
	}
	return check_prompt(v, err);
}

/* Start the ranks and wait for their end. */
static enum status run(struct generation *g, struct error *err)
{
	const struct generate_options *o = g->o;
	struct launch launch = {.ranks = o->pp * o->mp,
				.timeout_ms = TIMEOUT_MS,
				.graceful = true,
				.pin = true};
	struct launcher by;
	bool alone = !launcher_detect(&by);
	enum status st = OK;

	g->t->grid = (struct grid){.dp = 1, .pp = o->pp, .mp = o->mp};
	if (alone) {
		TRY(generate_prepare(g, err));
		TRY(training_check_room(g->t, err));
	}
	launch.grid = launch.ranks > 1 ? &g->t->grid : NULL;
	launch.shared = g->t->memory.shared;
	TRY(launch_run(&launch, generate_rank, g, err));
out:
	return st;
}

enum status cmd_generate(int argc, char *const *argv, struct error *err)
{
	struct generate_options *o = calloc(1, sizeof(*o));
	struct generation g = {.o = o, .t = training_new(argc, argv, err)};
	struct option_values values;
	enum status st = ERR_MEMORY;

	if (!g.t)
		goto out;
	if (!o) {
		st = FAIL(err, ERR_MEMORY, "no memory to start");
		goto out;
	}
	options_init(&values, &generate_table, o);
	TRY(options_parse(&values, argc, argv, err));
	if (values.help) {
		options_print_help(&generate_table, stdout);
		goto out;
	}
	TRY(check(&values, o, err));
	o->place = values.positional[0];
	log_set_level(o->quiet ? LOG_QUIET : LOG_NORMAL);
	TRY(run(&g, err));
out:
	generate_release(&g);
	free(o);
	return st;
}
