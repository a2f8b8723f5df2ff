/* engine.c - see include/kolm.h */
#include "base/machine.h"
#include "base/util.h"
#include "engine/dump.h"
#include "lib/impl.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct kolm_engine {
	struct kolm_world *world; /* borrowed */
	struct device *dev;
	struct model model;
	struct partition partition;
	struct schedule schedule;
	struct own_scratch scratch;
	struct engine *engine;
	int steps;
};

/* ---- options ---- */

/* Those that are names, as numbers. */
struct choices {
	int schedule, precision, optimizer, loss;
};

static const struct loss *const losses[] = {&loss_mse, &loss_cross_entropy};

static enum status read_names(const struct kolm_options *o, struct choices *c,
			      struct error *err)
{
	const char *const loss_names[] = {losses[0]->name, losses[1]->name, NULL};

	if (!lib_find_name("schedule", o->schedule, schedule_names, &c->schedule, err) ||
	    !lib_find_name("precision", o->precision, precision_names, &c->precision, err) ||
	    !lib_find_name("optimizer", o->optimizer, optimizer_names, &c->optimizer, err) ||
	    !lib_find_name("loss", o->loss, loss_names, &c->loss, err))
		return err->code;
	return OK;
}

static enum status check(const struct kolm_options *o, const struct kolm_world *world,
			 struct error *err)
{
	int64_t ranks = (int64_t)o->dp * o->pp * o->mp, parts;

	if (o->dp < 1 || o->pp < 1 || o->mp < 1 || ranks != comm_size(world->comm)) {
		FAIL(err, ERR_USAGE, "dp %d x pp %d x mp %d is no grid of %d ranks", o->dp,
		     o->pp, o->mp, comm_size(world->comm));
		return HINT(err, "their product is the number of ranks");
	}
	parts = (int64_t)o->dp * o->micro_batches;
	if (o->batch < 1 || o->micro_batches < 1 || o->batch % parts) {
		FAIL(err, ERR_USAGE,
		     "a batch of %d does not divide into %d replicas of %d micro-batches",
		     o->batch, o->dp, o->micro_batches);
		return HINT(err, "a multiple of %lld would", (long long)parts);
	}
	if (!o->device || strncmp(o->device, "virtual", 7) == 0) {
		FAIL(err, ERR_USAGE, "device '%.32s' computes nothing",
		     o->device ? o->device : "NULL");
		return HINT(err, "use cpu");
	}
	return OK;
}

static struct scaler scaler_of(enum dtype type)
{
	if (type != DTYPE_F16)
		return (struct scaler){.scale = 1};
	return (struct scaler){.scale = 65536, .growth = 2, .backoff = 0.5, .interval = 2000};
}

static struct engine_options options_of(const struct kolm_engine *e,
					const struct kolm_options *o, const struct choices *c)
{
	enum { BUCKET = 25 << 20 };

	return (struct engine_options){.model = &e->model,
				       .loss = losses[c->loss],
				       .rows = o->batch / (o->dp * o->micro_batches) *
					       e->model.sequence,
				       .micro_batches = o->micro_batches,
				       .optimizer = {.kind = (enum optimizer)c->optimizer,
						     .lr = (float)o->lr,
						     .momentum = (float)o->momentum,
						     .beta1 = (float)o->beta1,
						     .beta2 = (float)o->beta2,
						     .eps = (float)o->eps,
						     .weight_decay = (float)o->weight_decay},
				       .clip = o->clip_grad,
				       .seed = o->seed,
				       .grad_sync = SYNC_DDP,
				       .bucket_bytes = BUCKET,
				       .zero = o->zero != 0,
				       .type = (enum dtype)c->precision,
				       .grad_type = (enum dtype)c->precision,
				       .scaler = scaler_of((enum dtype)c->precision),
				       .world = e->world->comm,
				       .grid = {.dp = o->dp, .pp = o->pp, .mp = o->mp},
				       .partition = &e->partition,
				       .schedule = &e->schedule};
}

/* ---- making one ---- */

static enum status take_shared(void *arg, size_t bytes, void **out, struct error *err)
{
	return comm_alloc(arg, bytes, out, err);
}

static void give_back_shared(void *arg, void *memory)
{
	comm_give_back(arg, memory);
}

