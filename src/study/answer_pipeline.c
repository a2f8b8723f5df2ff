/* answer_pipeline.c - answers about layers on several devices and schedules; see answer.h */
#include "study/answer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void answer_linear(const struct inquiry *q, struct answer *a)
{
	const char *x = inquiry_text(q, "x", "depth"), *y = inquiry_text(q, "y", "step_ms");
	static struct points p;
	struct line_fit f;
	int last;

	points_take(&p, q, x, y);
	f = fit_line(p.x, p.y, p.count);
	last = p.count - 1;
	if (!f.ok || p.count < 3) {
		say_unsupported(a, "Inconclusive: it takes three values of %s.", x);
		return;
	}
	say(a,
	    "from %s %.0f to %.0f the step grows from %.3g to %.3g ms, %.2f-fold for %.2f times the "
	    "%s: a line of %.3g ms + %.3g ms each (R² %.3f).",
	    x, p.x[0], p.x[last], p.y[0], p.y[last], p.y[last] / p.y[0], p.x[last] / p.x[0], x,
	    f.offset, f.slope, f.r2);
	if (f.r2 < 0.95)
		say_unsupported(a, " That is too far from a line to call it linear.");
	else if (fabs(f.offset) < 0.15 * p.y[last])
		say(a, " The time is proportional to the %s.", x);
	else
		say(a, " %.0f %% of the longest step do not depend on the %s.",
		    100 * f.offset / p.y[last], x);
}

void answer_busy(const struct inquiry *q, struct answer *a)
{
	const char *axis = inquiry_text(q, "axis", "schedule");
	bool any = false, all = true;
	char text[64];

	for (int i = 0; i < q->count; i++) {
		double busy = inquiry_value(q, q->rows[i], "busy_devices");
		double ranks = inquiry_value(q, q->rows[i], "ranks");

		if (isnan(busy))
			continue;
		row_text(q->results, q->rows[i], axis, text, sizeof(text));
		say(a,
		    "%s%s on %.0f devices: %.2f busy at once on average (%.0f %% of each device's "
		    "time)",
		    any ? "; " : "", text, ranks, busy, 100 * busy / ranks);
		any = true;
		all = all && busy > 0.9 * ranks;
	}
	if (!any) {
		say_unsupported(a, "Inconclusive: how busy the devices are was not measured.");
		return;
	}
	say(a,
	    all ? ". All devices are busy nearly all of the time."
		: ". They are not all busy at once: a device has nothing to do until the one "
		  "before it (forward) or behind it (backward) is done with a micro-batch.");
}

void answer_transfers(const struct inquiry *q, struct answer *a)
{
	static struct points p;
	bool one_less = true;
	double comm, mean;

	points_take(&p, q, inquiry_text(q, "x", "devices"), "transfers");
	if (p.count < 2) {
		say_unsupported(a, "Inconclusive: it takes runs on two numbers of devices.");
		return;
	}
	for (int i = 0; i < p.count; i++) {
		say(a, "%s%.0f device%s: %.0f transfer%s of ", i ? "; " : "", p.x[i],
		    p.x[i] == 1 ? "" : "s", p.y[i], p.y[i] == 1 ? "" : "s");
		say_value(a, q, p.rows[i], "transfer_bytes");
		say(a, " in all per micro-batch and forward pass");
		comm = inquiry_value(q, p.rows[i], "comm_ms");
		mean = inquiry_value(q, p.rows[i], "step_mean_ms");
		if (!isnan(comm))
			say(a, ", %.0f %% of the step are exposed communication",
			    100 * comm / mean);
		one_less = one_less && p.y[i] == p.x[i] - 1;
	}
	say(a,
	    one_less
		    ? ". There is one transfer less than devices, each of the same size: what is "
		      "moved grows with the number of devices minus one."
		    : ". That is not one transfer less than devices.");
	if (!one_less)
		a->supported = false;
}

/* How many layers the ranges "0-3 | 4,6" name, and whether each is named once. */
static int count_layers(const char *text, bool *once)
{
	bool seen[1024] = {false};
	int n = 0;

	*once = true;
	while (*text) {
		char *end;
		long first, last;

		if (*text < '0' || *text > '9') {
			text++;
			continue;
		}
		first = last = strtol(text, &end, 10);
		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		for (long i = first; i <= last && i >= 0 && i < 1024; i++, n++) {
			*once = *once && !seen[i];
			seen[i] = true;
		}
		text = end;
	}
	for (int i = 0; i < n && i < 1024; i++)
		*once = *once && seen[i];
	return n;
}

