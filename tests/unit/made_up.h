/* made_up.h - results of runs that never were: documents as kolm train would have written
   them, for every case of a study, and the answers that follow. */
#ifndef KOLM_TESTS_MADE_UP_H
#define KOLM_TESTS_MADE_UP_H

#include "testing.h"

#include "cmd/cmd.h"
#include "study/answer.h"

enum { MADE_RANKS_MAX = 16 };

/* What a made-up run measured. Where nothing is said, it is 0. */
struct made {
	double step_ms, first_step_ms;
	double compute[MADE_RANKS_MAX], comm[MADE_RANKS_MAX], imbalance[MADE_RANKS_MAX],
		other[MADE_RANKS_MAX], busy[MADE_RANKS_MAX];
	double memory_0, memory, activations, optimizer, params;
	double collective, traffic_0, traffic, messages, transfers; /* traffic: each way */
	double first_loss, final_loss, skipped, loss_scale, bubble;
	double max_batch, theory_activations;
	double peak_gflops;
	const char *peak_dtype;
};

struct world;
typedef void make_fn(struct world *w, const struct run_case *c, int rep, struct made *m);

struct world {
	make_fn *make;
	void *arg;
	int cores, reps;
	bool quick;
	/* what became of it */
	struct study study;
	struct plan plan;
	struct evidence evidence;
	struct columns columns;
	struct tables tables;
	json_t *answers;
};

static inline double made_option(const struct run_case *c, const char *name, double otherwise)
{
	const json_t *value = json_object_get(c->options, name);

	return json_is_number(value) ? json_number_value(value) : otherwise;
}

static inline json_t *made_ranks(const struct run_case *c, const struct made *m)
{
	json_t *ranks = json_array();

	for (int i = 0; i < c->ranks && i < MADE_RANKS_MAX; i++) {
		json_t *one = json_pack(
			"{s:i, s:i, s:i, s:i, s:f, s:[i], s:{s:f, s:f, s:f, s:f, s:f}}", "rank",
			i, "mp", i % 2, "dp", i / 2 % 2, "pp", i / 4, "utilization", m->busy[i],
			"layers", i, "breakdown_ms", "compute", m->compute[i], "comm_exposed",
			m->comm[i], "bubble", 0.0, "imbalance", m->imbalance[i], "other",
			m->other[i]);
		json_t *bytes = json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}",
					  "peak_bytes", i ? m->memory : m->memory_0,
					  "params_bytes", m->params, "grads_bytes", m->params,
					  "optimizer_bytes", m->optimizer, "activations_bytes",
					  m->activations, "collective_bytes", m->collective,
					  "traffic_in_bytes", i ? m->traffic : m->traffic_0,
					  "traffic_out_bytes", i ? m->traffic : m->traffic_0,
					  "p2p_messages", m->messages, "p2p_bytes", 4096.0);

		json_object_update_new(one, bytes);
		json_array_append_new(ranks, one);
	}
	return ranks;
}

