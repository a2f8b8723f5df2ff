/* train_heading.c - what a run says of itself before its first step; see training.h */
#include "base/log.h"
#include "base/text.h"
#include "base/tree.h"
#include "base/units.h"
#include "base/util.h"
#include "base/version.h"
#include "cmd/training.h"
#include "model/gpt.h"

static int ffn_of(const struct config *c)
{
	return c->ffn ? c->ffn : gpt_usual_ffn(c->dim, c->heads, c->model == MODEL_LLAMA);
}

static void print_memory(const struct device *dev)
{
	const struct memory_account *a = device_memory(dev);
	char size[32];

	for (int k = 0; k < MEMORY_KIND_COUNT; k++) {
		if (!a->now[k])
			continue;
		units_format_size(a->now[k], size, sizeof(size));
		log_verbose("  %-12s %10s", memory_kind_name((enum memory_kind)k), size);
	}
}

/* The layers of some parts of the model: "layers 0-3", "embedding, blocks 0-1". */
static void list_layers(const struct model *m, const struct partition *p, int part,
			struct text *out)
{
	int n = p->first[part + 1] - p->first[part];
	const char *names[DEPTH_MAX + 2];

	for (int i = 0; i < n; i++)
		names[i] = m->layers[p->first[part] + i]->name;
	text_add(out, out->len ? ", " : "");
	text_add_series(out, names, n);
}

/* "3", or "3, 7, 11", or "blocks.1": the layers behind which the data goes to another stage. */
static void list_crossings(const struct training *t, struct text *out)
{
	const struct partition *p = &t->partition;

	for (int k = 1; k < p->stages * p->chunks; k++) {
		int last = p->first[k] - 1;

		text_add(out, out->len ? ", " : "");
		if (config_is_language(&t->config))
			text_add(out, t->model.layers[last]->name);
		else
			text_addf(out, "%d", last);
	}
}

/* Which layers are where, and where the data crosses from one stage to the next. */
static void print_placement(const struct training *t)
{
	int parts = schedule_parts(&t->schedule), width = t->grid.dp * t->grid.mp;
	struct text list;

	if (t->grid.pp == 1)
		return;
	text_init(&list);
	for (int stage = 0; stage < t->grid.pp; stage++) {
		list.len = 0;
		for (int chunk = 0; chunk < t->schedule.chunks; chunk++)
			list_layers(&t->model, &t->partition,
				    schedule_part(&t->schedule, stage, chunk), &list);
		log_info("stage %d: %s on rank%s %d%s%.0d", stage, list.data,
			 width > 1 ? "s" : "", stage * width, width > 1 ? "-" : "",
			 width > 1 ? (stage + 1) * width - 1 : 0);
	}
	list.len = 0;
	list_crossings(t, &list);
	log_info("the data crosses %d time%s per forward pass, behind %s%s", parts - 1,
		 parts > 2 ? "s" : "", config_is_language(&t->config) ? "" : "layer ",
		 list.data);
	text_release(&list);
}

static int count_split(const struct model *m, enum tensor_split split)
{
	int n = 0;

	for (int i = 0; i < m->n_tensors; i++)
		n += m->tensors[i].matrix && m->tensors[i].split == split;
	return n;
}

/* What each rank of an mp group has. */
static void print_slices(const struct training *t)
{
	const struct config *c = &t->config;
	const struct model *m = &t->model;
	int mp = t->grid.mp, tokens = m->out;
	char kv[64] = "", few[32] = "";

	if (mp == 1 && c->sequence_parallel)
		log_info(
			"--sequence-parallel changes nothing: without --mp no rows can be shared");
	if (mp == 1)
		return;
	if (!config_is_language(c)) {
		log_info("matrices in %d slices, one per mp rank: %d by their outputs, %d by "
			 "their inputs",
			 mp, count_split(m, SPLIT_ROWS), count_split(m, SPLIT_COLUMNS));
		return;
	}
	if (c->kv_heads && c->kv_heads != c->heads)
		snprintf(kv, sizeof(kv), " (%d of %d of keys and values)", c->kv_heads / mp,
			 c->kv_heads);
	if (tokens % mp)
		snprintf(few, sizeof(few), " or %d", tokens / mp);
	log_info("every mp rank has %d of %d heads%s, %d of %d columns inside of the "
		 "feed-forward layers, %lld%s of %d tokens; norms%s are whole",
		 c->heads / mp, c->heads, kv, ffn_of(c) / mp, ffn_of(c),
		 (long long)ceil_div(tokens, mp), few, tokens,
		 c->model == MODEL_GPT ? " and positions" : "");
	if (c->sequence_parallel)
		log_info("between products every mp rank has %d of %d rows of a micro-batch",
			 c->micro_batch_size * c->context / mp,
			 c->micro_batch_size * c->context);
}