static enum status open_device(struct kolm_engine *e, const struct kolm_options *o,
			       struct error *err)
{
	int ranks = e->world->locals, cores = machine_cores();
	struct device_options options = {.threads = o->threads > 0 ? o->threads
								   : imax(1, cores / ranks),
					 .crowded = ranks > cores,
					 .rank = comm_rank(e->world->comm),
					 .ranks = comm_size(e->world->comm)};
	enum status st;

	TRY(device_open(&e->dev, o->device, &options, err));
	if (options.ranks > 1)
		device_share(e->dev, take_shared, give_back_shared, e->world->comm);
out:
	return st;
}

/* Layers of the caller's kinds share what they copy to. */
static enum status set_scratch(struct kolm_engine *e, int rows, struct error *err)
{
	bool any = false;

	for (int i = 0; i < e->model.count; i++)
		if (e->model.layers[i]->ops == &layer_own) {
			((struct own_config *)e->model.layers[i]->config)->scratch =
				&e->scratch;
			any = true;
		}
	if (!any)
		return OK;
	e->scratch.elements = (size_t)rows * (size_t)model_widest(&e->model);
	e->scratch.memory = malloc(KOLM_OPEN_MAX * e->scratch.elements * sizeof(float));
	return e->scratch.memory
		       ? OK
		       : FAIL(err, ERR_MEMORY, "no memory for copies of %d rows", rows);
}

/* What a program was compiled with may be shorter than ours: the rest is as by default. */
static enum status take_options(const struct kolm_options *from, struct kolm_options *to,
				struct error *err)
{
	*to = (struct kolm_options)KOLM_OPTIONS;
	if (from->size < offsetof(struct kolm_options, threads) || from->size > sizeof(*to)) {
		FAIL(err, ERR_USAGE, "options of %zu bytes, not %zu", from->size, sizeof(*to));
		return HINT(err, "begin with struct kolm_options o = KOLM_OPTIONS");
	}
	memcpy(to, from, from->size);
	return OK;
}

static enum status check_loss(const struct kolm_model *m, const struct choices *c,
			      struct error *err)
{
	if (!m->language || losses[c->loss]->labelled)
		return OK;
	FAIL(err, ERR_USAGE, "loss %s of a language model", losses[c->loss]->name);
	return HINT(err, "it tells how likely tokens are: use cross-entropy");
}

static enum status build(struct kolm_engine *e, const struct kolm_model *model,
			 const struct kolm_options *given, struct error *err)
{
	struct kolm_options options_of_ours, *o = &options_of_ours;
	struct engine_options options;
	enum schedule_kind kind;
	struct choices c;
	int chunks;
	enum status st;

	TRY(take_options(given, o, err));
	TRY(check(o, e->world, err));
	TRY(read_names(o, &c, err));
	TRY(check_loss(model, &c, err));
	kind = schedule_for((enum schedule_kind)c.schedule, o->pp);
	chunks = schedule_chunks(kind, o->chunks);
	TRY(schedule_check_chunks(kind, chunks, err));
	TRY(lib_build_model(model, o->mp, &e->model, err));
	TRY(partition_init(&e->partition, &e->model, o->pp, chunks, "", err));
	TRY(schedule_init(&e->schedule, kind, o->pp, o->micro_batches, chunks, err));
	TRY(open_device(e, o, err));
	options = options_of(e, o, &c);
	TRY(set_scratch(e, options.rows, err));
	TRY(engine_create(&e->engine, e->dev, &options, err));
out:
	return st;
}

enum kolm_status kolm_engine_create(struct kolm_engine **out, struct kolm_world *world,
				    const struct kolm_model *model,
				    const struct kolm_options *options, struct kolm_error *err)
{
	struct error own = {0};
	struct kolm_engine *e = calloc(1, sizeof(*e));

	if (!e) {
		FAIL(&own, ERR_MEMORY, "no memory for an engine");
		return lib_error_out(&own, err);
	}
	e->world = world;
	if (build(e, model, options, &own) != OK) {
		kolm_engine_free(e);
		return lib_error_out(&own, err);
	}
	*out = e;
	return KOLM_OK;
}

void kolm_engine_free(struct kolm_engine *engine)
{
	if (!engine)
		return;
	engine_free(engine->engine);
	device_close(engine->dev);
	free(engine->scratch.memory);
	schedule_release(&engine->schedule);
	partition_release(&engine->partition);
	model_release(&engine->model);
	free(engine);
}

