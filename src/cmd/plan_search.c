/* plan_search.c - kolm plan: the fastest ways to train a model, and why others do not fit. */
#include "cmd/plan.h"
#include "base/file.h"
#include "plan/simulate.h"

#include <stdio.h>

static const double GIB = 1024.0 * 1024 * 1024;

static enum status draw(const char *path, const struct plan *p, struct error *err)
{
	const struct setup *s = &p->search.best[0].setup;
	struct text svg;
	char title[160];
	enum status st;

	if (!p->first.stages)
		return FAIL(err, ERR_USAGE,
			    "a pipeline of %d stages and %d micro-batches is too much to draw",
			    s->pp, setup_micro_batches(s));
	text_init(&svg);
	timeline_draw_svg(&p->first.timeline, simulate_title(s, title, sizeof(title)), &svg);
	st = svg.failed ? FAIL(err, ERR_MEMORY, "no memory to draw the pipeline")
			: file_write_whole(path, svg.data, svg.len, err);
	text_release(&svg);
	return st;
}

static enum status show(const struct plan *p, const struct plan_settings *o, struct error *err)
{
	struct json json;
	enum status st = OK;

	json_init(&json, true);
	if (o->as_json)
		plan_put(&json, p, o->sensitivity);
	else
		plan_text_add(&json.text, p, o);
	if (json.text.failed)
		st = FAIL(err, ERR_MEMORY, "no memory to show what was found");
	else
		fputs(json.text.data, stdout);
	json_release(&json);
	return st;
}

static struct search_space space_of(const struct plan_settings *o, const struct cluster *c)
{
	struct search_space space;

	search_space_init(&space);
	space.setup = o->setup;
	space.setup.model = (enum setup_model)o->model;
	space.top = o->top;
	space.schedule = o->schedule - 1;
	space.recompute = o->recompute - 1;
	space.spread = o->spread - 1;
	space.zero = o->zero - 1;
	space.memory = o->memory ? (double)o->memory : c->constants[CLUSTER_MEMORY] * GIB;
	return space;
}

enum status plan_search(const struct plan_settings *o, struct error *err)
{
	struct search_space space;
	struct cluster cluster;
	struct plan *p = NULL;
	enum status st;

	TRY(cluster_find(&cluster, o->cluster, err));
	TRY(cluster_set(&cluster, o->set, err));
	space = space_of(o, &cluster);
	TRY(plan_create(&p, &space, &cluster, o->pareto == PLAN_PARETO_DEVICES || *o->out,
			err));
	if (*o->svg)
		TRY(draw(o->svg, p, err));
	if (*o->out)
		TRY(plan_files_write(p, o->out, err));
	TRY(show(p, o, err));
out:
	plan_free(p);
	return st;
}