/* What --as-if makes of the grid, and what it takes. */
static void print_as_if(const struct training *t)
{
	const struct config *c = &t->config;
	const struct memory_account *a = device_memory(t->dev);
	int replicas = tree_held(c->as_if_dp, c->dp), arrays;
	char size[32];

	if (!c->as_if_dp)
		return;
	arrays = tree_buffers(replicas);
	units_format_size(a->now[MEMORY_GRADS] / (uint64_t)arrays * (uint64_t)(arrays - 1),
			  size, sizeof(size));
	log_info("bits as if on dp %d x mp %d: every rank has %d replica%s and %d shard%s; %d "
		 "gradient array%s, %s more than one",
		 c->as_if_dp, c->as_if_mp, replicas, replicas == 1 ? "" : "s", t->model.held,
		 t->model.held == 1 ? "" : "s", arrays, arrays == 1 ? "" : "s", size);
}

static void print_course(const struct training *t)
{
	const struct config *c = &t->config;

	if (c->epochs)
		log_info("%d step%s: %d epoch%s of %lld samples", c->steps,
			 c->steps == 1 ? "" : "s", c->epochs, c->epochs == 1 ? "" : "s",
			 (long long)t->data.train);
	else if (t->data.train)
		log_info("%d step%s: %.3g epochs of %lld samples", c->steps,
			 c->steps == 1 ? "" : "s",
			 (double)c->steps * c->batch / (double)t->data.train,
			 (long long)t->data.train);
	if (!lr_is_constant(&t->lr))
		log_info("learning rate: %s, %g in the first step, %g in the last",
			 lr_kind_names[t->lr.kind], lr_at(&t->lr, 0),
			 lr_at(&t->lr, c->steps - 1));
}

static void print_ranks(const struct training *t)
{
	const struct rank *r = t->rank;

	if (r->ranks > 1)
		log_info("%d ranks: dp %d x pp %d x mp %d; %d on this machine with %d cores%s",
			 r->ranks, t->grid.dp, t->grid.pp, t->grid.mp, r->locals, r->host_cores,
			 r->oversubscribed ? ": oversubscribed, timings say little" : "");
	if (device_shared_by(t->dev) > 1)
		log_warn("%d ranks share a GPU: timings are oversubscribed",
			 device_shared_by(t->dev));
	if (*engine_between(t->engine))
		log_info("between GPUs: %s", engine_between(t->engine));
	if (r->ranks == 1 && t->config.threads > r->host_cores)
		log_warn("%d threads on %d cores: timings are oversubscribed",
			 t->config.threads, r->host_cores);
}

static void print_text(const struct data *d)
{
	const struct text_data *t = &d->text;
	char learned[32], held_out[32];

	units_format_count((int64_t)t->learned.count, learned, sizeof(learned));
	units_format_count((int64_t)t->held_out.count, held_out, sizeof(held_out));
	log_info("data: %s tokens to learn from, %s held out; tokenizer: %s%s%d tokens",
		 learned, held_out,
		 t->tokenizer ? tokenizer_kind_names[tokenizer_kind(t->tokenizer)] : "",
		 t->tokenizer ? ", " : "", t->tokens.of.vocabulary);
	log_verbose("  tokens: %s", t->tokens.name);
	if (t->files > 1)
		log_info("data: the text of %zu files", t->files);
	if (t->left_out)
		log_info("data: left out: %zu file%s with zero bytes, which are no text",
			 t->left_out, t->left_out == 1 ? "" : "s");
	if (d->held_out < t->windows)
		log_info("data: %lld of %lld held-out samples are evaluated (--eval-samples)",
			 (long long)d->held_out, (long long)t->windows);
	if (t->held_out.count && !d->held_out)
		log_info(
			"data: what is held out is shorter than a sample: nothing is evaluated");
}

