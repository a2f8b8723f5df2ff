/* import.c - kolm import: a model of transformers' as a checkpoint that a training begins with.
 */
#include "cmd/cmd.h"
#include "base/file.h"
#include "base/log.h"
#include "base/units.h"
#include "base/util.h"
#include "base/version.h"
#include "checkpoint/store.h"
#include "config/config.h"
#include "data/form.h"
#include "hf/hf.h"
#include "text/tokenizer.h"
#include "trace/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
	char out[PATH_MAX];
	bool overwrite;
};

/* clang-format off */
static const struct option options[] = {
	{"out", .group = "Output", .type = OPTION_STRING, .offset = offsetof(struct options, out), .capacity = PATH_MAX, .initial = "auto",
	 .meta = "DIR", .help = "the folder of a run, with a checkpoint of step 0; auto: runs/ and the name of the folder that is read"},
	{"overwrite", .group = "Output", .type = OPTION_FLAG, .offset = offsetof(struct options, overwrite), .initial = "false",
	 .help = "replace the run that is there"},
};

static const char *const examples[] = {
	"kolm import gpt2 --out mine          # what save_pretrained has written",
	"kolm generate mine --prompt 'Once'",
	"kolm eval mine --data text:book.txt",
	"kolm train --resume mine --data text:book.txt --lr 3e-5 --save",
	NULL,
};
/* clang-format on */

const struct option_table import_table = {
	.command = "import",
	.usage = "kolm import DIR [options]",
	.summary =
		"Make a checkpoint of a folder with config.json and model.safetensors (or its "
		"parts) as save_pretrained of transformers writes it for GPT-2 and LLaMA. The "
		"tokenizer comes along if it is one that kolm has.\n"
		"A training that is resumed from it begins at step 0 with these weights.",
	.options = options,
	.count = ARRAY_SIZE(options),
	.examples = examples,
	.positional = 1,
	.arguments = "DIR",
};

struct import {
	const char *from;
	char to[PATH_MAX];
	struct hf_source source;
	struct tokenizer *tokenizer; /* or NULL */
	struct run run;
	struct store store;
	struct hf_tensor *tensors; /* (count) */
	struct safetensors_entry *entries;
	size_t count;
};

/* runs/NAME of a folder NAME. */
static enum status choose_place(struct import *m, const char *out, struct error *err)
{
	size_t end = strlen(m->from), begin;
	char name[PATH_MAX];
	enum status st;

	if (strcmp(out, "auto") != 0) {
		snprintf(m->to, sizeof(m->to), "%s", *out ? out : ".");
		return OK;
	}
	while (end && m->from[end - 1] == '/')
		end--;
	for (begin = end; begin && m->from[begin - 1] != '/';)
		begin--;
	snprintf(name, sizeof(name), "%.*s", imin((int)(end - begin), PATH_MAX - 1),
		 m->from + begin);
	if (!*name || !strcmp(name, ".") || !strcmp(name, "..")) {
		FAIL(err, ERR_USAGE, "kolm import %.200s: under what name?", m->from);
		return HINT(err, "add --out DIR");
	}
	TRY(file_path(m->to, "runs", name, err));
out:
	return st;
}

/* ---- what is there ---- */

/* Would kolm train take it? */
static enum status check_options(const struct import *m, struct error *err)
{
	static struct config config;
	struct option_values v;
	struct json j;
	enum status st;

	json_init(&j, false);
	json_begin_object(&j, NULL);
	hf_options_write(&m->source.model, &j);
	json_end_object(&j);
	options_init(&v, &config_table, &config);
	st = options_read_json(&v, j.text.data, j.text.len, m->from, err);
	json_release(&j);
	return st;
}

static bool has(const char *folder, const char *name)
{
	char path[PATH_MAX];

	return file_path(path, folder, name, NULL) == OK && !access(path, F_OK);
}

/* A model can do without: its tokens are numbers. */
static void open_tokenizer(struct import *m)
{
	struct error why = {0};
	int known, tokens = m->source.model.vocab;

	if (!has(m->from, "tokenizer.json") && !has(m->from, "vocab.json")) {
		if (has(m->from, "tokenizer.model"))
			log_warn("tokenizer.model is of a kind that kolm does not read: the "
				 "model comes without a tokenizer");
		return;
	}
	if (tokenizer_open(&m->tokenizer, m->from, &why) != OK) {
		log_warn("the model comes without its tokenizer: %s", why.msg);
		return;
	}
	known = tokenizer_vocabulary(m->tokenizer);
	if (known <= tokens)
		return;
	log_warn("the model comes without its tokenizer, which has %d tokens, the model %d",
		 known, tokens);
	tokenizer_free(m->tokenizer);
	m->tokenizer = NULL;
}

static void say_differences(const struct hf_model *m)
{
	if (m->kind == HF_LLAMA && m->tied)
		log_info("its head is its table of tokens: here they are two tensors, which "
			 "training will make different");
	if (m->uneven)
		log_info("it has several dropouts: --dropout %g is for all of them",
			 m->dropout);
}

static enum status read_all(struct import *m, struct error *err)
{
	enum status st;

