/* outline.c - see outline.h */
#include "plan/outline.h"
#include "base/records.h"
#include "base/util.h"
#include "comm/alone.h"
#include "model/attention.h"
#include "model/gpt.h"
#include "model/linear.h"
#include "model/loss.h"
#include "model/weights.h"

#include <assert.h>

enum { EMBEDDING, BLOCK, HEAD, LAYERS }; /* of a model with one block */
enum { RECORDS = 64 };

/* A rank that is alone, on its device, and the pass that is written down. */
struct watch {
	struct pace pace;
	struct records records;
	struct device *dev;
	struct comm *world;
	struct model model;
	struct weights weights;
	void *nowhere; /* an address of the device: nothing is behind it */
	int64_t sum_bytes, seen;
	struct outline_pass *to;
};

/* One block of it. Where there are more ranks than heads of keys, several have the same. */
static struct gpt gpt_of(const struct setup *s, int ways)
{
	bool llama = s->model == SETUP_LLAMA, gpt = s->model == SETUP_GPT;

	return (struct gpt){.layers = 1,
			    .heads = s->heads,
			    .kv_heads = imax(setup_kv_heads(s), ways),
			    .dim = s->hidden,
			    .ffn = setup_ffn(s),
			    .context = s->context,
			    .vocabulary = s->vocab,
			    .norm = llama ? NORM_RMS : NORM_LAYER,
			    .eps = 1e-5f,
			    .act = llama ? ACT_SILU : ACT_GELU_TANH,
			    .theta = llama ? 10000 : 0,
			    .gated = llama,
			    .biased = gpt,
			    .tied = setup_is_tied(s),
			    .dropout = gpt ? 0.1 : 0,
			    .spreads = s->sequence_parallel && ways > 1};
}

static enum status build(struct model *m, const struct setup *s, int ways, struct error *err)
{
	struct gpt gpt = gpt_of(s, ways);

	model_init(m, 1, ways);
	return gpt_build(m, &gpt, err);
}

/* ---- what is told ---- */

static struct outline_operation *last_of(struct outline_pass *p)
{
	return p->operation_count ? &p->operations[p->operation_count - 1] : NULL;
}

/* What the ranks have exchanged since the operation before; returns whether rows were gathered.
 */
static bool note_sums(struct watch *w)
{
	struct outline_pass *p = w->to;
	bool gathered = false;

	for (; w->seen < w->records.count; w->seen++) {
		const struct record *r = records_at(&w->records, w->seen);

		if (r->kind != RECORD_COLLECTIVE)
			continue;
		assert(p->sum_count < OUTLINE_SUMS);
		p->sums[p->sum_count++] = (struct outline_sum){.half = r->op != COMM_ALLREDUCE,
							       .bytes = (double)r->bytes};
		gathered |= r->op == COMM_ALLGATHER;
		if (r->op == COMM_REDUCE_SCATTER && last_of(p))
			last_of(p)->scattered = true;
	}
	return gathered;
}

static void note(void *arg, const struct operation *what)
{
	struct watch *w = arg;
	struct outline_pass *p = w->to;
	bool gathered = note_sums(w);
	const struct outline_operation *before = last_of(p);
	/* A product's weight comes right behind its input. */
	bool spread = what->kind == OPERATION_PRODUCT_WEIGHT && before &&
		      before->is.kind == OPERATION_PRODUCT_INPUT && before->gathered;

	assert(p->operation_count < OUTLINE_OPERATIONS);
	p->operations[p->operation_count++] = (struct outline_operation){
		.is = *what, .gathered = gathered, .scattered = spread};
}

static void begin(struct watch *w, struct outline_pass *p)
{
	*p = (struct outline_pass){.operation_count = 0};
	w->to = p;
	w->records.count = 0;
	w->seen = 0;
}

/* ---- what is watched ---- */

