/* plan_json.c - a plan as JSON, and planned again from it; see plan.h */
#include "plan/plan.h"
#include "base/util.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double GIB = 1024.0 * 1024 * 1024;

/* ---- what was found ---- */

static void put_setup(struct json *j, const struct setup *s)
{
	json_put_int(j, "gpus", s->gpus);
	json_put_int(j, "dp", s->dp);
	json_put_int(j, "pp", s->pp);
	json_put_int(j, "mp", s->tp);
	json_put_int(j, "micro_batch_size", s->micro_batch);
	json_put_string(j, "schedule", schedule_name(s->schedule));
	json_put_int(j, "chunks", s->chunks);
	json_put_string(j, "recompute", setup_recompute_names[s->recompute]);
	json_put_bool(j, "sequence_parallel", s->sequence_parallel);
	json_put_int(j, "zero", s->zero);
}

static void put_memory(struct json *j, const struct forecast_memory *m)
{
	json_put_double(j, "parameters_gib", m->parameters / GIB);
	json_put_double(j, "gradients_gib", m->gradients / GIB);
	json_put_double(j, "optimizer_gib", m->optimizer / GIB);
	json_put_double(j, "activations_gib", m->activations / GIB);
	json_put_double(j, "reserved_gib", m->reserved / GIB);
}

static void put_found(struct json *j, const struct search_found *found, const struct cluster *c)
{
	const struct setup *s = &found->setup;
	const struct forecast *f = &found->forecast;

	json_begin_object(j, NULL);
	put_setup(j, s);
	json_put_double(j, "step_ms", f->step * 1e3);
	if (found->simulated > 0)
		json_put_double(j, "simulated_ms", found->simulated * 1e3);
	json_put_double(j, "tokens_per_s", forecast_tokens_per_s(f, s));
	json_put_double(j, "mfu", forecast_mfu(f, s, c));
	json_put_double(j, "bubble", forecast_bubble(f));
	json_put_double(j, "work_ms", f->work * 1e3);
	json_put_double(j, "sums_ms", f->sums * 1e3);
	json_put_double(j, "messages_ms", f->messages * 1e3);
	json_put_double(j, "fill_ms", f->fill * 1e3);
	json_put_double(j, "gradients_ms", f->gradients * 1e3);
	json_put_double(j, "update_ms", f->update * 1e3);
	json_put_double(j, "mem_gib", f->memory / GIB);
	json_put_int(j, "fullest_stage", f->fullest);
	put_memory(j, &f->parts);
	json_end_object(j);
}

static void put_list(struct json *j, const char *name, const struct search_found *list,
		     int count, const struct cluster *c)
{
	json_begin_array(j, name);
	for (int i = 0; i < count; i++)
		put_found(j, &list[i], c);
	json_end_array(j);
}

