/* train_print.c - what a run says on standard output and standard error; see training.h */
#include "base/log.h"
#include "base/units.h"
#include "base/version.h"
#include "cmd/training.h"
#include "model/models.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

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

/* "3", or "3, 7, 11": the layers behind which the data goes to another stage. */
static void list_crossings(const struct partition *p, char *buf, size_t size)
{
	int n = 0;

	for (int k = 1; k < p->stages * p->chunks && (size_t)n + 16 < size; k++)
		n += snprintf(buf + n, size - (size_t)n, "%s%d", n ? ", " : "",
			      p->first[k] - 1);
}

static int count_split(const struct model *m, enum tensor_split split)
{
	int n = 0;

	for (int i = 0; i < m->n_tensors; i++)
		n += m->tensors[i].matrix && m->tensors[i].split == split;
	return n;
}

/* Which layers are where, and where the data crosses from one stage to the next. */
static void print_placement(const struct training *t)
{
	const struct partition *p = &t->partition;
	int parts = schedule_parts(&t->schedule), width = t->grid.dp * t->grid.mp;
	char list[256];

	for (int stage = 0; stage < t->grid.pp && t->grid.pp > 1; stage++) {
		int n = 0;

		for (int chunk = 0; chunk < t->schedule.chunks && n < 200; chunk++) {
			int k = schedule_part(&t->schedule, stage, chunk);

			n += snprintf(list + n, sizeof(list) - (size_t)n, "%s%d-%d",
				      n ? ", " : "", p->first[k], p->first[k + 1] - 1);
		}
		log_info("stage %d: layers %s on rank%s %d%s%.0d", stage, list,
			 width > 1 ? "s" : "", stage * width, width > 1 ? "-" : "",
			 width > 1 ? (stage + 1) * width - 1 : 0);
	}
	if (t->grid.pp > 1) {
		list_crossings(p, list, sizeof(list));
		log_info("the data crosses %d time%s per forward pass, behind layer %s",
			 parts - 1, parts > 2 ? "s" : "", list);
	}
	if (t->grid.mp > 1)
		log_info("matrices in %d slices, one per mp rank: %d by their outputs, %d by "
			 "their inputs",
			 t->grid.mp, count_split(&t->model, SPLIT_ROWS),
			 count_split(&t->model, SPLIT_COLUMNS));
}

