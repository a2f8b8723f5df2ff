/* export.c - kolm export: a checkpoint as a folder that other programs load. */
#include "cmd/cmd.h"
#include "base/file.h"
#include "base/log.h"
#include "base/units.h"
#include "base/util.h"
#include "checkpoint/checkpoint.h"
#include "cmd/trained.h"
#include "hf/hf.h"
#include "text/tokenizer.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct options {
	char hf[PATH_MAX];
	int type; /* enum dtype */
	bool overwrite;
};

/* clang-format off */
static const struct option options[] = {
	{"hf", .group = "Output", .type = OPTION_STRING, .offset = offsetof(struct options, hf), .capacity = PATH_MAX, .initial = "",
	 .meta = "DIR", .help = "the folder to write: what from_pretrained of Hugging Face's transformers loads"},
	{"dtype", .group = "Output", .type = OPTION_CHOICE, .offset = offsetof(struct options, type), .choices = precision_names, .initial = "fp32",
	 .help = "of the weights; 16 bit halve the file and round them"},
	{"overwrite", .group = "Output", .type = OPTION_FLAG, .offset = offsetof(struct options, overwrite), .initial = "false",
	 .help = "replace the model that is there"},
};

static const char *const examples[] = {
	"kolm export runs/mine --hf out         # its best checkpoint, or its newest",
	"kolm export runs/mine/checkpoints/step-100 --hf out --dtype bf16",
	"kolm import out --out back             # and here again",
	NULL,
};
/* clang-format on */

const struct option_table export_table = {
	.command = "export",
	.usage = "kolm export RUN|DIR --hf DIR [options]",
	.summary =
		"Write a gpt as GPT2LMHeadModel and a llama as LlamaForCausalLM of transformers "
		"load it: config.json, model.safetensors, generation_config.json, and the files "
		"of the tokenizer. kolm import reads it back.",
	.options = options,
	.count = ARRAY_SIZE(options),
	.examples = examples,
	.positional = 1,
	.arguments = "RUN|DIR",
};

/* All that may be written. */
static const char *const files[] = {"config.json",    "model.safetensors",
				    "vocab.json",     "generation_config.json",
				    "merges.txt",     "tokenizer_config.json",
				    "tokenizer.json", "model.safetensors.index.json"};

struct export
{
	struct checkpoint from;
	struct safetensors tensors;
	struct tokenizer *tokenizer; /* or NULL */
	struct hf_model model;
};

static bool has(const char *folder, const char *name)
{
	char path[PATH_MAX];

	return file_path(path, folder, name, NULL) == OK && !access(path, F_OK);
}

/* Nothing of a run or a checkpoint is replaced, and other models only if that is wanted. */
static enum status check_folder(const char *folder, bool overwrite, struct error *err)
{
	if (has(folder, CHECKPOINTS) || has(folder, "state.json") ||
	    has(folder, "metrics.jsonl")) {
		FAIL(err, ERR_USAGE, "%.300s is a run or a checkpoint", folder);
		return HINT(err, "choose another folder with --hf");
	}
	for (size_t i = 0; i < ARRAY_SIZE(files) && !overwrite; i++)
		if (has(folder, files[i])) {
			FAIL(err, ERR_USAGE, "%.300s has a %s", folder, files[i]);
			return HINT(err, "add --overwrite to replace it, or choose another "
					 "folder");
		}
	return OK;
}

/* Nothing of another model must be taken for this one's. */
static enum status clear_folder(const char *folder, struct error *err)
{
	char path[PATH_MAX];
	enum status st;

	TRY(file_make_folder(folder, err));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		TRY(file_path(path, folder, files[i], err));
		unlink(path);
	}
out:
	return st;
}

static enum status read_tokenizer(struct export *x, struct error *err)
{
	char path[PATH_MAX];
	enum status st;

	if (!has(x->from.folder, "tokenizer.json")) {
		log_info("the checkpoint has no tokenizer.json: nor will the model have one");
		return OK;
	}
	TRY(file_path(path, x->from.folder, "tokenizer.json", err));
	TRY(tokenizer_open(&x->tokenizer, path, err));
	x->model.end_of_text = tokenizer_end_of_text(x->tokenizer);
out:
	return st;
}

static enum status read_all(struct export *x, const char *place, struct error *err)
{
	char path[PATH_MAX];
	enum status st;

	TRY(trained_find(&x->from, place, err));
	TRY(file_path(path, x->from.folder, checkpoint_file_names[PART_MODEL], err));
	TRY(safetensors_map(&x->tensors, path, err));
	TRY(hf_options_read(&x->model, json_object_get(x->from.state, "options"), &x->tensors,
			    x->from.folder, err));
	TRY(read_tokenizer(x, err));
out:
	return st;
}

static void print_done(const struct export *x, const char *folder)
{
	const struct safetensors_entry *last = &x->tensors.entries[x->tensors.count - 1];
	char count[32];

	units_format_count((int64_t)last->end / 4, count, sizeof(count));
	printf("%s: for %s, %s parameters in %s, %s\n", folder, hf_classes[x->model.kind],
	       count, precision_names[x->model.type],
	       x->tokenizer ? "with its tokenizer" : "without a tokenizer");
}

enum status cmd_export(int argc, char *const *argv, struct error *err)
{
	struct options o = {0};
	struct option_values v;
	struct export x = {0};
	enum status st;

	options_init(&v, &export_table, &o);
	TRY(options_parse(&v, argc, argv, err));
	if (v.help) {
		options_print_help(&export_table, stdout);
		return OK;
	}
	if (!v.positionals || !*o.hf) {
		FAIL(err, ERR_USAGE, "export needs %s",
		     *o.hf ? "a run or a checkpoint" : "a folder to write to");
		return HINT(err, "such as kolm export runs/mine --hf out");
	}
	TRY(check_folder(o.hf, o.overwrite, err));
	TRY(read_all(&x, v.positional[0], err));
	x.model.type = (enum dtype)o.type;
	TRY(clear_folder(o.hf, err));
	if (x.tokenizer)
		TRY(hf_write_tokenizer(&x.model, x.tokenizer, o.hf, err));
	TRY(hf_write_model(&x.model, &x.tensors, o.hf, err));
	print_done(&x, o.hf);
out:
	tokenizer_free(x.tokenizer);
	safetensors_release(&x.tensors);
	checkpoint_close(&x.from);
	return st;
}