static struct view matrix(const struct watch *w, int columns, enum dtype type)
{
	return (struct view){.data = w->nowhere, .stride = (size_t)columns, .type = type};
}

static void fill_rooms(const struct watch *w, const struct layer_room *rooms, int n,
		       struct view *views)
{
	for (int i = 0; i < n; i++)
		views[i] = matrix(w, rooms[i].columns, rooms[i].wide ? DTYPE_F32 : DTYPE_BF16);
}

static enum status watch_layer(struct watch *w, int number, int rows, struct outline_layer *to,
			       struct error *err)
{
	const struct layer *l = w->model.layers[number];
	struct view saved[ROOMS_MAX], kept[ROOMS_MAX];
	struct view in = matrix(w, layer_in(l), number ? DTYPE_BF16 : DTYPE_I32);
	struct view out = matrix(w, layer_out(l), DTYPE_BF16);
	struct pass p = {.dev = w->dev,
			 .weights = &w->weights,
			 .slices = w->model.mp > 1 ? w->world : NULL,
			 .shard = 0,
			 .rows = rows,
			 .x = in,
			 .y = out,
			 .dx = number ? in : (struct view){0},
			 .dy = out,
			 .saved = saved,
			 .kept = kept,
			 .together = true,
			 .sum_bytes = &w->sum_bytes,
			 .training = true};
	enum status st;

	fill_rooms(w, l->saved, l->n_saved, saved);
	fill_rooms(w, l->kept, l->n_kept, kept);
	begin(w, &to->forward);
	TRY(l->ops->forward(l, &p, err));
	note_sums(w);
	begin(w, &to->backward);
	TRY(layer_backward(l, &p, err));
	note_sums(w);
out:
	return st;
}

/* Behind the forward of the head; what its gradient is, is a part of the backward. */
static enum status watch_loss(struct watch *w, int rows, struct outline_layer *head,
			      struct error *err)
{
	struct view y = matrix(w, layer_out(w->model.layers[HEAD]), DTYPE_BF16);
	struct loss_run r = {.dev = w->dev,
			     .y = y,
			     .dy = y,
			     .target = {.labels = w->nowhere},
			     .rows = rows,
			     .columns = w->model.out,
			     .scale = 1,
			     .sum = w->nowhere,
			     .slices = w->model.mp > 1 ? w->world : NULL,
			     .shard = 0,
			     .shards = w->model.mp,
			     .held = 1,
			     .stats = w->nowhere,
			     .sum_bytes = &w->sum_bytes};
	struct outline_pass *p = &head->forward;
	enum status st;

	w->to = p;
	TRY(loss_cross_entropy.run(&r, err));
	note_sums(w);
	assert(last_of(p)->is.kind == OPERATION_CLASS_LOSS);
	assert(head->backward.operation_count < OUTLINE_OPERATIONS);
	head->backward.operations[head->backward.operation_count++] = *last_of(p);
	p->operation_count--;
out:
	return st;
}

static enum status watch_open(struct watch *w, const struct setup *s, struct error *err)
{
	struct device_options d = {.rank = 0, .ranks = s->tp, .pace = &w->pace};
	struct chunk all = {.count = LAYERS, .begins = true, .ends = true};
	struct weights_options o = {
		.shard = 0, .type = DTYPE_BF16, .grad_type = DTYPE_BF16, .plan = true};
	enum status st;

	*w = (struct watch){.pace = {.hurried = true}};
	TRY(build(&w->model, s, s->tp, err));
	assert(w->model.count == LAYERS);
	TRY(records_init(&w->records, RECORDS, err));
	/* So fast that the largest model takes a time that can be counted. */
	TRY(device_open(&w->dev, "virtual:gflops=1e12", &d, err));
	TRY(comm_open_alone(&w->world, 0, s->tp, err));
	comm_observe(w->world, &w->pace, &w->records);
	TRY(weights_init(&w->weights, w->dev, &w->model, &all, 1, &o, err));
	TRY(device_alloc(w->dev, MEMORY_ACTIVATIONS, 1, "an outline", &w->nowhere, err));
	device_listen(w->dev, note, w);
out:
	return st;
}

