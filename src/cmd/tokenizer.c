/* tokenizer.c - kolm tokenizer: its options, and which of its four jobs is asked for. */
#include "cmd/tokenizer.h"
#include "base/file.h"
#include "base/util.h"
#include "cmd/cmd.h"

#include <stdio.h>
#include <string.h>

#define AT(member) .offset = offsetof(struct tokenizer_options, member)

/* clang-format off */
static const struct option options[] = {
	{"vocab", .group = "Training", .type = OPTION_INT, AT(vocabulary), .initial = "auto", .zero = "auto",
	 .meta = "N", .min = 1, .max = VOCABULARY_MAX, .help = "tokens of kind bpe, all 256 bytes among them; auto: 4096. The other kinds have as many as it takes"},
	{"kind", .group = "Training", .type = OPTION_CHOICE, AT(kind), .choices = tokenizer_kind_names, .initial = "bpe",
	 .help = "bpe: frequent strings of bytes, as GPT-2 has them; char: the characters of the text; byte: 256 tokens, whatever the text is"},
	{"end-of-text", .group = "Training", .type = OPTION_STRING, AT(end_of_text), .capacity = END_OF_TEXT_MAX, .initial = "auto",
	 .meta = "auto|none|TEXT", .help = "a special token for the end of a text; auto: " END_OF_TEXT " for bpe, none for the other kinds"},
	{"plain", .group = "Encoding", .type = OPTION_FLAG, AT(plain), .initial = "false",
	 .help = "special tokens in the text are text like any other"},
	{"out", .group = "Output", .type = OPTION_STRING, AT(out), .capacity = PATH_MAX, .initial = "auto",
	 .meta = "FILE", .help = "where it goes; auto: tokenizer.json for train, standard output for encode and decode"},
	{"json", .group = "Output", .type = OPTION_FLAG, AT(as_json), .initial = "false",
	 .help = "print one JSON document instead of text"},
};

static const char *const examples[] = {
	"kolm tokenizer train book.txt --vocab 4096     # writes tokenizer.json",
	"kolm tokenizer train texts/ --kind char --out chars.json",
	"kolm tokenizer info tokenizer.json book.txt    # bytes per token",
	"kolm tokenizer encode tokenizer.json book.txt --out book.tokens",
	"kolm tokenizer decode tokenizer.json book.tokens",
	"kolm tokenizer encode gpt2/ note.txt           # vocab.json, merges.txt",
	NULL,
};
/* clang-format on */

const struct option_table tokenizer_table = {
	.command = "tokenizer",
	.usage = "kolm tokenizer train FILE|DIR... [options]\n"
		 "       kolm tokenizer encode TOKENIZER FILE [options]\n"
		 "       kolm tokenizer decode TOKENIZER FILE.tokens [options]\n"
		 "       kolm tokenizer info TOKENIZER [FILE] [options]",
	.summary =
		"Learn a tokenizer from text, and turn text into numbers and numbers into text. "
		"TOKENIZER is byte, a tokenizer.json, or a folder with one or with GPT-2's "
		"vocab.json and merges.txt (encoder.json and vocab.bpe).\n"
		"Of a folder train takes all files of text below it, in the order of their names: not "
		"hidden ones, links, or files with a zero byte among the first 8,000.",
	.options = options,
	.count = ARRAY_SIZE(options),
	.examples = examples,
	.positional = OPTION_POSITIONAL_MAX,
	.arguments = "train|encode|decode|info|byte|FILE|DIR",
};

#define JOBS(X)                                   \
	X(TRAIN, "train", tokenizer_job_train)    \
	X(ENCODE, "encode", tokenizer_job_encode) \
	X(DECODE, "decode", tokenizer_job_decode) \
	X(INFO, "info", tokenizer_job_info)
#define JOB(name, ...) JOB_##name,
enum job { JOBS(JOB) };
#define JOB_ENTRY(name, text, function) {text, function},

static const struct {
	const char *name;
	enum status (*run)(const struct tokenizer_job *job, struct error *err);
} jobs[] = {JOBS(JOB_ENTRY)};

/* Which options are for which jobs. */
static const struct {
	const char *option;
	unsigned jobs;
	const char *of;
} meant_for[] = {
	{"vocab", 1 << JOB_TRAIN, "train"},
	{"kind", 1 << JOB_TRAIN, "train"},
	{"end-of-text", 1 << JOB_TRAIN, "train"},
	{"plain", 1 << JOB_ENCODE | 1 << JOB_INFO, "encode and info"},
	{"out", 1 << JOB_TRAIN | 1 << JOB_ENCODE | 1 << JOB_DECODE, "train, encode and decode"},
	{"json", 1 << JOB_TRAIN | 1 << JOB_ENCODE | 1 << JOB_INFO, "train, encode and info"},
};

static enum status check_meant(const struct option_values *v, size_t job, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(meant_for); i++)
		if (options_source(v, meant_for[i].option) != SOURCE_DEFAULT &&
		    !(meant_for[i].jobs & 1u << job)) {
			FAIL(err, ERR_USAGE, "--%s is not for kolm tokenizer %s",
			     meant_for[i].option, jobs[job].name);
			return HINT(err, "it is for %s; leave it out", meant_for[i].of);
		}
	return OK;
}

enum status tokenizer_check_out(const char *out, const char *read, struct error *err)
{
	if (!file_is_same(out, read))
		return OK;
	FAIL(err, ERR_USAGE, "--out %.200s would replace %.200s, which is read", out, read);
	return HINT(err, "choose another name");
}

static enum status which(const struct option_values *v, size_t *job, struct error *err)
{
	const char *names[ARRAY_SIZE(jobs)], *nearest;

	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++)
		names[i] = jobs[i].name;
	for (*job = 0; v->positionals && *job < ARRAY_SIZE(jobs); ++*job)
		if (!strcmp(v->positional[0], names[*job]))
			return OK;
	if (!v->positionals) {
		FAIL(err, ERR_USAGE, "tokenizer needs to know what to do");
		return HINT(err, "choose one of train, encode, decode, info");
	}
	nearest = name_nearest(v->positional[0], names, ARRAY_SIZE(names));
	FAIL(err, ERR_USAGE, "kolm tokenizer can't '%.64s'", v->positional[0]);
	return nearest ? HINT(err, "did you mean %s?", nearest)
		       : HINT(err, "choose one of train, encode, decode, info");
}

enum status cmd_tokenizer(int argc, char *const *argv, struct error *err)
{
	struct tokenizer_options o = {0};
	struct option_values v;
	size_t job;
	enum status st;

	options_init(&v, &tokenizer_table, &o);
	TRY(options_parse(&v, argc, argv, err));
	if (v.help) {
		options_print_help(&tokenizer_table, stdout);
		return OK;
	}
	TRY(which(&v, &job, err));
	TRY(check_meant(&v, job, err));
	if (!strcmp(o.out, "auto"))
		*o.out = '\0';
	TRY(jobs[job].run(&(struct tokenizer_job){&o, v.positional + 1, v.positionals - 1},
			  err));
out:
	return st;
}