static void put_grids(struct json *j, const struct search *r)
{
	json_begin_array(j, "grids");
	for (int i = 0; i < r->grid_count; i++) {
		const struct search_grid *g = &r->grids[i];

		json_begin_object(j, NULL);
		json_put_int(j, "dp", g->dp);
		json_put_int(j, "pp", g->pp);
		json_put_int(j, "mp", g->tp);
		json_put_double(j, "step_ms", g->step * 1e3); /* null: nothing fits */
		json_put_double(j, "least_gib", g->least / GIB);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_pass(struct json *j, const char *name, const struct cost *p,
		     const struct cluster *c)
{
	json_begin_object(j, name);
	json_put_double(j, "ms", cost_pass(c, p) * 1e3);
	json_put_double(j, "products_ms", p->products * 1e3);
	json_put_double(j, "elementwise_ms", (p->busy - p->products) * 1e3);
	json_put_double(j, "sums_ms", p->sums * 1e3);
	json_put_double(j, "gflop", p->flops * 1e-9);
	json_put_int(j, "kernels", (int64_t)p->kernels);
	json_end_object(j);
}

static void put_stages(struct json *j, const struct explanation *e)
{
	json_begin_array(j, "stages");
	for (int i = 0; i < e->timeline.stages; i++) {
		const struct explained_stage *x = &e->stages[i];

		json_begin_object(j, NULL);
		json_put_int(j, "layers", x->layers);
		json_put_double(j, "parameters", x->parameters);
		json_put_double(j, "forward_ms", x->forward * 1e3);
		json_put_double(j, "backward_ms", x->backward * 1e3);
		json_put_double(j, "sums_ms", x->sums * 1e3);
		json_put_double(j, "messages_ms", x->messages * 1e3);
		json_put_double(j, "idle_ms", x->idle * 1e3);
		json_put_double(j, "micro_batches_alive", x->alive);
		json_put_double(j, "mem_gib", forecast_memory_sum(&x->memory) / GIB);
		put_memory(j, &x->memory);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_explanation(struct json *j, const struct explanation *e,
			    const struct cluster *c)
{
	const struct explained_step *x = &e->step;

	json_begin_object(j, "explain");
	json_put_double(j, "step_ms", x->step * 1e3);
	json_put_double(j, "products_ms", x->products * 1e3);
	json_put_double(j, "elementwise_ms", x->elementwise * 1e3);
	json_put_double(j, "host_ms", x->host * 1e3);
	json_put_double(j, "update_ms", x->update * 1e3);
	json_put_double(j, "sums_ms", x->sums * 1e3);
	json_put_double(j, "messages_ms", x->messages * 1e3);
	json_put_double(j, "gradients_ms", x->gradients * 1e3);
	json_put_double(j, "bubble_ms", x->bubble * 1e3);
	json_put_double(j, "imbalance_ms", x->imbalance * 1e3);
	json_put_double(j, "other_ms", x->other * 1e3);
	for (size_t i = 0; i < EXPLAINED_PASSES; i++) {
		json_begin_object(j, e->passes[i].name);
		put_pass(j, "forward", &e->passes[i].forward, c);
		put_pass(j, "backward", &e->passes[i].backward, c);
		json_end_object(j);
	}
	put_stages(j, e);
	json_end_object(j);
}

/* ---- what was searched ---- */

/* Members of a search space that are numbers: how JSON calls them, and the least. */
#define SPACE_NUMBERS(X)                                     \
	X("layers", setup.layers, 1, 1 << 16)                \
	X("hidden", setup.hidden, 1, 1 << 20)                \
	X("heads", setup.heads, 1, 1 << 16)                  \
	X("context", setup.context, 1, 1 << 24)              \
	X("ffn", setup.ffn, 0, 1 << 22)                      \
	X("kv_heads", setup.kv_heads, 0, 1 << 16)            \
	X("vocab", setup.vocab, 1, 1 << 24)                  \
	X("batch", setup.global_batch, 1, 1 << 24)           \
	X("gpus", setup.gpus, 1, 1 << 16)                    \
	X("dp", setup.dp, 0, 1 << 16)                        \
	X("pp", setup.pp, 0, 4096)                           \
	X("mp", setup.tp, 0, 4096)                           \
	X("micro_batch_size", setup.micro_batch, 0, 1 << 20) \
	X("chunks", setup.chunks, 0, 256)                    \
	X("schedule", schedule, -1, SCHEDULE_KIND_COUNT - 1) \
	X("recompute", recompute, -1, SETUP_FULL)            \
	X("sequence_parallel", spread, -1, 1)                \
	X("zero", zero, -1, 3)                               \
	X("top", top, 1, SEARCH_TOP_MAX)

static const struct {
	const char *name;
	size_t offset;
	int min, max;
} numbers[] = {
#define NUMBER(name, member, min, max) {name, offsetof(struct search_space, member), min, max},
	SPACE_NUMBERS(NUMBER)
#undef NUMBER
};

static void put_space(struct json *j, const struct plan *p)
{
	const struct cluster *c = &p->cluster;

	json_begin_object(j, "space");
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		json_put_int(j, numbers[i].name,
			     *(const int *)((const char *)&p->space + numbers[i].offset));
	json_put_string(j, "model", setup_model_names[p->space.setup.model]);
	json_put_double(j, "memory", p->space.memory);
	json_put_bool(j, "devices", p->device_count > 0);
	json_end_object(j);
	json_begin_object(j, "constants");
	for (int i = 0; i < CLUSTER_CONSTANT_COUNT; i++)
		json_put_double(j, cluster_constant_name((enum cluster_constant)i),
				c->constants[i]);
	json_end_object(j);
	json_begin_array(j, "sums");
	for (int i = 0; i < c->ring_count; i++) {
		json_begin_array(j, NULL);
		json_put_double(j, NULL, c->rings[i].ranks);
		json_put_double(j, NULL, c->rings[i].latency_us);
		json_put_double(j, NULL, c->rings[i].gb_per_s);
		json_end_array(j);
	}
	json_end_array(j);
}

void plan_put(struct json *j, const struct plan *p, bool sensitive)
{
	const struct search *r = &p->search;
	const struct cluster *c = &p->cluster;

	json_begin_object(j, NULL);
	json_put_string(j, "cluster", c->name);
	json_put_double(j, "parameters", p->outline.parameters);
	json_put_double(j, "memory_gib", p->space.memory / GIB);
	json_put_int(j, "tried", r->tried);
	json_put_int(j, "fit", r->fits);
	json_put_double(j, "ways_per_s", search_speed(r));
	if (sensitive) {
		json_begin_object(j, "sensitivity");
		for (int i = 0; i < CLUSTER_CONSTANT_COUNT; i++)
			json_put_double(j, cluster_constant_name((enum cluster_constant)i),
					plan_sensitivity(p, (enum cluster_constant)i));
		json_end_object(j);
	}
	put_list(j, "best", r->best, r->best_count, c);
	put_list(j, "too_large", r->too_large, r->too_large_count, c);
	put_list(j, "front", r->front, r->front_count, c);
	put_list(j, "devices", p->devices, p->device_count, c);
	put_grids(j, r);
	if (p->first.stages)
		put_explanation(j, &p->first, c);
	put_space(j, p);
	json_end_object(j);
}

/* ---- read again ---- */

static enum status no_plan(const char *where, const char *what, struct error *err)
{
	FAIL(err, ERR_USAGE, "%s is not a plan: %s", where, what);
	return HINT(err, "'kolm plan --json' and 'kolm plan --out' make one");
}

static enum status read_space(struct search_space *space, const json_t *root, const char *where,
			      struct error *err)
{
	const json_t *object = json_object_get(root, "space");
	const json_t *memory = json_object_get(object, "memory");
	const char *model = json_string_value(json_object_get(object, "model"));
	int kind = 0;

	search_space_init(space);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		const json_t *value = json_object_get(object, numbers[i].name);
		json_int_t number = json_integer_value(value);

		if (!json_is_integer(value) || number < numbers[i].min ||
		    number > numbers[i].max)
			return no_plan(where, numbers[i].name, err);
		*(int *)((char *)space + numbers[i].offset) = (int)number;
	}
	if (!(json_number_value(memory) > 0) || space->setup.hidden % space->setup.heads != 0)
		return no_plan(where, "memory or heads", err);
	space->memory = json_number_value(memory);
	while (setup_model_names[kind] && (!model || strcmp(model, setup_model_names[kind])))
		kind++;
	if (!setup_model_names[kind] || space->setup.heads % setup_kv_heads(&space->setup))
		return no_plan(where, "model", err);
	space->setup.model = (enum setup_model)kind;
	return OK;
}

static enum status read_cluster(struct cluster *c, const json_t *root, const char *where,
				struct error *err)
{
	const char *name = json_string_value(json_object_get(root, "cluster"));
	const json_t *sums = json_object_get(root, "sums");

	*c = (struct cluster){.ring_count = (int)json_array_size(sums)};
	snprintf(c->name, sizeof(c->name), "%s", name ? name : "");
	for (int i = 0; i < CLUSTER_CONSTANT_COUNT; i++)
		c->constants[i] = json_number_value(
			json_object_get(json_object_get(root, "constants"),
					cluster_constant_name((enum cluster_constant)i)));
	if (!*c->name || c->ring_count < 1 || c->ring_count > CLUSTER_RINGS_MAX)
		return no_plan(where, "cluster or sums", err);
	for (int i = 0; i < c->ring_count; i++) {
		const json_t *row = json_array_get(sums, (size_t)i);

		c->rings[i].ranks = json_number_value(json_array_get(row, 0));
		c->rings[i].latency_us = json_number_value(json_array_get(row, 1));
		c->rings[i].gb_per_s = json_number_value(json_array_get(row, 2));
	}
	return cluster_check(c, where, err);
}

enum status plan_read(struct plan **out, const char *bytes, size_t size, const char *where,
		      struct error *err)
{
	json_error_t problem;
	json_t *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &problem);
	struct search_space space;
	struct cluster cluster;
	enum status st;

	if (!root)
		return FAIL(err, ERR_USAGE, "%s is not JSON: line %d: %.160s", where,
			    problem.line, problem.text);
	TRY(read_space(&space, root, where, err));
	TRY(read_cluster(&cluster, root, where, err));
	TRY(plan_create(
		out, &space, &cluster,
		json_is_true(json_object_get(json_object_get(root, "space"), "devices")), err));
out:
	json_decref(root);
	return st;
}