void answer_layers(const struct inquiry *q, struct answer *a)
{
	char text[512];
	bool all = true, any = false;

	for (int i = 0; i < q->count; i++) {
		bool once;
		int n;

		row_text(q->results, q->rows[i], "layers", text, sizeof(text));
		/* The same placement is said once. */
		if (!*text || inquiry_find(q, "layers", text) != q->rows[i])
			continue;
		n = count_layers(text, &once);
		all = all && once;
		say(a, "%s%d layers on %.0f devices: %s", any ? "; " : "", n,
		    inquiry_value(q, q->rows[i], "ranks"), text);
		any = true;
	}
	if (!any)
		say_unsupported(a, "Inconclusive: the runs don't say who has which layer.");
	else if (all)
		say(a,
		    ". Every layer is there exactly once; data crosses where the next device's "
		    "layers begin.");
	else
		say_unsupported(a, ". A layer is missing or there twice.");
}

void answer_largest_batch(const struct inquiry *q, struct answer *a)
{
	const char *axis = inquiry_text(q, "axis", "precision");
	const struct row *base = inquiry_find(q, axis, inquiry_text(q, "baseline", "fp32"));
	bool any = false, confirmed = true;
	char text[64];

	for (int i = 0; base && i < q->count; i++) {
		double batch = inquiry_value(q, q->rows[i], "max_batch");

		row_text(q->results, q->rows[i], axis, text, sizeof(text));
		if (isnan(batch))
			continue;
		say(a, "%sin %s %.0f samples fit ", any ? "; " : "", text, batch);
		say_value(a, q, q->rows[i], "limit_bytes");
		if (q->rows[i] != base)
			say(a, ", %.2f times as many",
			    batch / inquiry_value(q, base, "max_batch"));
		confirmed = confirmed && inquiry_value(q, q->rows[i], "confirmed") == 1;
		any = true;
	}
	if (!any)
		say_unsupported(a, "Inconclusive: no largest batch was found.");
	else if (confirmed)
		say(a,
		    ". Each was confirmed by a step of it and by the refusal of the next size.");
	else
		say_unsupported(a, ". Running did not confirm all of them.");
}

void answer_schedules(const struct inquiry *q, struct answer *a)
{
	static struct points p;
	double off = 0;
	char text[64];

	points_take(&p, q, "bubble", inquiry_text(q, "y", "theory"));
	if (!p.count) {
		say_unsupported(a, "Inconclusive: bubbles were not measured.");
		return;
	}
	for (int i = 0; i < p.count; i++) {
		double predicted = inquiry_value(q, p.rows[i], "predicted_bubble");

		row_text(q->results, p.rows[i], inquiry_text(q, "axis", "schedule"), text,
			 sizeof(text));
		say(a,
		    "%s%s %.1f %% (theory for equal stages %.1f %%, simulated with the cost of "
		    "these stages %.1f %%; activations ",
		    i ? ", " : "", text, 100 * p.x[i], 100 * p.y[i], 100 * predicted);
		say_value(a, q, p.rows[i], "activations_bytes");
		say(a, ")");
		off = fmax(off, fabs(p.x[i] - predicted));
	}
	say(a, ". Measured and simulated bubbles differ by at most %.1f points.", 100 * off);
	if (off > 0.02)
		say_unsupported(a, " That is too much to call theory confirmed.");
}

/* The row with most of a column, against a baseline. */
void answer_best(const struct inquiry *q, struct answer *a)
{
	const char *y = inquiry_text(q, "y", "samples_per_s");
	const char *axis = inquiry_text(q, "axis", "variant");
	const struct row *base = inquiry_find(q, axis, inquiry_text(q, "baseline", ""));
	const struct row *best = NULL;
	enum verdict verdict;
	char text[64];

	for (int i = 0; i < q->count; i++)
		if (!best || inquiry_value(q, q->rows[i], y) > inquiry_value(q, best, y))
			best = q->rows[i];
	if (!base || !best || isnan(inquiry_value(q, best, y))) {
		say_unsupported(a, "Inconclusive: there is nothing to compare.");
		return;
	}
	row_text(q->results, best, axis, text, sizeof(text));
	verdict = compare(inquiry_measured(q, best, y), inquiry_measured(q, base, y));
	say(a, "%s reaches most, ", text);
	say_value(a, q, best, y);
	say(a, ", %.2f times %s (", inquiry_value(q, best, y) / inquiry_value(q, base, y),
	    inquiry_text(q, "baseline", ""));
	say_value(a, q, base, y);
	say(a, ").");
	if (best != base && verdict != HIGHER)
		say_unsupported(a, " The spread of the runs is larger than that difference.");
	else if (best == base)
		say(a, " Nothing else is faster here.");
}
