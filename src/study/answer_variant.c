/* answer_variant.c - answers that put variants of a run side by side; see answer.h */
#include "study/answer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* "1.24 × (slower)", or that it can't be told apart. */
static void say_ratio(const struct inquiry *q, const struct row *row, const struct row *base,
		      const char *key, const char *higher, const char *lower, struct answer *a)
{
	struct measured own = inquiry_measured(q, row, key);
	struct measured other = inquiry_measured(q, base, key);

	switch (compare(own, other)) {
	case HIGHER:
		say(a, "%.2f times (%s)", own.value / other.value, higher);
		break;
	case LOWER:
		say(a, "%.2f times (%s)", own.value / other.value, lower);
		break;
	case SAME:
		say(a, "%.2f times (no difference beyond the spread of the runs)",
		    own.value / other.value);
		break;
	default:
		say(a, "an unknown multiple of");
	}
}

void answer_imbalance(const struct inquiry *q, struct answer *a)
{
	const char *axis = inquiry_text(q, "axis", "sleep");
	const struct row *without = NULL, *with = NULL;
	double sleep, grown, waited;

	for (int i = 0; i < q->count; i++) {
		double value = inquiry_value(q, q->rows[i], axis);

		if (value == 0)
			without = q->rows[i];
		else if (!with || value > inquiry_value(q, with, axis))
			with = q->rows[i];
	}
	if (!without || !with) {
		say_unsupported(a,
				"Inconclusive: it takes a run with and one without the sleep.");
		return;
	}
	sleep = inquiry_value(q, with, axis);
	grown = inquiry_value(q, with, "step_ms") - inquiry_value(q, without, "step_ms");
	waited = inquiry_value(q, with, "imbalance_ms");
	say(a,
	    "rank 0 alone sleeps %.3g ms, and the step of all %.0f ranks grows from %.3g to %.3g "
	    "ms, by %.3g ms (%.0f %% of the sleep).",
	    sleep, inquiry_value(q, with, "ranks"), inquiry_value(q, without, "step_ms"),
	    inquiry_value(q, with, "step_ms"), grown, 100 * grown / sleep);
	if (compare(inquiry_measured(q, with, "step_ms"),
		    inquiry_measured(q, without, "step_ms")) != HIGHER) {
		say_unsupported(a, " That is within the spread of the runs.");
		return;
	}
	if (fabs(grown / sleep - 1) > 0.15) {
		say_unsupported(
			a, " That is not the sleep itself: these runs are too noisy, or the "
			   "sleep covers waiting that was there anyway.");
		return;
	}
	say(a,
	    " Gradients are summed over all ranks in every step, so nobody ends a step before the "
	    "slowest one: synchronous training runs at the pace of its slowest rank.");
	if (!isnan(waited))
		say(a,
		    " On average a rank waits %.3g ms per step for a slower one (%.3g ms without "
		    "the sleep), and is busy %.0f %% of the time instead of %.0f %%.",
		    waited, inquiry_value(q, without, "imbalance_ms"),
		    100 * inquiry_value(q, with, "utilization"),
		    100 * inquiry_value(q, without, "utilization"));
}

static void say_bottleneck(const struct inquiry *q, const struct row *master,
			   const struct row *ddp, struct answer *a)
{
	double own = inquiry_value(q, master, "utilization_0");
	double least = inquiry_value(q, master, "utilization_min");
	double memory = inquiry_value(q, master, "peak_bytes_0");
	double others = inquiry_value(q, master, "peak_bytes_min");

	if (memory > 1.02 * others) {
		say(a, " Rank 0 takes ");
		say_value(a, q, master, "peak_bytes_0");
		say(a, ", the others as little as ");
		say_value(a, q, master, "peak_bytes_min");
		say(a, " (with DDP all take ");
		say_value(a, q, ddp, "peak_bytes");
		say(a, ").");
	}
	if (isnan(own))
		say_unsupported(a, " How busy the ranks are was not measured.");
	else if (own > least + 0.05)
		say(a,
		    " Rank 0 is busy %.0f %% of the step, the least busy rank %.0f %%: the others "
		    "wait for rank 0, which is the bottleneck. With DDP all are busy between "
		    "%.0f and %.0f %%.",
		    100 * own, 100 * least, 100 * inquiry_value(q, ddp, "utilization_min"),
		    100 * inquiry_value(q, ddp, "utilization_max"));
	else
		say_unsupported(
			a,
			" Rank 0 is busy %.0f %% of the step, the least busy rank %.0f %%: "
			"a bottleneck on rank 0 does not show here.",
			100 * own, 100 * least);
}