/* ---- using it ---- */

struct filling {
	kolm_fill *fill;
	void *arg;
	int classes, sequence;
	bool tokens;
	bool wrong; /* there was a label or token that is none of them */
	int32_t label;
};

static struct filling filling_of(const struct kolm_engine *e, kolm_fill *fill, void *arg)
{
	return (struct filling){.fill = fill,
				.arg = arg,
				.classes = e->model.out,
				.sequence = e->model.sequence,
				.tokens = e->model.tokens};
}

static void check_numbers(struct filling *f, int32_t *numbers, int n)
{
	for (int i = 0; numbers && i < n; i++)
		if (numbers[i] < 0 || numbers[i] >= f->classes) {
			f->wrong = true;
			f->label = numbers[i];
			numbers[i] = 0;
		}
}

static void fill_batch(void *arg, int64_t first, int rows, const struct batch *b)
{
	struct filling *f = arg;
	struct kolm_batch batch = {.x = b->x.data,
				   .x_stride = b->x.stride,
				   .target = b->target.data,
				   .target_stride = b->target.stride,
				   .labels = b->labels,
				   .tokens = b->tokens};

	if (f->tokens)
		batch.x = NULL;
	f->fill(f->arg, first / f->sequence, rows / f->sequence, &batch);
	check_numbers(f, b->labels, rows);
	check_numbers(f, b->tokens, rows);
}

static enum status check_labels(const struct filling *f, struct error *err)
{
	if (!f->wrong)
		return OK;
	if (f->tokens)
		return FAIL(err, ERR_USAGE, "%d is no token from 0 to %d", (int)f->label,
			    f->classes - 1);
	FAIL(err, ERR_USAGE, "label %d of a sample is no class from 0 to %d", (int)f->label,
	     f->classes - 1);
	return HINT(err, "the last layer has as many outputs as there are classes");
}

enum kolm_status kolm_engine_set_lr(struct kolm_engine *engine, double lr,
				    struct kolm_error *err)
{
	struct error own = {0};

	if (!(lr >= 0 && lr <= FLT_MAX)) {
		FAIL(&own, ERR_USAGE, "%g is no learning rate", lr);
		HINT(&own, "use 0 or more");
		return lib_error_out(&own, err);
	}
	engine_set_lr(engine->engine, lr);
	return KOLM_OK;
}

enum kolm_status kolm_engine_step(struct kolm_engine *engine, kolm_fill *fill, void *arg,
				  struct kolm_result *result, struct kolm_error *err)
{
	struct filling f = filling_of(engine, fill, arg);
	struct step_result r;
	struct error own = {0};

	engine_load(engine->engine, fill_batch, &f);
	if (check_labels(&f, &own) != OK ||
	    engine_step(engine->engine, engine->steps, &r, &own) != OK)
		return lib_error_out(&own, err);
	engine->steps++;
	*result = (struct kolm_result){.loss = r.loss,
				       .grad_norm = r.grad_norm,
				       .skipped = r.skipped,
				       .step_ms = (double)engine_times(engine->engine)->step *
						  1e-6};
	return KOLM_OK;
}

enum kolm_status kolm_engine_evaluate(struct kolm_engine *engine, int64_t samples,
				      kolm_fill *fill, void *arg, struct kolm_evaluation *out,
				      struct kolm_error *err)
{
	struct filling f = filling_of(engine, fill, arg);
	struct evaluation e;
	struct error own = {0};

	if (samples < 1)
		FAIL(&own, ERR_USAGE, "an evaluation of %lld samples", (long long)samples);
	else if (engine_evaluate(engine->engine, samples * engine->model.sequence, fill_batch,
				 &f, &e, &own) == OK)
		check_labels(&f, &own);
	if (own.code != OK)
		return lib_error_out(&own, err);
	if (out)
		*out = (struct kolm_evaluation){.loss = e.loss, .accuracy = e.accuracy};
	return KOLM_OK;
}

enum kolm_status kolm_engine_save(struct kolm_engine *engine, const char *folder,
				  const char *name, struct kolm_error *err)
{
	struct error own = {0};

	dump_masters(engine->engine, 0, folder, name, &own);
	if (engine_agree(engine->engine, own.code == OK, &own) != OK)
		return lib_error_out(&own, err);
	return KOLM_OK;
}
