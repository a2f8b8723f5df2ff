/* run_curves.c - what was measured of every step of a run, as curves; see run_result.h */
#include "report/run_result.h"
#include "base/util.h"

#include <math.h>
#include <string.h>

/* What a curve shows of every step that has it, by its offset in struct run_step. */
struct drawn {
	const char *name;
	size_t offset;
};

static double of_step(const struct run_step *s, size_t offset)
{
	double y;

	memcpy(&y, (const char *)s + offset, sizeof(y));
	return y;
}

static struct chart *curves(struct document *d, const struct run_result *r, const char *title,
			    const struct drawn *drawn, int count)
{
	struct chart *c = chart_new(&d->arena, CHART_CURVE, count);

	if (!c || !c->series)
		return NULL;
	c->title = title;
	c->x_label = "step";
	for (int k = 0; k < count; k++) {
		struct chart_series *s = &c->series[k];

		s->name = drawn[k].name;
		s->points = arena_get(&d->arena, (size_t)r->step_count, sizeof(*s->points));
		for (int i = 0; s->points && i < r->step_count; i++) {
			double y = of_step(&r->steps[i], drawn[k].offset);

			if (!isnan(y))
				s->points[s->count++] =
					(struct chart_point){.x = r->steps[i].step, .y = y};
		}
	}
	return c;
}

static struct chart *curve(struct document *d, const struct run_result *r, const char *title,
			   size_t offset, bool log_y)
{
	struct chart *c = curves(d, r, title, &(struct drawn){"", offset}, 1);

	if (c)
		c->log_y = log_y;
	return c;
}

/* Is it anything but the same in all steps that have it? */
static bool varies(const struct run_result *r, size_t offset)
{
	double first = NAN;

	for (int i = 0; i < r->step_count; i++) {
		double y = of_step(&r->steps[i], offset);

		if (!isnan(first) && !isnan(y) && y != first)
			return true;
		first = isnan(first) ? y : first;
	}
	return false;
}

static bool has_any(const struct run_result *r, size_t offset)
{
	for (int i = 0; i < r->step_count; i++)
		if (!isnan(of_step(&r->steps[i], offset)))
			return true;
	return false;
}

void run_result_add_curves(const struct run_result *r, struct document *d)
{
	static const struct drawn losses[] = {
		{"training", offsetof(struct run_step, loss)},
		{"held out", offsetof(struct run_step, held_out_loss)}};
	bool scaled = false;

	if (has_any(r, losses[1].offset))
		document_chart(d, curves(d, r, "Loss", losses, ARRAY_SIZE(losses)));
	else
		document_chart(d, curve(d, r, "Loss", losses[0].offset, false));
	if (varies(r, offsetof(struct run_step, lr)))
		document_chart(
			d, curve(d, r, "Learning rate", offsetof(struct run_step, lr), false));
	for (int i = 0; i < r->step_count; i++)
		scaled |= r->steps[i].loss_scale != 1 && !isnan(r->steps[i].loss_scale);
	if (scaled)
		document_chart(d, curve(d, r, "Loss scale",
					offsetof(struct run_step, loss_scale), true));
	document_chart(
		d, curve(d, r, "Time of each step, ms", offsetof(struct run_step, ms), false));
}