void answer_master(const struct inquiry *q, struct answer *a)
{
	const char *axis = inquiry_text(q, "axis", "sync");
	static struct points p;
	const struct row *master = NULL, *ddp = NULL;
	char text[64];

	/* Of the most ranks that both have run on. */
	points_take(&p, q, "ranks", "step_ms");
	for (int i = 0; i < p.count; i++) {
		row_text(q->results, p.rows[i], axis, text, sizeof(text));
		if (!strcmp(text, "master"))
			master = p.rows[i];
		else if (!strcmp(text, "ddp"))
			ddp = p.rows[i];
	}
	if (!master || !ddp ||
	    inquiry_value(q, master, "ranks") != inquiry_value(q, ddp, "ranks")) {
		say_unsupported(a, "Inconclusive: it takes a run of each on the same ranks.");
		return;
	}
	say(a, "on %.0f ranks a step of DataParallel takes ", inquiry_value(q, ddp, "ranks"));
	say_ratio(q, master, ddp, "step_ms", "slower", "faster", a);
	say(a,
	    " that of DDP (%.3g against %.3g ms), and varies by %.3f ms from step to step "
	    "against %.3f.",
	    inquiry_value(q, master, "step_ms"), inquiry_value(q, ddp, "step_ms"),
	    inquiry_value(q, master, "step_stdev_ms"), inquiry_value(q, ddp, "step_stdev_ms"));
	say_bottleneck(q, master, ddp, a);
}

void answer_accumulation(const struct inquiry *q, struct answer *a)
{
	static struct points p;
	double first, last_sum, per_step[2], memory[2];
	int last;

	points_take(&p, q, inquiry_text(q, "x", "micro_batches"), "step_ms");
	last = p.count - 1;
	if (p.count < 2) {
		say_unsupported(a, "Inconclusive: it takes two numbers of micro-batches.");
		return;
	}
	for (int i = 0; i < 2; i++) {
		const struct row *row = p.rows[i ? last : 0];

		per_step[i] = inquiry_value(q, row, "collective_bytes") /
			      inquiry_value(q, row, "steps");
		memory[i] = inquiry_value(q, row, "peak_bytes");
	}
	first = p.y[0] / p.x[0];
	last_sum = p.y[last] / p.x[last];
	say(a,
	    "from %.0f to %.0f micro-batches per step a micro-batch takes %.3g and %.3g ms, and a "
	    "rank sums %.4g and %.4g MB per step",
	    p.x[0], p.x[last], first, last_sum, per_step[0] * 1e-6, per_step[1] * 1e-6);
	if (fabs(per_step[1] - per_step[0]) < 0.01 * per_step[0])
		say(a,
		    ": gradients are synchronised once per step, so each micro-batch pays %.2g "
		    "of that instead of %.2g.",
		    1 / p.x[last], 1 / p.x[0]);
	else
		say_unsupported(a, ": that is not once per step.");
	say(a, " Memory is ");
	say_value(a, q, p.rows[0], "peak_bytes");
	say(a, " and ");
	say_value(a, q, p.rows[last], "peak_bytes");
	if (memory[1] < 1.02 * memory[0])
		say(a,
		    ": the effective batch grows %.0f-fold, the memory does not, since only one "
		    "micro-batch's activations are alive.",
		    p.x[last] / p.x[0]);
	else if (inquiry_value(q, p.rows[0], "activations_bytes") ==
		 inquiry_value(q, p.rows[last], "activations_bytes"))
		say(a,
		    ": activations stay as they are, since only one micro-batch's are alive; what "
		    "grows %.0f-fold with the effective batch are its inputs and targets.",
		    p.x[last] / p.x[0]);
	else
		say(a, ": %.2f times for %.0f times the effective batch.",
		    memory[1] / memory[0], p.x[last] / p.x[0]);
}