static void print_course(const struct training *t)
{
	const struct config *c = &t->config;

	if (c->epochs)
		log_info("%d steps: %d epoch%s of %lld samples", c->steps, c->epochs,
			 c->epochs == 1 ? "" : "s", (long long)t->data.train);
	else if (t->data.train)
		log_info("%d steps: %.3g epochs of %lld samples", c->steps,
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
	else if (t->config.threads > r->host_cores)
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

void training_print_heading(const struct training *t)
{
	const struct config *c = &t->config;
	const struct model *m = &t->model;
	char size[32], parameters[32];

	units_format_size(device_memory(t->dev)->total, size, sizeof(size));
	units_format_count(model_parameters(m), parameters, sizeof(parameters));
	if (config_is_language(c))
		log_info("kolm %s: %s, %d layer%s of %d head%s, dim %d, context %d, %d tokens; "
			 "%s parameters; loss %s",
			 KOLM_VERSION, c->model == MODEL_GPT ? "gpt" : "llama", c->layers,
			 c->layers == 1 ? "" : "s", c->heads, c->heads == 1 ? "" : "s", c->dim,
			 c->context, m->out, parameters, t->loss->name);
	else
		log_info("kolm %s: %d layer%s, %d inputs, up to %d wide, %d outputs; %s "
			 "parameters; loss %s",
			 KOLM_VERSION, m->count, m->count == 1 ? "" : "s", m->in,
			 model_widest(m), m->out, parameters, t->loss->name);
	print_data(&t->data);
	print_course(t);
	print_ranks(t);
	print_placement(t);
	log_info("batch %d = %d replica%s x %d micro-batch%s x %d; %s; %s in use%s", c->batch,
		 t->grid.dp, t->grid.dp == 1 ? "" : "s", c->micro_batches,
		 c->micro_batches == 1 ? "" : "es", c->micro_batch_size,
		 device_description(t->dev), size, t->rank->ranks > 1 ? " on rank 0" : "");
	if (*t->precision_reason)
		log_info("precision: %s, %s", precision_names[c->precision],
			 t->precision_reason);
	print_memory(t->dev);
	log_info("run folder: %s", t->run.folder);
}

static void print_held_out(const struct step_metrics *s)
{
	const struct evaluation *e = s->held_out;
	char accuracy[32] = "", text[80];

	if (!isnan(e->accuracy))
		snprintf(accuracy, sizeof(accuracy), "  accuracy %.2f %%", e->accuracy * 100);
	printf("           held-out loss %.6g%s%s%s\n", e->loss,
	       training_format_text(e, "  ", text, sizeof(text)), accuracy,
	       s->is_best ? "  the best so far" : "");
}

enum status training_print_step(struct training *t, const struct step_metrics *s,
				struct error *err)
{
	const struct config *c = &t->config;
	double rows_per_s = c->batch / s->ms * 1e3 * t->data.sequence;
	char loss[32] = "-"; /* virtual devices compute none */
	char lr[32] = "";

	/* A screen shows them; a file or a pipe gets them all the same. */
	if (c->quiet || (t->screen && isatty(STDOUT_FILENO)))
		return OK;
	if (!device_is_virtual(t->dev))
		snprintf(loss, sizeof(loss), "%.6g", s->loss);
	if (!lr_is_constant(&t->lr))
		snprintf(lr, sizeof(lr), "  lr %-9.3g", s->lr);
	if (c->log_format == LOG_JSONL)
		fputs(t->run.line.text.data, stdout);
	else
		printf("step %4d  loss %-10s  grad_norm %-9.4g%s  %9.3f ms  %10.1f %s/s"
		       "  %7.1f GFLOP/s%s\n",
		       s->step, loss, s->grad_norm, lr, s->ms, rows_per_s,
		       s->tokens ? "tokens" : "samples",
		       rows_per_s * model_flops(&t->model) * 1e-9,
		       s->skipped  ? "  skipped: not finite"
		       : s->warmup ? "  (warm-up)"
				   : "");
	if (s->held_out && c->log_format != LOG_JSONL)
		print_held_out(s);
	if (s->breakdown && c->log_format != LOG_JSONL)
		printf("           compute %.3f  exposed %.3f  bubble %.3f  imbalance %.3f  "
		       "other %.3f ms\n",
		       s->breakdown->compute, s->breakdown->comm, s->breakdown->bubble,
		       s->breakdown->imbalance, s->breakdown->other);
	return log_flush_results(err);
}

static void print_prediction(const struct run_summary *s, double median)
{
	const struct prediction_of_step *p = s->predicted;
	char range[64] = "";

	if (!isfinite(p->step_ms))
		return;
	if (p->low_ms < p->high_ms)
		snprintf(range, sizeof(range), " (%.3f to %.3f)", p->low_ms, p->high_ms);
	log_info("predicted step %.3f ms%s%s: %s %+.1f %%", p->step_ms, range,
		 *s->config->inject ? " without what was injected" : "",
		 strncmp(s->config->device, "virtual", 7) ? "measured" : "simulated",
		 (median / p->step_ms - 1) * 100);
	log_verbose("  from %d trial%s of every part, in %.0f ms", p->trials,
		    p->trials == 1 ? "" : "s", p->trials_ms);
}

/* Where the time went, who made others wait, and what was expected. */
static void print_breakdown(const struct run_summary *s)
{
	const struct breakdowns *b = s->breakdowns;
	const struct breakdown *m = &b->mean;
	double median = metrics_step_ms(s->metrics).median, step = m->step > 0 ? m->step : 1;
	char place[64];

	log_info("of a step: compute %.1f %%, exposed communication %.1f %%, bubble %.1f %%, "
		 "imbalance %.1f %%, other %.1f %%",
		 m->compute / step * 100, m->comm / step * 100, m->bubble / step * 100,
		 m->imbalance / step * 100, m->other / step * 100);
	if (b->straggler >= 0) {
		grid_describe(s->grid, b->straggler, place, sizeof(place));
		log_info("the others wait for rank %d (%s): it takes %.3f ms longer than the "
			 "middle rank",
			 b->straggler, place, b->excess_ms);
	}
	for (int i = 0; i < b->n && b->n > 1; i++) {
		const struct breakdown *r = &b->ranks[i];

		log_verbose("  rank %-3d busy %5.1f %%: compute %.3f, exposed communication "
			    "%.3f, bubble %.3f, imbalance %.3f, other %.3f ms",
			    i, r->compute / step * 100, r->compute, r->comm, r->bubble,
			    r->imbalance, r->other);
	}
	print_prediction(s, median);
}

/* Of what the ranks' cores could multiply, where they do that in the same way. */
static void print_share(const struct run_summary *s)
{
	double peak = run_peak_gflops(s), share = run_gflops(s) / peak;
	bool converted = (int)s->ranks[0].peak_type != s->config->precision;
	const char *type = run_peak_type(s);

	if (type && share > 0)
		log_info("that is %.1f %% of the %s peak, %.1f GFLOP/s%s%s", share * 100, type,
			 peak,
			 converted ? ", since there is no instruction that multiplies " : "",
			 converted ? precision_names[s->config->precision] : "");
}

static void print_best(const struct run_summary *s)
{
	int patience = s->config->patience;

	if (s->best)
		log_info("best held-out loss: %.6g, behind step %lld", s->best->loss,
			 (long long)s->best->step);
	if (s->stopped_early)
		log_info(
			"stopped early: %d evaluation%s in a row without a better held-out loss",
			patience, patience == 1 ? "" : "s");
}

static void print_evaluation(const struct evaluation *e)
{
	char accuracy[32] = "", text[80];

	if (!isnan(e->accuracy))
		snprintf(accuracy, sizeof(accuracy), ", accuracy %.2f %%", e->accuracy * 100);
	log_info("held-out: %lld samples, loss %.6g%s%s", (long long)e->samples, e->loss,
		 training_format_text(e, ", ", text, sizeof(text)), accuracy);
}

void training_print_closing(const struct run_summary *s)
{
	struct statistics ms = metrics_step_ms(s->metrics);
	int n = s->metrics->count;

	if (!n)
		return;
	log_info("median step %.3f ms (mean %.3f, stdev %.3f) over %d steps: %.1f %s/s, "
		 "%.1f GFLOP/s",
		 ms.median, ms.mean, ms.stdev, ms.count,
		 s->language ? run_tokens_per_s(s) : run_samples_per_s(s),
		 s->language ? "tokens" : "samples", run_gflops(s));
	print_share(s);
	print_breakdown(s);
	if (s->saved)
		log_info(
			"%d checkpoint%s: the steps were held up by %.1f ms, the rest was written "
			"beside them",
			s->saved, s->saved == 1 ? "" : "s", s->saving_ms);
	if (s->metrics->skipped)
		log_info("%d of %d steps skipped: their gradients were not finite",
			 s->metrics->skipped, n);
	print_best(s);
	if (s->evaluation)
		print_evaluation(s->evaluation);
}
