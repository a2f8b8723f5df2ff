/* answer_scaling.c - answers about more ranks and larger batches; see answer.h */
#include "study/answer.h"
#include "base/util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where time beyond the ideal went. */
struct part {
	const char *name;
	double ms;
};

static int by_size(const void *a, const void *b)
{
	double x = ((const struct part *)a)->ms, y = ((const struct part *)b)->ms;

	return (x < y) - (x > y);
}

/* "Of the 1.20 ms beyond the ideal, 0.80 ms are exposed communication, ..." */
static void say_losses(const struct inquiry *q, const struct row *one, const struct row *row,
		       double factor, struct answer *a)
{
	struct part parts[] = {
		{"compute that did not shrink with the ranks",
		 inquiry_value(q, row, "compute_ms") -
			 inquiry_value(q, one, "compute_ms") / factor},
		{"exposed communication", inquiry_value(q, row, "comm_ms")},
		{"bubble", inquiry_value(q, row, "bubble_ms")},
		{"waiting for slower ranks", inquiry_value(q, row, "imbalance_ms")},
		{"overhead that did not shrink with the ranks",
		 inquiry_value(q, row, "other_ms") -
			 inquiry_value(q, one, "other_ms") / factor},
	};
	double beyond = inquiry_value(q, row, "step_mean_ms") -
			inquiry_value(q, one, "step_mean_ms") / factor;
	bool first = true;

	if (isnan(parts[1].ms) || isnan(beyond)) {
		say_unsupported(a, " The runs have no breakdown that would tell why.");
		return;
	}
	qsort(parts, ARRAY_SIZE(parts), sizeof(parts[0]), by_size);
	say(a, " Of the mean step there, %.3g ms are beyond the ideal:", beyond);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i].ms > 0.05 * beyond && parts[i].ms > 0) {
			say(a, "%s %.3g ms %s", first ? "" : ",", parts[i].ms, parts[i].name);
			first = false;
		}
	say(a, first ? " no part stands out." : ".");
}

static void say_shared_cores(const struct inquiry *q, const struct row *row, struct answer *a)
{
	if (inquiry_value(q, row, "oversubscribed") == 1)
		say(a,
		    " %.0f ranks share %.0f cores there, so a speed-up beyond %.0f can't be seen.",
		    inquiry_value(q, row, "ranks"), inquiry_value(q, row, "cores"),
		    inquiry_value(q, row, "cores"));
}

static void say_karp_flatt(const struct points *p, struct answer *a)
{
	double first = NAN, last = NAN;

	if (p->x[0] != 1 || p->count < 3)
		return;
	say(a, " The serial fraction after Karp and Flatt is");
	for (int i = 1; i < p->count; i++) {
		last = karp_flatt(p->y[0] / p->y[i], p->x[i]);
		first = i == 1 ? last : first;
		say(a, "%s %.3f on %.0f",
		    i == 1		? ""
		    : i == p->count - 1 ? " and"
					: ",",
		    last, p->x[i]);
	}
	if (last > first + 0.02)
		say(a, ": it grows, so what is lost is overhead that grows with the ranks.");
	else if (last < first - 0.02)
		say(a, ": it falls, so what is lost is not paid again for every rank.");
	else
		say(a, ": it stays, as a fixed serial part would have it.");
}

static void say_amdahl(const struct points *p, struct answer *a)
{
	struct amdahl fit = fit_amdahl(p->x, p->y, p->count);

	if (!fit.ok || p->count < 3)
		return;
	if (fit.serial <= 0)
		say(a, " Amdahl's law fits with no serial part (R² %.3f).", fit.r2);
	else
		say(a,
		    " Amdahl's law fits with %.3g ms serial, %.1f %% of one rank's step "
		    "(R² %.3f), which limits the speed-up to %.3g.",
		    fit.serial, 100 * fit.fraction, fit.r2, amdahl_limit(fit.fraction));
}

/* Between which points efficiency falls most; 0: nowhere beyond the noise. */
static int largest_drop(const struct inquiry *q, const struct points *p)
{
	double before = 1, most = 0.02;
	int at = 0;

	for (int i = 1; i < p->count; i++) {
		double ideal = p->y[0] * p->x[0] / p->x[i], efficiency = ideal / p->y[i];
		struct measured own = inquiry_measured(q, p->rows[i], "step_ms");
		struct measured wanted = inquiry_measured(q, p->rows[0], "step_ms");

		wanted.value = ideal;
		wanted.spread *= p->x[0] / p->x[i];
		if (before - efficiency > most && compare(own, wanted) == HIGHER) {
			most = before - efficiency;
			at = i;
		}
		before = efficiency;
	}
	return at;
}