/* Every value of the axis against the one that "baseline" names. */
void answer_variants(const struct inquiry *q, struct answer *a)
{
	const char *axis = inquiry_text(q, "axis", "variant");
	const char *name = inquiry_text(q, "baseline", "");
	const struct row *base = inquiry_find(q, axis, name);
	bool any = false;
	char text[64];

	for (int i = 0; base && i < q->count; i++) {
		const struct row *row = q->rows[i];

		row_text(q->results, row, axis, text, sizeof(text));
		if (!strcmp(text, name) || !*text)
			continue;
		say(a, "%s%s takes per step ", any ? "; " : "", text);
		say_ratio(q, row, base, inquiry_text(q, "y", "step_ms"), "slower", "faster", a);
		say(a,
		    " what %s takes (%.3g against %.3g ms) and %.2f times its memory, of which "
		    "activations %.2f times",
		    name, inquiry_value(q, row, inquiry_text(q, "y", "step_ms")),
		    inquiry_value(q, base, inquiry_text(q, "y", "step_ms")),
		    inquiry_value(q, row, "peak_bytes") / inquiry_value(q, base, "peak_bytes"),
		    inquiry_value(q, row, "activations_bytes") /
			    inquiry_value(q, base, "activations_bytes"));
		any = true;
	}
	if (any)
		say(a, ".");
	else
		say_unsupported(a, "Inconclusive: there is nothing to compare with %s.", name);
}

void answer_stability(const struct inquiry *q, struct answer *a)
{
	double skipped = 0, bad = 0, steps = 0, low = INFINITY, high = 0, least = INFINITY,
	       most = 0;

	for (int i = 0; i < q->count; i++) {
		const struct row *row = q->rows[i];
		double scale = inquiry_value(q, row, "loss_scale");
		double loss = inquiry_value(q, row, "final_loss");

		skipped += inquiry_value(q, row, "skipped_steps");
		bad += inquiry_value(q, row, "nonfinite_losses");
		steps += inquiry_value(q, row, "steps");
		if (scale > 1) {
			low = fmin(low, scale);
			high = fmax(high, scale);
		}
		least = fmin(least, loss);
		most = fmax(most, loss);
	}
	if (!(steps > 0)) {
		say_unsupported(a, "Inconclusive: no step was made.");
		return;
	}
	say(a,
	    "of %.0f steps %.0f were skipped because a gradient was not finite, and %.0f had a loss "
	    "that is NaN or Inf.",
	    steps, skipped, bad);
	if (high > 0)
		say(a, " The loss scale ended between %.0f and %.0f.", low, high);
	say(a, " Final losses lie between %.5g and %.5g, %.2g %% apart.", least, most,
	    100 * (most / least - 1));
	if (skipped + bad == 0)
		say(a, " Nothing unstable shows.");
}

/* Runs of the same batch cut differently. */
void answer_effective_batch(const struct inquiry *q, struct answer *a)
{
	static struct points p;
	double low = INFINITY, high = -INFINITY, dp;
	const json_t *option;
	int last;

	points_take(&p, q, inquiry_text(q, "x", "micro_batches"), "final_loss");
	last = p.count - 1;
	if (p.count < 2) {
		say_unsupported(a, "Inconclusive: it takes one batch cut in two ways.");
		return;
	}
	for (int i = 0; i < p.count; i++) {
		low = fmin(low, p.y[i]);
		high = fmax(high, p.y[i]);
	}
	option = json_object_get(p.rows[last]->run_case->options, "dp");
	dp = json_is_integer(option) ? json_number_value(option) : 1;
	say(a,
	    "the effective batch is ranks × micro-batches × samples of each: %.0f × %.0f × %.0f = "
	    "%.0f.",
	    dp, p.x[last], inquiry_value(q, p.rows[last], "batch") / dp / p.x[last],
	    inquiry_value(q, p.rows[last], "batch"));
	if (high - low > 1e-3 * fabs(low)) {
		say_unsupported(
			a,
			" Losses of the same batch cut differently lie between %.6g and "
			"%.6g: they do not show that the cut makes no difference.",
			low, high);
		return;
	}
	say(a,
	    " Cut in %.0f or in %.0f micro-batches, the same batch ends at losses that differ by "
	    "%.1g of their value. That is what dividing the loss by ACCUM_STEPS is for: the "
	    "gradients of the micro-batches are added, and only if each is divided by their "
	    "number is the sum the gradient of the mean over the effective batch; undivided it "
	    "would be %.0f times as large, as if the learning rate were.",
	    p.x[0], p.x[last], (high - low) / fabs(low), p.x[last]);
}
