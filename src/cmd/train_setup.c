/*
 * train_setup.c - what a run is made of: data, layers, schedule, the device and the engine of
 * a rank; and whether the ranks of a job agree on it. See training.h
 */
#include "base/file.h"
#include "base/log.h"
#include "base/tree.h"
#include "base/util.h"
#include "cmd/gpus.h"
#include "cmd/training.h"

#include <stdlib.h>
#include <string.h>

/* Steps that take longer than this may not end in time after a signal. */
enum { KEEP_MS = 100 };

/* Gradients are fp32, or of the type of the weights. */
static enum status check_grad_dtype(const struct config *c, struct error *err)
{
	enum dtype wanted = c->grad_dtype == GRAD_FP16	 ? DTYPE_F16
			    : c->grad_dtype == GRAD_BF16 ? DTYPE_BF16
							 : DTYPE_F32;

	if (wanted == DTYPE_F32 || (int)wanted == c->precision)
		return OK;
	FAIL(err, ERR_USAGE, "--grad-dtype %s with --precision %s", precision_names[wanted],
	     precision_names[c->precision]);
	return HINT(err, "use --precision %s, or --grad-dtype auto", precision_names[wanted]);
}

enum status training_prepare(struct training *t, struct error *err)
{
	struct config *c = &t->config;
	bool base = c->engine == ENGINE_BASE;
	enum schedule_kind kind = base ? SCHEDULE_NAIVE : (enum schedule_kind)c->schedule;
	enum status st;

	TRY(gpus_resolve(c->device, sizeof(c->device), !t->rank, err));
	/* With one stage there is nothing to interleave. */
	kind = schedule_for(kind, c->pp);
	c->chunks = schedule_chunks(kind, c->chunks);
	TRY(training_choose_precision(t, err));
	TRY(check_grad_dtype(c, err));
	TRY(training_open_data(t, err));
	TRY(training_build_model(t, err));
	TRY(training_plan_course(t, err));
	TRY(partition_init(&t->partition, &t->model, c->pp, c->chunks, c->layers_per_stage,
			   err));
	TRY(schedule_init(&t->schedule, kind, c->pp, c->micro_batches, c->chunks, err));
	TRY(training_plan_memory(t, err));
out:
	return st;
}

enum status training_claim(struct training *t, struct error *err)
{
	const struct config *c = &t->config;
	enum status st;

	TRY(run_claim(&t->run, c->run_dir,
		      c->in_place    ? RUN_CONTINUES
		      : c->overwrite ? RUN_REPLACES
				     : RUN_IS_NEW,
		      err));
	if (*c->dump_check && !file_is_same(c->dump_check, t->run.folder))
		TRY(folder_claim(&t->dump_claim, c->dump_check, err));
out:
	if (st != OK)
		training_release(t);
	return st;
}

void training_release(struct training *t)
{
	folder_release(&t->dump_claim);
	run_release(&t->run);
}

static enum status source_of_world(void *arg, size_t bytes, void **out, struct error *err)
{
	return comm_alloc(arg, bytes, out, err);
}

static void back_to_world(void *arg, void *memory)
{
	comm_give_back(arg, memory);
}

/* PyTorch scales the loss for fp16 only: bf16 has the range of fp32. */
static struct scaler scaler_of(const struct config *c)
{
	if (c->precision != DTYPE_F16)
		return (struct scaler){.scale = 1};
	if (c->loss_scale > 0)
		return (struct scaler){.scale = c->loss_scale};
	return (struct scaler){.scale = c->init_scale,
			       .growth = c->growth_factor,
			       .backoff = c->backoff_factor,
			       .interval = c->growth_interval};
}

static enum dtype grad_type_of(const struct config *c)
{
	switch ((enum config_grad_dtype)c->grad_dtype) {
	case GRAD_FP32:
		return DTYPE_F32;
	case GRAD_16:
	case GRAD_FP16:
	case GRAD_BF16:
		return (enum dtype)c->precision;
	case GRAD_AUTO:
		break;
	}
	return engine_grad_type((enum dtype)c->precision,
				c->micro_batches / tree_held(c->as_if_dp, c->dp));
}

