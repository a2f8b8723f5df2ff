/*
 * check.c - the proof that a schedule can run. First each stage on its own: what must have
 * happened before each action, and that everything happens once. Then all together.
 */
#include "schedule/impl.h"
#include "base/util.h"

#include <stdlib.h>

/* What has happened to a (chunk, micro-batch): one bit per kind of action. */
#define BIT(kind) (1u << (kind))

struct checker {
	const struct schedule *schedule;
	int stage;
	unsigned *done; /* (chunks, micro_batches) */
	int *reduced;	/* (chunks) */
	struct error *err;
};

static unsigned *done_at(struct checker *c, struct action a)
{
	return &c->done[(size_t)a.chunk * (size_t)c->schedule->micro_batches +
			(size_t)a.micro_batch];
}

static enum status wrong(struct checker *c, struct action a, const char *why)
{
	char buf[ACTION_TEXT_MAX];

	return FAIL(c->err, ERR_FAILED, "stage %d: %s %s", c->stage, action_format(a, buf),
		    why);
}

static bool has_peer(struct checker *c, enum action_kind kind, struct action of)
{
	int chunk;

	return schedule_peer(c->schedule, c->stage, (struct action){kind, of.chunk, 0},
			     &chunk) >= 0;
}

/* Where the part next to that of an action is on the same stage, has one of these happened to
   it? Nothing else orders the two. */
static bool neighbour_did(struct checker *c, enum action_kind towards, struct action a,
			  unsigned kinds)
{
	struct place at;

	a.kind = towards;
	if (!schedule_neighbour(c->schedule, c->stage, a, &at) || at.stage != c->stage)
		return true;
	a.chunk = at.chunk;
	return *done_at(c, a) & kinds;
}

/* Has what this action needs happened, if not: what is missing. */
static const char *missing(struct checker *c, struct action a, unsigned done)
{
	const unsigned forwards = BIT(ACTION_F) | BIT(ACTION_E);

	switch (a.kind) {
	case ACTION_F:
	case ACTION_E:
		if (has_peer(c, ACTION_RECV_F, a) && !(done & BIT(ACTION_RECV_F)))
			return "comes before its input has been received";
		if (!neighbour_did(c, ACTION_RECV_F, a, forwards))
			return "comes before the forward of the part before it";
		return NULL;
	case ACTION_B:
	case ACTION_I:
		if (!(done & BIT(ACTION_F)))
			return "comes before its forward";
		if (done & (BIT(ACTION_B) | BIT(ACTION_I)))
			return "is a second backward";
		if (has_peer(c, ACTION_RECV_B, a) && !(done & BIT(ACTION_RECV_B)))
			return "comes before its gradient has been received";
		if (!neighbour_did(c, ACTION_RECV_B, a, BIT(ACTION_B) | BIT(ACTION_I)))
			return "comes before the backward of the part behind it";
		return NULL;
	case ACTION_W:
		return done & BIT(ACTION_I) ? NULL : "comes before its I";
	case ACTION_SEND_F:
		return done & forwards ? NULL : "comes before its forward";
	case ACTION_SEND_B:
		return done & (BIT(ACTION_B) | BIT(ACTION_I)) ? NULL
							      : "comes before its backward";
	case ACTION_RECV_F:
	case ACTION_RECV_B:
	case ACTION_REDUCE:
	case ACTION_STEP:
	case ACTION_PAUSE:
		break;
	}
	return NULL;
}

static enum status check_reduce(struct checker *c, struct action a)
{
	for (int i = 0; i < c->schedule->micro_batches; i++) {
		struct action of = {ACTION_B, a.chunk, i};

		if (!(*done_at(c, of) & (BIT(ACTION_B) | BIT(ACTION_W))))
			return wrong(c, a, "comes before the chunk's last backward");
	}
	if (c->reduced[a.chunk]++)
		return wrong(c, a, "comes twice");
	return OK;
}

/* In an evaluation there are Es and their messages; in a step there is everything else. */
static bool belongs(const struct schedule *s, enum action_kind kind)
{
	if (kind == ACTION_SEND_F || kind == ACTION_RECV_F)
		return true;
	return (kind == ACTION_E) == s->forward_only;
}

static enum status check_action(struct checker *c, int index)
{
	const struct schedule *s = c->schedule;
	const struct order *o = &s->orders[c->stage];
	struct action a = o->actions[index];
	const char *why;

