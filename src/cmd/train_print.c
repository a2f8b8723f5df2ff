/* train_print.c - what a run says of its steps, and when it ends; see training.h */
#include "base/log.h"
#include "cmd/training.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

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

	if (s->planned_ms > 0)
		log_info("planned step %.3f ms, for which this grid was chosen: %s %+.1f %%",
			 s->planned_ms,
			 strncmp(s->config->device, "virtual", 7) ? "measured" : "simulated",
			 (median / s->planned_ms - 1) * 100);
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
			 peak, converted ? ", since the device is not known to multiply " : "",
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
	log_info("median step %.3f ms (mean %.3f, stdev %.3f) over %d step%s: %.1f %s/s, "
		 "%.1f GFLOP/s",
		 ms.median, ms.mean, ms.stdev, ms.count, ms.count == 1 ? "" : "s",
		 s->language ? run_tokens_per_s(s) : run_samples_per_s(s),
		 s->language ? "tokens" : "samples", run_gflops(s));
	print_share(s);
	print_breakdown(s);
	if (s->saved)
		log_info(
			"%d checkpoint%s: the steps were held up by %.1f ms, the rest was written "
			"beside them",
			s->saved, s->saved == 1 ? "" : "s", s->saving_ms);
	if (s->weights_sha256)
		log_info("weights: sha256 %s", s->weights_sha256);
	if (s->metrics->skipped)
		log_info("%d of %d steps skipped: their gradients were not finite",
			 s->metrics->skipped, n);
	print_best(s);
	if (s->evaluation)
		print_evaluation(s->evaluation);
}