static inline json_t *made_document(const struct world *w, const struct run_case *c,
				    const struct made *m)
{
	double accum = made_option(c, "accum-steps", made_option(c, "micro-batches", 1));
	double mean = 0;
	json_t *d;

	if (!strcmp(c->command, "max-batch"))
		return json_pack("{s:[{s:f, s:f, s:f, s:b}]}", "rows", "batch", m->max_batch,
				 "bytes", 1e6, "limit", 2e6, "confirmed", 1);
	if (!strcmp(c->command, "schedule"))
		return json_pack("{s:f, s:[{s:f}]}", "bubble", m->bubble, "stages",
				 "activations", m->theory_activations);
	/* The parts add up to the step, as they do in a summary. */
	for (int i = 0; i < c->ranks && i < MADE_RANKS_MAX; i++)
		mean += (m->compute[i] + m->comm[i] + m->imbalance[i] + m->other[i]) /
			imin(c->ranks, MADE_RANKS_MAX);
	d = json_pack(
		"{s:i, s:i, s:b, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "ranks",
		c->ranks, "cores", w->cores, "oversubscribed", c->ranks > w->cores, "batch",
		made_option(c, "batch", accum * made_option(c, "micro-batch-size", 1)),
		"micro_batches", accum, "steps", made_option(c, "steps", 35), "final_loss",
		m->final_loss, "first_loss", m->first_loss, "skipped_steps", m->skipped,
		"nonfinite_losses", 0.0, "bubble", m->bubble, "gflops", 100 / m->step_ms);
	json_object_set_new(
		d, "samples_per_s",
		json_real(1000 * json_number_value(json_object_get(d, "batch")) / m->step_ms));
	if (json_object_get(c->options, "model"))
		json_object_set_new(
			d, "tokens_per_s",
			json_real(made_option(c, "context", 64) *
				  json_number_value(json_object_get(d, "samples_per_s"))));
	json_object_set_new(d, "step_ms",
			    json_pack("{s:f, s:f, s:f}", "median", m->step_ms, "mean",
				      mean > 0 ? mean : m->step_ms, "stdev", 0.1));
	json_object_set_new(d, "first_step",
			    json_pack("{s:f, s:f}", "step_ms", m->first_step_ms, "loss_scale",
				      m->loss_scale));
	json_object_set_new(
		d, "last_step",
		json_pack("{s:f, s:f}", "loss_scale", m->loss_scale, "grad_norm", 0.5));
	json_object_set_new(d, "transfers_per_forward",
			    json_pack("{s:f, s:f}", "messages", m->transfers, "bytes",
				      4096 * m->transfers));
	json_object_set_new(d, "peak_gflops", json_real(m->peak_gflops));
	json_object_set_new(d, "peak_dtype", json_string(m->peak_dtype));
	json_object_set_new(d, "grad_dtype", json_string("fp32"));
	json_object_set_new(d, "per_rank", made_ranks(c, m));
	return d;
}

/* The answers of a built-in study in such a world. */
static inline void world_open(struct world *w, const char *name)
{
	const struct builtin *b = study_find_builtin(name);
	struct plan_options o = {.cores = w->cores, .quick = w->quick, .reps = w->reps};
	struct error err = {.code = OK};

	assert_non_null(b);
	if (study_load(&w->study, study_commands(), (const char *)b->bytes, b->size, name,
		       &err) != OK ||
	    plan_init(&w->plan, &w->study, &o, &err) != OK ||
	    evidence_init(&w->evidence, &w->plan, &err) != OK)
		fail_msg("%s", err.msg);
	for (int i = 0; i < w->plan.count; i++)
		for (int rep = 0; rep < w->plan.reps; rep++) {
			struct made m = {
				.step_ms = 1, .peak_gflops = 200, .peak_dtype = "fp32"};

			w->make(w, &w->plan.cases[i], rep, &m);
			/* A step of no time: this run failed. */
			if (m.step_ms > 0)
				w->evidence.documents[i * w->plan.reps + rep] =
					made_document(w, &w->plan.cases[i], &m);
		}
	w->tables = (struct tables){.study = &w->study, .plan = &w->plan};
	assert_int_equal(columns_init(&w->columns, &w->study, &err), OK);
	assert_int_equal(results_init(&w->tables.by_case, &w->columns, &w->plan, &w->evidence,
				      false, &err),
			 OK);
	assert_int_equal(results_init(&w->tables.by_rank, &w->columns, &w->plan, &w->evidence,
				      true, &err),
			 OK);
	observations_fill(&w->tables.by_case);
	w->answers = answers_make(&w->tables);
	assert_non_null(w->answers);
}

static inline void world_close(struct world *w)
{
	json_decref(w->answers);
	results_release(&w->tables.by_case);
	results_release(&w->tables.by_rank);
	columns_release(&w->columns);
	evidence_release(&w->evidence);
	plan_release(&w->plan);
	study_unload(&w->study);
}

static inline const char *made_text(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

#endif