void answer_scaling(const struct inquiry *q, struct answer *a)
{
	static struct points p;
	int last, drop;

	points_take(&p, q, inquiry_text(q, "x", "ranks"), "step_ms");
	if (p.count < 2) {
		say_unsupported(a,
				"Inconclusive: it takes runs on two numbers of ranks to tell.");
		return;
	}
	last = p.count - 1;
	say(a,
	    "the step takes %.3g ms on %.0f rank%s and %.3g ms on %.0f: speed-up %.2f, efficiency "
	    "%.0f %%.",
	    p.y[0], p.x[0], p.x[0] == 1 ? "" : "s", p.y[last], p.x[last], p.y[0] / p.y[last],
	    100 * p.y[0] * p.x[0] / p.x[last] / p.y[last]);
	drop = largest_drop(q, &p);
	if (!drop) {
		say(a,
		    " Efficiency drops nowhere beyond the spread of the runs: it scales linearly.");
		return;
	}
	say(a, " Efficiency drops most from %.0f to %.0f ranks, from %.0f to %.0f %%.",
	    p.x[drop - 1], p.x[drop], 100 * p.y[0] * p.x[0] / p.x[drop - 1] / p.y[drop - 1],
	    100 * p.y[0] * p.x[0] / p.x[drop] / p.y[drop]);
	say_shared_cores(q, p.rows[drop], a);
	say_losses(q, p.rows[0], p.rows[drop], p.x[drop] / p.x[0], a);
	if (p.y[last] >= p.y[0]) {
		say(a, " More ranks make the step no faster here.");
		return;
	}
	say_karp_flatt(&p, a);
	say_amdahl(&p, a);
}

void answer_bound(const struct inquiry *q, struct answer *a)
{
	static struct points p;
	double compute, comm, mean, first_compute;
	const char *by;
	int last, crossed = -1;

	points_take(&p, q, inquiry_text(q, "x", "ranks"), "comm_ms");
	if (!p.count) {
		say_unsupported(a, "Inconclusive: the runs have no breakdown of the step.");
		return;
	}
	last = p.count - 1;
	compute = inquiry_value(q, p.rows[last], "compute_ms");
	first_compute = inquiry_value(q, p.rows[0], "compute_ms") * p.x[0];
	comm = p.y[last];
	mean = inquiry_value(q, p.rows[last], "step_mean_ms");
	by = comm > compute ? "communication" : "compute";
	say(a,
	    "on %.0f ranks compute takes %.3g ms (%.0f %% of the step) and exposed communication "
	    "%.3g ms (%.0f %%): it is bound by %s.",
	    p.x[last], compute, 100 * compute / mean, comm, 100 * comm / mean, by);
	for (int i = last; i >= 0; i--)
		if (p.y[i] > inquiry_value(q, p.rows[i], "compute_ms"))
			crossed = i;
	if (crossed >= 0)
		say(a, " Communication is the bottleneck from %.0f ranks on.", p.x[crossed]);
	else if (comm > 0.02 * mean && first_compute / comm > p.x[last])
		say(a,
		    " Communication would take as long as compute on about %.0f ranks, if it "
		    "stayed as long while compute is shared by more.",
		    first_compute / comm);
	else
		say(a, " Communication is hidden behind compute here; when it would become the "
		       "bottleneck can't be told from these runs.");
	say_shared_cores(q, p.rows[last], a);
}

void answer_roofline(const struct inquiry *q, struct answer *a)
{
	static struct points p;
	bool any = false;

	points_take(&p, q, inquiry_text(q, "x", "batch"), "gflops");
	for (int i = 0; i < p.count; i++) {
		const struct run_case *c = p.rows[i]->run_case;
		const json_t *dp = json_object_get(c->options, "dp");
		double rows = inquiry_value(q, p.rows[i], "batch") /
			      inquiry_value(q, p.rows[i], "micro_batches") /
			      (json_is_integer(dp) ? json_number_value(dp) : 1);
		struct roof roof = roofline(c->gflops, c->memory_gb_per_s, rows / 2);

		if (!(c->gflops > 0))
			continue;
		say(a,
		    "%s%s %.0f: %.0f rows per product are %.3g FLOP per byte of weights, bound "
		    "by %s (the ridge is at %.3g), and each rank reaches %.3g of %.3g GFLOP/s",
		    any ? "; " : "", inquiry_text(q, "x", "batch"), p.x[i], rows, rows / 2,
		    roof.memory_bound ? "memory" : "arithmetic", roof.ridge,
		    p.y[i] / inquiry_value(q, p.rows[i], "ranks"), roof.gflops);
		any = true;
	}
	if (any)
		say(a, ".");
	else
		say_unsupported(a, "Inconclusive: no peaks were measured for these rows.");
}