static void watch_close(struct watch *w)
{
	if (w->dev)
		device_free(w->dev, w->nowhere);
	weights_release(&w->weights);
	model_release(&w->model);
	comm_free(w->world);
	device_close(w->dev);
	records_release(&w->records);
}

/* ---- what it comes to ---- */

/* Of a sample, by the number of the layer. */
static void add_product(void *arg, const struct layer *l)
{
	((double *)arg)[l->number] += 3.0 * l->sequence * l->ops->flops(l);
}

/* Pairs that are looked ahead at count too: that is what shares of a peak are published of. */
static void add_attention(void *arg, const struct layer *l)
{
	((double *)arg)[l->number] += 3.0 * 4 * (double)l->sequence * l->sequence * l->out;
}

/* mpt has no positions; the engine's models have some. */
static double left_out(const struct setup *s)
{
	return s->model == SETUP_MPT ? (double)s->context * s->hidden : 0;
}

static void leave_out_positions(struct outline_pass *p)
{
	int n = 0;

	for (int i = 0; i < p->operation_count; i++)
		if (p->operations[i].is.kind != OPERATION_POSITIONS &&
		    p->operations[i].is.kind != OPERATION_POSITIONS_WEIGHT)
			p->operations[n++] = p->operations[i];
	p->operation_count = n;
}

/* What a rank of so many ways has of a layer, the first of them, which has no less than others.
 */
static double layer_parameters(const struct model *m, int number)
{
	double sum = 0;

	for (int i = 0; i < m->n_tensors; i++)
		if (m->tensors[i].layer == number)
			sum += (double)tensor_own_rows(&m->tensors[i], m->mp, 0) *
			       tensor_own_columns(&m->tensors[i], m->mp);
	return sum;
}

static enum status whole_model(struct outline *o, const struct setup *s, struct error *err)
{
	double flops[LAYERS] = {0};
	struct model m;
	enum status st;

	TRY(build(&m, s, 1, err));
	model_visit(&m, &layer_linear, add_product, flops);
	model_visit(&m, &layer_attention, add_attention, flops);
	o->parameters = layer_parameters(&m, EMBEDDING) +
			s->layers * layer_parameters(&m, BLOCK) + layer_parameters(&m, HEAD) -
			left_out(s);
	o->flops = s->layers * flops[BLOCK] + flops[HEAD];
out:
	model_release(&m);
	return st;
}

enum status outline_init(struct outline *o, const struct setup *s, struct error *err)
{
	struct outline_layer *layers[LAYERS] = {&o->embedding, &o->block, &o->head};
	struct watch w;
	enum status st;

	TRY(watch_open(&w, s, err));
	for (int i = 0; i < LAYERS; i++) {
		TRY(watch_layer(&w, i, s->context, layers[i], err));
		layers[i]->parameters = layer_parameters(&w.model, i);
	}
	TRY(watch_loss(&w, s->context, &o->head, err));
	o->embedding.parameters -= left_out(s);
	o->table = (double)tensor_own_rows(&w.model.tensors[0], s->tp, 0) * s->hidden;
	if (s->model == SETUP_MPT) {
		leave_out_positions(&o->embedding.forward);
		leave_out_positions(&o->embedding.backward);
	}
	TRY(whole_model(o, s, err));
out:
	watch_close(&w);
	return st;
}

double outline_stage_parameters(const struct outline *o, const struct setup *s, int stage)
{
	bool first = stage == 0, last = stage == s->pp - 1;
	double sum = setup_layers(s, stage) * o->block.parameters;

	if (first)
		sum += o->embedding.parameters;
	if (last)
		sum += o->head.parameters;
	if (last && !first && setup_is_tied(s)) /* a copy of the table */
		sum += o->table;
	return sum;
}
