/* generate_open.c - what a text is continued with: checkpoint, tokenizer, prompt, model; see
   generate.h */
#include "base/file.h"
#include "base/log.h"
#include "base/units.h"
#include "base/util.h"
#include "cmd/generate.h"
#include "cmd/trained.h"
#include "model/models.h"
#include "text/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_AT_ONCE = 128 }; /* of a prompt */

/* ---- the checkpoint ---- */

/* Rank 0 of a job looks for it, and the others hear of it. */
static enum status find(struct generation *g, struct error *err)
{
	struct training *t = g->t;
	struct rank *r = t->rank;
	char *folder = NULL;
	enum status st;

	if (!r)
		return trained_find(&t->from, g->o->place, err);
	TRY(comm_alloc(r->world, PATH_MAX, (void **)&folder, err));
	if (r->number == 0) {
		TRY(trained_find(&t->from, g->o->place, err));
		snprintf(folder, PATH_MAX, "%s", t->from.folder);
	}
	TRY(comm_run(r->world, COMM_BROADCAST, folder, PATH_MAX, DTYPE_BYTE, 0, err));
	if (r->number > 0)
		TRY(checkpoint_open(&t->from, folder, err));
out:
	comm_give_back(r->world, folder);
	return st;
}

/* As it was trained, but for what only training does. */
static enum status read_options(struct generation *g, struct error *err)
{
	static const char *const names[] = {NAMES_OF(CONFIG_PRECISIONS)};
	const struct generate_options *o = g->o;
	struct training *t = g->t;
	struct grid grid = t->grid;
	struct config *c = &t->config;
	char *precision[2] = {(char[]){"--precision"},
			      (char *)(uintptr_t)names[imax(0, o->precision - 1)]};
	enum status st;

	TRY(trained_read_options(t, precision, o->precision ? 2 : 0, err));
	if (!config_is_language(c)) {
		FAIL(err, ERR_USAGE, "%.300s is no language model", o->place);
		return HINT(err, "kolm predict says what it makes of a file");
	}
	if (!c->vocab)
		return FAIL(err, ERR_USAGE, "%.300s does not say how many tokens it knows",
			    t->from.folder);
	t->grid = grid;
	c->pp = grid.pp;
	c->mp = grid.mp;
	c->threads = o->threads;
	snprintf(c->device, sizeof(c->device), "%s", o->device);
	c->device_memory = 0;
	c->sequence_parallel = false;
	c->recompute = RECOMPUTE_NONE;
	c->dropout = 0;
	c->save = false;
	c->save_every[0] = '\0';
	TRY(training_choose_precision(t, err));
out:
	return st;
}

/* ---- the tokenizer ---- */

static enum status open_tokenizer(struct generation *g, struct error *err)
{
	const struct checkpoint *from = &g->t->from;
	int known = g->t->config.vocab;
	char path[PATH_MAX];
	enum status st = OK;

	g->vocabulary = known;
	snprintf(path, sizeof(path), "%s", g->o->tokenizer);
	if (!*path && from->files[FILE_TOKENIZER].there)
		TRY(file_path(path, from->folder, checkpoint_file_names[FILE_TOKENIZER], err));
	if (*path) {
		TRY(tokenizer_open(&g->tokenizer, path, err));
		g->vocabulary = tokenizer_vocabulary(g->tokenizer);
	}
	if (g->vocabulary > known) {
		FAIL(err, ERR_USAGE, "the tokenizer has %d tokens, but the model knows %d",
		     g->vocabulary, known);
		return HINT(err, "use the one that it was trained with");
	}
	if (!g->tokenizer && (*g->o->prompt || *g->o->prompt_file || *g->o->stop)) {
		FAIL(err, ERR_USAGE, "%.300s has no tokenizer: text means nothing to it",
		     from->folder);
		return HINT(err, "give one with --tokenizer FILE, or numbers of tokens with "
				 "--prompt-ids");
	}
out:
	return st;
}

/* ---- the prompt ---- */

/* Numbers with commas or white space between them; of a tokenizer that has fewer than the model
   knows, its own. */