/* The fit of one value of the axis, and that value in ms. */
static struct amdahl fit_of(const struct inquiry *q, const char *axis, double value)
{
	static struct inquiry part;
	static struct points p;

	part = (struct inquiry){.results = q->results, .question = q->question};
	for (int i = 0; i < q->count; i++)
		if (inquiry_value(q, q->rows[i], axis) == value)
			part.rows[part.count++] = q->rows[i];
	points_take(&p, &part, inquiry_text(q, "x", "ranks"), "step_ms");
	return fit_amdahl(p.x, p.y, p.count);
}

void answer_delay(const struct inquiry *q, struct answer *a)
{
	const char *axis = inquiry_text(q, "axis", "delay");
	double delay = 0, found;
	struct amdahl without, with;

	for (int i = 0; i < q->count; i++)
		delay = fmax(delay, inquiry_value(q, q->rows[i], axis));
	without = fit_of(q, axis, 0);
	with = fit_of(q, axis, delay);
	if (!without.ok || !with.ok || !(delay > 0)) {
		say_unsupported(a,
				"Inconclusive: more ranks don't make the step faster here, so "
				"there is no parallel part to tell the serial one from.");
		return;
	}
	found = with.serial - fmax(without.serial, 0);
	say(a,
	    "Amdahl's law (time = serial + parallel / ranks) fits with %.3g ms serial without the "
	    "delay and %.3g ms with it: %.3g ms more, where %.3g ms were put in (%.0f %% off; R² "
	    "%.3f).",
	    fmax(without.serial, 0), with.serial, found, delay, 100 * fabs(found / delay - 1),
	    with.r2);
	if (fabs(found / delay - 1) > 0.15) {
		say_unsupported(a, " That is too far off to call the delay a serial part.");
		return;
	}
	say(a,
	    " Every rank waits at the same time, so the delay is a serial part however many ranks "
	    "there are: its fraction grows from %.1f to %.1f %% of one rank's step, and the "
	    "speed-up can't exceed %.3g.",
	    100 * fmax(without.fraction, 0), 100 * with.fraction, amdahl_limit(with.fraction));
}

void answer_saturation(const struct inquiry *q, struct answer *a)
{
	static struct points p;
	struct saturation s;
	int last;

	points_take(&p, q, inquiry_text(q, "x", "batch"), "step_ms");
	s = fit_saturation(p.x, p.y, p.count, 0.9);
	if (!s.ok) {
		say_unsupported(
			a, "Inconclusive: it takes three batch sizes, and a step that grows "
			   "with them, to tell.");
		return;
	}
	last = p.count - 1;
	say(a,
	    "throughput goes from %.0f samples/s at batch %.0f to %.0f at %.0f. A line through the "
	    "steps is %.3g ms + %.3g µs per sample (R² %.3f)",
	    1e3 * p.x[0] / p.y[0], p.x[0], 1e3 * p.x[last] / p.y[last], p.x[last], s.fixed,
	    1e3 * s.per_sample, s.r2);
	if (s.r2 < 0.9) {
		say_unsupported(a, ", too far from them to say where it saturates.");
		return;
	}
	if (s.fixed <= 0) {
		say(a,
		    ": there is no fixed part that a larger batch would spread, so it is saturated "
		    "at batch %.0f already.",
		    p.x[0]);
		return;
	}
	say(a, ", so it would end at %.0f samples/s.", 1e3 / s.per_sample);
	if (isnan(s.reached))
		say(a,
		    " None of these batches reaches 90 %% of that: it is not saturated; what a "
		    "step costs whatever its batch weighs as much as %.0f samples.",
		    s.half);
	else
		say(a,
		    " Batch %.0f is the first with 90 %% of that: it is saturated from there on.",
		    s.reached);
}
