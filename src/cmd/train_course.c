/*
 * train_course.c - the course of a training: how many steps, their learning rates, evaluations
 * on the way, and when it ends early. All of it follows from numbers that all ranks have. See
 * training.h
 */
#include "base/log.h"
#include "base/util.h"
#include "cmd/training.h"

#include <math.h>

/* Where nobody says which steps are written down: the first ones, then so that there are about
   so many lines. */
enum { FIRST_STEPS = 1000, LINES = 10000 };

/* ---- before the first step ---- */

static enum status resolve_epochs(struct training *t, struct error *err)
{
	struct config *c = &t->config;
	struct inject_limits limits;
	int64_t steps;
	enum status st;

	if (!c->epochs)
		return OK;
	if (!t->data.train) {
		FAIL(err, ERR_USAGE,
		     "--epochs %d, but the data '%.64s' is made up and has no end", c->epochs,
		     c->data);
		return HINT(err, "use --steps, or --data with a file");
	}
	steps = ceil_div(c->epochs * t->data.train, c->batch);
	if (steps > STEPS_MAX) {
		FAIL(err, ERR_USAGE,
		     "--epochs %d of %lld samples in batches of %d are %lld "
		     "steps, more than %d",
		     c->epochs, (long long)t->data.train, c->batch, (long long)steps,
		     STEPS_MAX);
		return HINT(err, "use a larger --batch, or fewer epochs");
	}
	c->steps = (int)steps;
	TRY(config_settle_warmup(c, err));
	limits = (struct inject_limits){grid_size(&t->grid), c->steps, c->micro_batches};
	if (!t->restarted)
		TRY(inject_parse(&t->inject, c->inject, &limits, err));
out:
	return st;
}

static enum status check_evaluation(struct training *t, struct error *err)
{
	struct config *c = &t->config;

	if (!c->eval_every || t->data.held_out)
		return OK;
	if (options_source(&c->values, "eval-every") == SOURCE_DEFAULT) {
		c->eval_every = 0; /* a preset's wish */
		return OK;
	}
	FAIL(err, ERR_USAGE, "--eval-every %d, but no samples are held out", c->eval_every);
	return HINT(err, t->data.kind == DATA_TABLE ? "use a larger --holdout"
			 : t->data.kind == DATA_TOKENS
				 ? "use a larger --holdout, or a smaller --context"
				 : "use --data with a file");
}

enum status training_plan_course(struct training *t, struct error *err)
{
	enum status st;

	course_init(&t->course);
	TRY(resolve_epochs(t, err));
	TRY(check_evaluation(t, err));
	TRY(config_lr_schedule(&t->config, &t->lr, err));
out:
	return st;
}

/* ---- step by step ---- */

void training_set_lr(struct training *t, struct step_metrics *s)
{
	s->lr = lr_at(&t->lr, s->step);
	engine_set_lr(t->engine, s->lr);
}

static int last_step(const struct training *t)
{
	return (t->until ? t->until : t->config.steps) - 1;
}

bool training_is_over(const struct training *t)
{
	return t->stopped || t->ended != COURSE_GOES_ON || t->done > last_step(t);
}

static void fill_held_out(void *arg, int64_t first, int rows, const struct batch *b)
{
	data_held_out(arg, first, rows, b);
}

enum status training_evaluate(struct training *t, struct error *err)
{
	enum status st;

	if (t->evaluated == t->done)
		return OK;
	TRY(engine_evaluate(t->engine, t->data.held_out * t->data.sequence, fill_held_out,
			    &t->data, &t->evaluation, err));
	TRY(data_check(&t->data, err));
	TRY(training_judge(&t->data, &t->evaluation, err));
	t->evaluated = t->done;
out:
	return st;
}

static void look_at_loss(struct training *t, const struct step_metrics *s)
{
	struct course *course = &t->course;
	bool first = t->rank->number == 0;

	if (device_is_virtual(t->dev)) /* there is none */
		return;
	if (course_add_loss(course, s->loss) && first)
		log_warn("step %d: the loss, %g, is more than a million times the first one, "
			 "%g; try a smaller --lr, or --clip-grad 1",
			 s->step, s->loss, course->first_loss);
	if (course->bad_steps == 1 && first)
		log_warn(
			"step %d: the loss is not finite; try a smaller --lr, or --clip-grad 1",
			s->step);
}

static bool has_diverged(const struct training *t)
{
	int most = t->config.max_bad_steps;

	return most && t->course.bad_steps > most;
}

static bool is_due(const struct training *t)
{
	int every = t->config.eval_every;

	return every && !t->stopped && !has_diverged(t) &&
	       (t->done % every == 0 || t->done > last_step(t));
}

/* What the summary is made of, and who writes it in a hurry must not see half of. */
static void decide(struct training *t, struct step_metrics *s)
{
	const struct config *c = &t->config;

	pthread_mutex_lock(&t->kept.lock);
	if (s->held_out) {
		course_add_evaluation(&t->course, s->step, s->held_out);
		s->is_best = course_is_best(&t->course);
		if (c->patience && t->course.since_best >= c->patience &&
		    t->done <= last_step(t))
			t->ended = COURSE_OUT_OF_PATIENCE;
	}
	if (has_diverged(t))
		t->ended = COURSE_DIVERGED;
	pthread_mutex_unlock(&t->kept.lock);
}

static bool is_in_turn(const struct config *c, int step)
{
	if (c->log_every)
		return step % c->log_every == 0;
	return step < FIRST_STEPS || step % ceil_div(c->steps, LINES) == 0;
}

/* Those whose turn it is, and those that somebody will look for. */
static bool is_logged(const struct training *t, const struct step_metrics *s)
{
	return is_in_turn(&t->config, s->step) || s->held_out || s->skipped ||
	       t->course.bad_steps || training_is_over(t);
}

enum status training_follow(struct training *t, struct step_metrics *s, struct error *err)
{
	enum status st = OK;

	look_at_loss(t, s);
	if (is_due(t)) {
		TRY(training_evaluate(t, err));
		s->held_out = &t->evaluation;
	}
	decide(t, s);
	s->logged = is_logged(t, s);
out:
	return st;
}

enum status training_diverged(const struct training *t, struct error *err)
{
	const struct config *c = &t->config;
	double loss = t->metrics.losses[t->metrics.count - 1];
	char first[64] = "none was finite";

	if (!isnan(t->course.first_loss))
		snprintf(first, sizeof(first), "the first was %g", t->course.first_loss);
	FAIL(err, ERR_FAILED,
	     "diverged: the loss of step %d is %s, and that of %d steps in a row is not finite "
	     "(%s; --max-bad-steps %d)",
	     t->done - 1, isnan(loss) ? "nan" : "infinite", t->course.bad_steps, first,
	     c->max_bad_steps);
	return HINT(err, "try a smaller --lr than %g%s%s", c->lr,
		    c->clip_grad > 0 ? "" : ", --clip-grad 1",
		    c->lr_warmup ? "" : ", or --lr-warmup N");
}