	TRY(hf_source_open(&m->source, m->from, err));
	TRY(check_options(m, err));
	TRY(hf_plan_ours(&m->source.plan, &m->tensors, &m->count, err));
	m->entries = calloc(m->count, sizeof(*m->entries));
	if (!m->entries) {
		st = FAIL(err, ERR_MEMORY, "no memory for %zu names", m->count);
		goto out;
	}
	for (size_t i = 0; i < m->count; i++)
		m->entries[i] = m->tensors[i].entry;
	open_tokenizer(m);
	say_differences(&m->source.model);
out:
	return st;
}

/* ---- the checkpoint ---- */

static enum status claim(struct import *m, bool overwrite, struct error *err)
{
	enum status st;

	TRY(run_claim(&m->run, m->to, overwrite ? RUN_REPLACES : RUN_IS_NEW, err));
	if (!overwrite)
		return OK;
	TRY(run_create(&m->run, err)); /* what was there goes */
	run_close(&m->run);
	unlink(m->run.metrics);
out:
	return st;
}

static enum status put(void *arg, const float *values, size_t count, struct error *err)
{
	return store_stream_put(arg, values, count * sizeof(*values), err);
}

static enum status write_tensors(struct import *m, struct error *err)
{
	struct store_stream w;
	enum status st, closed;

	TRY(store_stream_open(&w, &m->store, PART_MODEL, err));
	for (size_t i = 0; i < m->count; i++)
		TRY(hf_source_send(&m->source, &m->tensors[i], put, &w, err));
out:
	closed = store_stream_close(&w, err);
	return st != OK ? st : closed;
}

static enum status add_tokenizer(struct import *m, struct error *err)
{
	struct text json;
	enum status st = OK;

	text_init(&json);
	if (m->tokenizer) {
		TRY(tokenizer_write(m->tokenizer, true, &json, err));
		TRY(store_add_tokenizer(&m->store, json.data, json.len, err));
	}
out:
	text_release(&json);
	return st;
}

/* Other text is read as that was which it has learned from. */
static void describe_data(const struct import *m, struct json *j)
{
	struct data_form form = {.source = SOURCE_IS_TEXT, .vocabulary = m->source.model.vocab};

	if (m->tokenizer) {
		form.vocabulary = tokenizer_vocabulary(m->tokenizer);
		snprintf(form.tokenizer_sha256, sizeof(form.tokenizer_sha256), "%s",
			 tokenizer_sha256(m->tokenizer));
	}
	json_begin_object(j, "data");
	data_form_write(&form, j);
	json_end_object(j);
}

/* As that of a run, without what only a training has: optimizer, seed, course. */
static void describe(const struct import *m, struct json *j)
{
	json_begin_object(j, NULL);
	json_put_string(j, "schema", CHECKPOINT_SCHEMA);
	json_put_string(j, "version", KOLM_VERSION);
	json_put_string(j, "imported", hf_classes[m->source.model.kind]);
	json_put_int(j, "samples", 0);
	describe_data(m, j);
	json_begin_object(j, "options");
	hf_options_write(&m->source.model, j);
	json_end_object(j);
}

static enum status write_all(struct import *m, struct error *err)
{
	char sha256[SHA256_TEXT];
	struct json state;
	enum status st;

	json_init(&state, true);
	describe(m, &state);
	TRY(store_init(&m->store, m->run.folder, err));
	TRY(store_describe(&m->store, PART_MODEL, m->entries, m->count, err));
	TRY(add_tokenizer(m, err));
	store_name(&m->store, 0);
	TRY(store_begin(&m->store, err));
	st = write_tensors(m, err);
	if (st == OK)
		st = store_finish(&m->store, &state, 0, sha256, err);
	else
		store_abort(&m->store);
out:
	json_release(&state);
	store_release(&m->store);
	return st;
}

static void print_done(const struct import *m)
{
	const struct hf_model *h = &m->source.model;
	int64_t parameters = 0;
	char count[32];

	for (size_t i = 0; i < m->count; i++)
		parameters += (int64_t)(m->entries[i].end - m->entries[i].begin) / 4;
	units_format_count(parameters, count, sizeof(count));
	printf("%s: %s, %d layers, %d heads, dim %d, context %d, %d tokens: %s parameters; %s\n",
	       m->to, hf_model_names[h->kind], h->layers, h->heads, h->dim, h->context,
	       h->vocab, count, m->tokenizer ? "with its tokenizer" : "without a tokenizer");
}

enum status cmd_import(int argc, char *const *argv, struct error *err)
{
	struct options o = {0};
	struct option_values v;
	struct import m = {0};
	enum status st;

	options_init(&v, &import_table, &o);
	TRY(options_parse(&v, argc, argv, err));
	if (v.help) {
		options_print_help(&import_table, stdout);
		return OK;
	}
	if (!v.positionals) {
		FAIL(err, ERR_USAGE, "kolm import: which folder?");
		return HINT(err, "give one with config.json and model.safetensors");
	}
	m.from = v.positional[0];
	TRY(choose_place(&m, o.out, err));
	TRY(read_all(&m, err));
	TRY(claim(&m, o.overwrite, err));
	TRY(write_all(&m, err));
	print_done(&m);
out:
	run_release(&m.run);
	tokenizer_free(m.tokenizer);
	hf_source_close(&m.source);
	free(m.tensors);
	free(m.entries);
	return st;
}