static enum status parse_ids(struct generation *g, struct error *err)
{
	char *copy = strdup(g->o->prompt_ids), *rest = copy, *word;
	enum status st = OK;

	if (!copy)
		return FAIL(err, ERR_MEMORY, "no memory for the prompt");
	while ((word = strsep(&rest, ", \t\n"))) {
		int64_t id;
		int32_t token;

		if (!*word)
			continue;
		if (!units_parse_int(word, &id) || id < 0 || id >= g->vocabulary) {
			st = FAIL(err, ERR_USAGE, "--prompt-ids: '%.32s' is no token", word);
			HINT(err, "they are 0 to %d", g->vocabulary - 1);
			goto out;
		}
		token = (int32_t)id;
		TRY(ids_add(&g->ids, &token, 1, err));
	}
out:
	free(copy);
	return st;
}

static enum status encode_file(struct generation *g, struct error *err)
{
	struct source source = {0};
	enum status st;

	TRY(source_open(&source, g->o->prompt_file, err));
	TRY(tokenizer_encode(g->tokenizer, source.at, source.size, SPECIALS_ARE_TOKENS, &g->ids,
			     err));
out:
	source_close(&source);
	return st;
}

/* Where a text begins: behind the end of another one; or where a line does. */
static enum status begin_with_nothing(struct generation *g, struct error *err)
{
	int32_t end = g->tokenizer ? tokenizer_end_of_text(g->tokenizer) : -1, first = 0;
	struct error unknown = {0};

	g->silent = true;
	if (end >= 0)
		return ids_add(&g->ids, &end, 1, err);
	if (g->tokenizer &&
	    tokenizer_encode(g->tokenizer, "\n", 1, SPECIALS_ARE_TEXT, &g->ids, &unknown) == OK)
		return OK;
	return ids_add(&g->ids, &first, 1, err);
}

static enum status read_prompt(struct generation *g, struct error *err)
{
	const struct generate_options *o = g->o;
	int context = g->t->config.context;
	enum status st;

	if (*o->prompt)
		TRY(tokenizer_encode(g->tokenizer, o->prompt, strlen(o->prompt),
				     SPECIALS_ARE_TOKENS, &g->ids, err));
	else if (*o->prompt_file)
		TRY(encode_file(g, err));
	else if (*o->prompt_ids)
		TRY(parse_ids(g, err));
	else
		TRY(begin_with_nothing(g, err));
	g->prompt = g->ids.count;
	if (!g->prompt) {
		FAIL(err, ERR_USAGE, "the prompt has no tokens");
		return HINT(err, "leave it out to begin with nothing");
	}
	if (g->prompt > (size_t)context)
		log_info("the prompt has %zu tokens, of which the model sees the last %d",
			 g->prompt, context);
	for (int i = 0; i < o->tokens; i++) /* room: none is made while it writes */
		TRY(ids_add(&g->ids, &(int32_t){0}, 1, err));
	g->ids.count = g->prompt;
out:
	return st;
}

/* ---- the model ---- */

static enum status build(struct generation *g, struct error *err)
{
	struct training *t = g->t;
	struct config *c = &t->config;
	enum status st;

	t->data.in = 1;
	t->data.out = c->vocab;
	t->data.sequence = c->context;
	t->data.language = t->data.labelled = true;
	t->forward_rows = imin(c->context, ROWS_AT_ONCE);
	TRY(training_build_model(t, err));
	TRY(partition_init(&t->partition, &t->model, c->pp, 1, "", err));
	TRY(schedule_init(&t->schedule, SCHEDULE_1F1B, c->pp, 1, 1, err));
	TRY(training_plan_memory(t, err));
out:
	return st;
}

enum status generate_prepare(struct generation *g, struct error *err)
{
	enum status st;

	TRY(find(g, err));
	TRY(read_options(g, err));
	TRY(open_tokenizer(g, err));
	TRY(read_prompt(g, err));
	TRY(build(g, err));
out:
	return st;
}

void generate_release(struct generation *g)
{
	outlet_release(&g->outlet);
	text_release(&g->shown);
	sampler_release(&g->sampler);
	ids_release(&g->ids);
	tokenizer_free(g->tokenizer);
	if (g->t)
		training_free(g->t);
}