static void say_where(void *arg, const char *place)
{
	rank_at(((const struct training *)arg)->rank, "%s", place);
}

static int asked_to_stop(void *arg)
{
	return rank_stop(((const struct training *)arg)->rank);
}

struct engine_options training_engine_options(const struct training *t)
{
	const struct config *c = &t->config;

	return (struct engine_options){
		.model = &t->model,
		.loss = t->loss,
		.rows = t->forward_rows ? t->forward_rows
					: c->micro_batch_size * t->data.sequence,
		.forward_only = t->forward_rows > 0,
		.micro_batches = c->micro_batches,
		.as_if_dp = t->forward_rows ? 0 : c->as_if_dp,
		.optimizer = {.kind = (enum optimizer)c->optimizer,
			      .lr = (float)c->lr,
			      .momentum = (float)c->momentum,
			      .beta1 = (float)c->beta1,
			      .beta2 = (float)c->beta2,
			      .eps = (float)c->eps,
			      .weight_decay = (float)c->weight_decay},
		.clip = c->clip_grad,
		.seed = (uint64_t)c->seed,
		.grad_sync = c->engine == ENGINE_BASE && c->grad_sync == SYNC_DDP
				     ? SYNC_FLAT
				     : (enum grad_sync)c->grad_sync,
		.bucket_bytes = (size_t)(c->bucket_mb * (1 << 20)),
		.zero = c->zero == 1,
		.type = (enum dtype)c->precision,
		.grad_type = grad_type_of(c),
		.scaler = scaler_of(c),
		.base = c->engine == ENGINE_BASE,
		.world = t->rank ? t->rank->world : NULL,
		.grid = t->grid,
		.partition = &t->partition,
		.schedule = &t->schedule,
		.inject = &t->inject,
		.pace = t->rank ? &t->rank->pace : NULL,
		.records = (struct records *)&t->records,
		.observer = {.arg = (struct training *)(uintptr_t)t,
			     .at = say_where,
			     .stop = asked_to_stop,
			     .word = training_word},
		.keep_ms = t->rank && t->rank->hurried ? KEEP_MS : 0,
	};
}

/* Where nothing is computed there is nothing to learn, and nothing to check. */
static enum status check_virtual(const struct training *t, struct error *err)
{
	if (!device_is_virtual(t->dev))
		return OK;
	if (t->rank->locals < t->rank->ranks) {
		FAIL(err, ERR_USAGE, "virtual devices on several machines");
		return HINT(err, "start all %d ranks on one machine: they only sleep",
			    t->rank->ranks);
	}
	if (t->config.eval_every) {
		FAIL(err, ERR_USAGE,
		     "--eval-every %d on a virtual device, which computes no loss",
		     t->config.eval_every);
		return HINT(err, "use --device cpu");
	}
	if (*t->config.dump_check || t->record_folder || t->config.save ||
	    *t->config.save_every || *t->config.resume) {
		FAIL(err, ERR_USAGE, "a virtual device computes no weights to write down");
		return HINT(err, "use --device cpu");
	}
	return OK;
}

/* Among the ranks of this machine. */
static int local_number(const struct rank *r)
{
	int n = 0;

	for (int i = 0; i < r->number; i++)
		n += !r->hosts || r->hosts[i] == r->host;
	return n;
}

enum status training_open_engine(struct training *t, struct error *err)
{
	struct config *c = &t->config;
	struct device_options device = {
		.kernels = getenv("KOLM_CPU"),
		.threads = c->threads ? c->threads : t->rank->cores,
		.pin = c->pin == PIN_AUTO,
		.crowded = t->rank->oversubscribed,
		.memory = c->device_memory,
		.rank = t->rank->number,
		.ranks = t->rank->ranks,
		.local = local_number(t->rank),
		.pace = &t->rank->pace,
		.cache = gpus_cache(),
	};
	struct engine_options engine = training_engine_options(t);
	enum status st;