static void print_data(const struct data *d)
{
	const struct table *t = &d->table;

	if (d->kind == DATA_TOKENS)
		print_text(d);
	if (d->kind != DATA_TABLE)
		return;
	log_info("data: %lld samples to learn from, %lld held out; %d features, %s%s%s",
		 (long long)d->train, (long long)d->held_out, d->in,
		 d->labelled ? "labelled" : "with targets",
		 t->counted ? "; the first line counts the columns: a heading" : "",
		 t->indexed ? "; the first column is an index: left out" : "");
	if (*t->note)
		log_info("data: %s", t->note);
	if (t->dropped + d->test.dropped)
		log_info("data: %lld samples with missing values are left out",
			 (long long)(t->dropped + d->test.dropped));
	else if (t->missing + d->test.missing)
		log_info("data: %lld missing values are the mean of their column",
			 (long long)(t->missing + d->test.missing));
}

static void print_mlp(const struct training *t, const char *parameters)
{
	const struct model *m = &t->model;

	log_info("kolm %s: %d layer%s, %d inputs, up to %d wide, %d outputs; %s parameters; "
		 "loss %s",
		 KOLM_VERSION, m->count, m->count == 1 ? "" : "s", m->in, model_widest(m),
		 m->out, parameters, t->loss->name);
}

/* What is not as usual is said too. */
static void print_gpt(const struct training *t, const char *parameters)
{
	const struct config *c = &t->config;
	bool gpt = c->model == MODEL_GPT;
	struct text more;

	text_init(&more);
	if (!gpt && c->kv_heads && c->kv_heads != c->heads)
		text_addf(&more, " (%d of keys and values)", c->kv_heads);
	text_addf(&more, ", dim %d", c->dim);
	if (ffn_of(c) != gpt_usual_ffn(c->dim, c->heads, !gpt))
		text_addf(&more, ", ffn %d", c->ffn);
	log_info(
		"kolm %s: %s: %d layer%s, %d head%s%s, context %d, %d tokens; %s parameters (%s)",
		KOLM_VERSION, gpt ? "gpt" : "llama", c->layers, c->layers == 1 ? "" : "s",
		c->heads, c->heads == 1 ? "" : "s", more.data, c->context, t->model.out,
		parameters, gpt ? "head tied" : "head not tied");
	more.len = 0;
	if (c->no_bias)
		text_add(&more, ", no biases");
	if (gpt && c->gelu == GELU_EXACT)
		text_add(&more, ", exact gelu");
	if (c->dropout > 0)
		text_addf(&more, ", dropout %g", c->dropout);
	if (c->recompute == RECOMPUTE_ATTENTION)
		text_add(&more, ", attention is computed again for the backward pass");
	if (c->recompute == RECOMPUTE_BLOCK)
		text_add(&more, ", blocks are computed again for the backward pass");
	if (more.len)
		log_info("model: %s", more.data + 2);
	text_release(&more);
}

void training_print_heading(const struct training *t)
{
	const struct config *c = &t->config;
	char size[32], parameters[32], tokens[64] = "";

	if (config_is_language(c))
		snprintf(tokens, sizeof(tokens), " samples of %d tokens", c->context);
	units_format_size(device_memory(t->dev)->total, size, sizeof(size));
	units_format_count(model_parameters(&t->model), parameters, sizeof(parameters));
	if (config_is_language(c))
		print_gpt(t, parameters);
	else
		print_mlp(t, parameters);
	print_data(&t->data);
	print_course(t);
	print_ranks(t);
	print_placement(t);
	print_slices(t);
	print_as_if(t);
	log_info("batch %d = %d replica%s x %d micro-batch%s x %d%s; %s; %s in use%s", c->batch,
		 t->grid.dp, t->grid.dp == 1 ? "" : "s", c->micro_batches,
		 c->micro_batches == 1 ? "" : "es", c->micro_batch_size, tokens,
		 device_description(t->dev), size, t->rank->ranks > 1 ? " on rank 0" : "");
	if (*t->precision_reason)
		log_info("precision: %s, %s", precision_names[c->precision],
			 t->precision_reason);
	print_memory(t->dev);
	log_info("run folder: %s", t->run.folder);
}