	if (a.kind < ACTION_F || a.kind > ACTION_STEP || a.chunk < 0 || a.chunk >= s->chunks ||
	    a.micro_batch < 0 || a.micro_batch >= s->micro_batches)
		return FAIL(c->err, ERR_FAILED,
			    "stage %d: action %d has kind %d, chunk %d, micro-batch %d",
			    c->stage, index, (int)a.kind, a.chunk, a.micro_batch);
	if (!belongs(s, a.kind))
		return wrong(c, a,
			     s->forward_only ? "does not belong into an evaluation"
					     : "does not belong into a step");
	if (a.kind == ACTION_STEP)
		return index == o->count - 1 ? OK : wrong(c, a, "is not the last action");
	if (a.kind == ACTION_REDUCE)
		return check_reduce(c, a);
	if (action_is_message(a.kind) && !has_peer(c, a.kind, a))
		return wrong(c, a, "is a message, but here the model ends");
	why = missing(c, a, *done_at(c, a));
	if (why)
		return wrong(c, a, why);
	if (*done_at(c, a) & BIT(a.kind))
		return wrong(c, a, "comes twice");
	*done_at(c, a) |= BIT(a.kind);
	return OK;
}

static enum status check_messages(struct checker *c, struct action a)
{
	static const enum action_kind messages[] = {ACTION_RECV_F, ACTION_SEND_F, ACTION_RECV_B,
						    ACTION_SEND_B};
	unsigned done = *done_at(c, a);

	for (size_t k = 0; k < ARRAY_SIZE(messages); k++) {
		a.kind = messages[k];
		if (belongs(c->schedule, a.kind) && has_peer(c, a.kind, a) &&
		    !(done & BIT(a.kind)))
			return wrong(c, a, "is missing");
	}
	return OK;
}

/* Has all happened to a (chunk, micro-batch) that must? */
static enum status check_done(struct checker *c, int chunk, int micro_batch)
{
	bool only = c->schedule->forward_only;
	struct action a = {only ? ACTION_E : ACTION_F, chunk, micro_batch};
	unsigned done = *done_at(c, a);

	if (!(done & BIT(a.kind)))
		return wrong(c, a, "is missing");
	a.kind = done & BIT(ACTION_I) ? ACTION_W : ACTION_B;
	if (!only && !(done & BIT(a.kind)))
		return wrong(c, a, "is missing");
	return check_messages(c, a);
}

/* The end of a step: all gradients are reduced, then the optimizer comes. */
static enum status check_end(struct checker *c)
{
	const struct order *o = &c->schedule->orders[c->stage];

	for (int chunk = 0; chunk < c->schedule->chunks; chunk++)
		if (!c->reduced[chunk])
			return wrong(c, (struct action){ACTION_REDUCE, chunk, 0}, "is missing");
	if (o->count == 0 || o->actions[o->count - 1].kind != ACTION_STEP)
		return wrong(c, (struct action){ACTION_STEP, 0, 0}, "is missing");
	return OK;
}

/* At the end of a stage's order. */
static enum status check_complete(struct checker *c)
{
	const struct schedule *s = c->schedule;
	enum status st = OK;

	for (int chunk = 0; chunk < s->chunks; chunk++)
		for (int i = 0; i < s->micro_batches; i++)
			TRY(check_done(c, chunk, i));
	if (!s->forward_only)
		TRY(check_end(c));
out:
	return st;
}

static enum status check_stage(const struct schedule *s, int stage, struct error *err)
{
	struct checker c = {.schedule = s, .stage = stage, .err = err};
	int alive = schedule_activations(&s->orders[stage]);
	int bound = schedule_activation_bound(s, stage);
	enum status st;

	c.done = calloc((size_t)s->chunks * (size_t)s->micro_batches, sizeof(*c.done));
	c.reduced = calloc((size_t)s->chunks, sizeof(*c.reduced));
	if (!c.done || !c.reduced) {
		st = FAIL(err, ERR_MEMORY, "no memory to check a schedule");
		goto out;
	}
	for (int i = 0; i < s->orders[stage].count; i++)
		TRY(check_action(&c, i));
	TRY(check_complete(&c));
	if (alive > bound)
		st = FAIL(err, ERR_FAILED,
			  "stage %d: %d activations are alive at once, %s promises %d", stage,
			  alive, schedule_name(s->kind), bound);
out:
	free(c.done);
	free(c.reduced);
	return st;
}

enum status schedule_check(const struct schedule *s, struct error *err)
{
	struct walk walk = {0};
	enum status st;

	for (int stage = 0; stage < s->stages; stage++)
		TRY(check_stage(s, stage, err));
	TRY(walk_init(&walk, s, err));
	TRY(walk_run(&walk, err));
out:
	walk_release(&walk);
	return st;
}