	TRY(device_open(&t->dev, c->device, &device, err));
	TRY(training_find_sharers(t, err));
	TRY(check_virtual(t, err));
	if (*c->as_if && !device_has_exact(t->dev)) {
		st = FAIL(err, ERR_USAGE, "--as-if %s on %s, which has no exact sums", c->as_if,
			  device_description(t->dev));
		HINT(err, "use --device cpu, or leave it out");
		goto out;
	}
	c->threads = device_threads(t->dev);
	comm_observe(t->rank->world, &t->rank->pace, &t->records);
	TRY(device_observe(t->dev, &t->records, err));
	if (t->rank->ranks > 1)
		device_share(t->dev, source_of_world, back_to_world, t->rank->world);
	TRY(engine_create(&t->engine, t->dev, &engine, err));
	TRY(comm_alloc(t->rank->world, (size_t)t->rank->ranks * sizeof(*t->summaries),
		       (void **)&t->summaries, err));
	TRY(comm_alloc(t->rank->world, (size_t)t->rank->ranks * sizeof(*t->all_times),
		       (void **)&t->all_times, err));
out:
	return st;
}

static uint64_t hash(uint64_t h, const void *data, size_t n)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < n; i++)
		h = (h ^ bytes[i]) * 0x100000001b3;
	return h;
}

/* Of a token file, what it was made of. */
static uint64_t hash_tokens(uint64_t h, const struct tokens *t)
{
	h = hash(h, &t->count, sizeof(t->count));
	h = hash(h, t->of.tokenizer_sha256, sizeof(t->of.tokenizer_sha256));
	return hash(h, t->of.text_sha256, sizeof(t->of.text_sha256));
}

static uint64_t hash_table(uint64_t h, const struct table *t)
{
	size_t n = (size_t)t->samples;

	h = hash(h, t->values, n * (size_t)t->features * sizeof(float));
	if (t->labels)
		h = hash(h, t->labels, n * sizeof(*t->labels));
	if (t->targets)
		h = hash(h, t->targets, n * (size_t)t->outputs * sizeof(*t->targets));
	return h;
}

/* What must be the same on all ranks, as one number: options and data. */
static uint64_t hash_of(const struct training *t)
{
	const struct data *d = &t->data;
	uint64_t h = 0xcbf29ce484222325;
	struct json j;

	json_init(&j, false);
	json_begin_object(&j, NULL);
	options_write_json(&t->config.values, &j);
	json_put_int(&j, "in", d->in);
	json_put_int(&j, "out", d->out);
	json_put_int(&j, "train", d->train);
	json_put_int(&j, "held_out", d->held_out);
	json_put_bool(&j, "labelled", d->labelled);
	json_end_object(&j);
	h = hash(h, j.text.data, strlen(j.text.data));
	json_release(&j);
	h = hash_tokens(hash_tokens(h, &d->text.tokens), &d->text.test);
	return hash_table(hash_table(h, &d->table), &d->test);
}

/* Ranks of a job each read their own options and files: they could differ. */
enum status training_agree(struct training *t, struct error *err)
{
	struct rank *r = t->rank;
	uint64_t *hashes = NULL;
	enum status st;

	TRY(comm_alloc(r->world, (size_t)r->ranks * sizeof(*hashes), (void **)&hashes, err));
	hashes[r->number] = hash_of(t);
	TRY(comm_run(r->world, COMM_ALLGATHER, hashes, (size_t)r->ranks * sizeof(*hashes),
		     DTYPE_BYTE, 0, err));
	for (int i = 1; i < r->ranks; i++)
		if (hashes[i] != hashes[0]) {
			FAIL(err, ERR_USAGE,
			     "rank %d has other options or other data than rank 0", i);
			st = HINT(err, "start all ranks with the same command, and the same "
				       "files on all machines");
			break;
		}
out:
	comm_give_back(r->world, hashes);
	return st;
}

enum status training_check_machine(const struct training *t, struct error *err)
{
	int wanted = t->config.nproc_per_node;

	if (!wanted || wanted == t->rank->locals)
		return OK;
	FAIL(err, ERR_USAGE, "--nproc-per-node %d, but there are %d ranks here", wanted,
	     t->rank->locals);
	return HINT(err, "leave it out, or start as many");
}
