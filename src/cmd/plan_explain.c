/* plan_explain.c - kolm plan --explain: one way to train, taken apart. */
#include "cmd/plan.h"
#include "base/util.h"

enum { COLUMNS = 100, DRAWN_STAGES = 16 };

static const double GIB = 1024.0 * 1024 * 1024;

static void add_share(struct text *out, const char *name, double seconds, double step)
{
	text_addf(out, "  %-26s %12.3f ms %6.1f %%\n", name, seconds * 1e3,
		  seconds / step * 100);
}

/* The line that ends a run, then its parts. */
static void add_step(struct text *out, const struct explained_step *x)
{
	double compute = explained_compute(x), comm = explained_comm(x);

	text_addf(
		out,
		"\nstep %.3f ms, simulated; of a step: compute %.1f %%, exposed communication "
		"%.1f %%, bubble %.1f %%, imbalance %.1f %%, other %.1f %%\n",
		x->step * 1e3, compute / x->step * 100, comm / x->step * 100,
		x->bubble / x->step * 100, x->imbalance / x->step * 100,
		x->other / x->step * 100);
	add_share(out, "products", x->products, x->step);
	add_share(out, "elementwise work", x->elementwise, x->step);
	add_share(out, "waiting for the host", x->host, x->step);
	add_share(out, "optimizer", x->update, x->step);
	add_share(out, "tensor-parallel sums", x->sums, x->step);
	add_share(out, "messages between stages", x->messages, x->step);
	add_share(out, "gradient sums", x->gradients, x->step);
	add_share(out, "bubble", x->bubble, x->step);
	add_share(out, "imbalance of stages", x->imbalance, x->step);
	add_share(out, "once a step, on the host", x->other, x->step);
}

static void add_pass(struct text *out, const char *name, const char *way, const struct cost *p,
		     const struct cluster *c)
{
	double peak = c->constants[CLUSTER_PEAK] * 1e12;

	text_addf(out, "  %-10s %-8s %10.3f %10.3f", name, way, cost_pass(c, p) * 1e3,
		  p->products * 1e3);
	if (p->products > 0)
		text_addf(out, " %5.1f %%", p->flops / p->products / peak * 100);
	else
		text_addf(out, " %7s", "-");
	text_addf(out, " %11.3f %9.3f %8.0f %9.3f\n", (p->busy - p->products) * 1e3,
		  p->sums * 1e3, p->kernels, p->kernels * c->constants[CLUSTER_LAUNCH] * 1e-3);
}

static void add_passes(struct text *out, const struct explanation *e, const struct cluster *c)
{
	text_addf(out, "\nof one micro-batch, in ms:\n  %-19s %10s %10s %7s %11s %9s %8s %9s\n",
		  "", "all", "products", "of peak", "elementwise", "sums", "kernels", "host");
	for (size_t i = 0; i < EXPLAINED_PASSES; i++) {
		add_pass(out, e->passes[i].name, "forward", &e->passes[i].forward, c);
		add_pass(out, "", "backward", &e->passes[i].backward, c);
	}
}

/* Is it like the stage before it? Such are not shown again. */
static bool is_like(const struct explained_stage *x, const struct explained_stage *before)
{
	return x->layers == before->layers && x->parameters == before->parameters &&
	       x->alive == before->alive;
}

static void add_stages(struct text *out, const struct explanation *e)
{
	text_addf(out,
		  "\n%7s %6s %9s %10s %10s %9s %9s %6s %7s = %6s + %6s + %6s + %6s + %6s\n",
		  "stage", "layers", "M params", "forward", "backward", "messages", "idle ms",
		  "alive", "GiB", "params", "grads", "optim.", "activ.", "other");
	for (int i = 0; i < e->timeline.stages; i++) {
		const struct explained_stage *x = &e->stages[i];
		const struct forecast_memory *m = &x->memory;

		if (i > 0 && i + 1 < e->timeline.stages && is_like(x, &e->stages[i - 1]))
			continue;
		text_addf(
			out,
			"%7d %6d %9.1f %10.3f %10.3f %9.3f %9.1f %6.3g %7.2f = %6.2f + %6.2f + %6.2f + %6.2f + %6.2f\n",
			i, x->layers, x->parameters * 1e-6, x->forward * 1e3, x->backward * 1e3,
			x->messages * 1e3, x->idle * 1e3, x->alive,
			forecast_memory_sum(m) / GIB, m->parameters / GIB, m->gradients / GIB,
			m->optimizer / GIB, m->activations / GIB, m->reserved / GIB);
	}
}

void plan_explain_add(struct text *out, const struct plan *p)
{
	const struct explanation *e = &p->first;

	if (!e->stages) {
		text_add(out, "\nIts pipeline is too large to be simulated.\n");
		return;
	}
	add_step(out, &e->step);
	add_passes(out, e, &p->cluster);
	add_stages(out, e);
	if (e->timeline.stages > 1 && e->timeline.stages <= DRAWN_STAGES) {
		text_add(out, "\n");
		timeline_draw_text(&e->timeline, COLUMNS, out);
	}
}
