/*
 * course.c - what must hold between the options of the course of a training: steps and epochs,
 * the learning rate, evaluations; see config.h
 */
#include "base/units.h"
#include "base/util.h"
#include "config/config.h"
#include "engine/dump.h"

#include <math.h>

static bool is_given(const struct config *c, const char *name)
{
	return options_source(&c->values, name) == SOURCE_COMMAND_LINE;
}

static enum status check_epochs(struct config *c, struct error *err)
{
	if (!c->epochs || !is_given(c, "steps"))
		return OK;
	if (is_given(c, "epochs")) {
		FAIL(err, ERR_USAGE, "--epochs %d contradicts --steps %d", c->epochs, c->steps);
		return HINT(err, "leave one of them out");
	}
	c->epochs = 0; /* what a file says */
	return OK;
}

/* Which schedules use an option. */
static const struct use {
	const char *option;
	unsigned kinds;
	const char *by;
} uses[] = {
	{"lr-min", 1u << LR_COSINE | 1u << LR_LINEAR | 1u << LR_STEP | 1u << LR_WSD,
	 "cosine, linear, step or wsd"},
	{"lr-step", 1u << LR_STEP, "step"},
	{"lr-gamma", 1u << LR_STEP, "step"},
	{"lr-decay", 1u << LR_WSD, "wsd"},
};

static enum status check_uses(const struct config *c, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(uses); i++) {
		if (!is_given(c, uses[i].option) || uses[i].kinds >> c->lr_schedule & 1)
			continue;
		FAIL(err, ERR_USAGE, "--%s is not used by --lr-schedule %s", uses[i].option,
		     lr_kind_names[c->lr_schedule]);
		return HINT(err, "leave it out, or use --lr-schedule %s", uses[i].by);
	}
	if (c->lr_schedule == LR_STEP && !c->lr_step) {
		FAIL(err, ERR_USAGE, "--lr-schedule step without the length of a step");
		return HINT(err, "add --lr-step N");
	}
	if (c->lr_schedule != LR_CONSTANT && c->lr_min > c->lr) {
		FAIL(err, ERR_USAGE, "--lr-min %g is more than --lr %g", c->lr_min, c->lr);
		return HINT(err, "the rate goes down from --lr to --lr-min");
	}
	return OK;
}

static enum status check_patience(const struct config *c, struct error *err)
{
	if (c->patience && !c->eval_every) {
		FAIL(err, ERR_USAGE, "--patience %d without evaluations", c->patience);
		return HINT(err, "add --eval-every N");
	}
	if (c->patience && *c->dump_check) {
		FAIL(err, ERR_USAGE, "--dump-check with --patience %d: it needs all steps",
		     c->patience);
		return HINT(err, "leave one of them out");
	}
	return OK;
}

enum status config_check_course(struct config *c, struct error *err)
{
	struct lr_schedule unused;
	enum status st;

	TRY(check_epochs(c, err));
	TRY(check_uses(c, err));
	TRY(check_patience(c, err));
	if (c->epochs)
		return OK;
	TRY(config_settle_warmup(c, err));
	TRY(config_lr_schedule(c, &unused, err));
out:
	return st;
}

enum status config_settle_warmup(struct config *c, struct error *err)
{
	enum option_source warmup = options_source(&c->values, "warmup");
	const char *by = c->epochs ? "epochs" : "steps";

	if (*c->dump_check && c->steps > CHECK_STEPS_MAX) {
		FAIL(err, ERR_USAGE, "--dump-check with --steps %d: at most %d steps are kept",
		     c->steps, CHECK_STEPS_MAX);
		return HINT(err, "add --steps %d", CHECK_STEPS_MAX);
	}
	if (c->warmup < c->steps)
		return OK;
	/* A warm-up that was not asked for gives way to a short run. */
	if (warmup != SOURCE_DEFAULT && warmup >= options_source(&c->values, by)) {
		FAIL(err, ERR_USAGE, "--warmup %d leaves none of --steps %d to measure",
		     c->warmup, c->steps);
		return HINT(err, "use --warmup %d or less", c->steps - 1);
	}
	c->warmup = c->steps - 1;
	return OK;
}

/* "0.2", a share; "100", steps. One is all steps or one of them: nobody means the latter. */
static enum status read_decay(const struct config *c, int64_t *steps, struct error *err)
{
	double share;

	if (units_parse_int(c->lr_decay, steps) && *steps > 1)
		return OK;
	if (units_parse_float(c->lr_decay, &share) && share > 0 && share <= 1) {
		*steps = (int64_t)fmax(1, round(share * c->steps));
		return OK;
	}
	FAIL(err, ERR_USAGE,
	     "--lr-decay %s is neither a share of the steps nor a number of them", c->lr_decay);
	return HINT(err, "such as 0.2 or 100");
}

enum status config_lr_schedule(const struct config *c, struct lr_schedule *s, struct error *err)
{
	*s = (struct lr_schedule){.kind = (enum lr_kind)c->lr_schedule,
				  .lr = c->lr,
				  .min = c->lr_min,
				  .steps = c->steps,
				  .warmup = c->lr_warmup,
				  .every = c->lr_step,
				  .gamma = c->lr_gamma};
	if (s->warmup >= s->steps) {
		FAIL(err, ERR_USAGE, "--lr-warmup %d leaves none of --steps %d with --lr %g",
		     c->lr_warmup, c->steps, c->lr);
		return HINT(err, "use --lr-warmup %d or less, or more steps", c->steps - 1);
	}
	if (s->kind != LR_WSD)
		return OK;
	if (read_decay(c, &s->decay, err) != OK)
		return err->code;
	if (s->warmup + s->decay > s->steps) {
		FAIL(err, ERR_USAGE,
		     "--lr-warmup %d and --lr-decay %s (%lld steps) are more than "
		     "%d steps",
		     c->lr_warmup, c->lr_decay, (long long)s->decay, c->steps);
		return HINT(err, "together they may be all of them");
	}
	return OK;
}
