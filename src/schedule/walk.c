/* walk.c - running all stages of a schedule side by side; see impl.h */
#include "schedule/impl.h"

#include <stdlib.h>

enum status walk_init(struct walk *w, const struct schedule *s, struct error *err)
{
	*w = (struct walk){.schedule = s};
	w->at = calloc((size_t)s->stages, sizeof(*w->at));
	w->next = calloc((size_t)s->stages * (size_t)s->stages * 2, sizeof(*w->next));
	if (w->at && w->next)
		return OK;
	walk_release(w);
	return FAIL(err, ERR_MEMORY, "no memory to run a schedule of %d stages", s->stages);
}

void walk_release(struct walk *w)
{
	free(w->at);
	free(w->next);
	*w = (struct walk){0};
}

struct channel {
	int from, to;
	enum action_kind send;
};

static int *next_of(const struct walk *w, struct channel c)
{
	size_t pair = (size_t)c.from * (size_t)w->schedule->stages + (size_t)c.to;

	return &w->next[pair * 2 + (c.send == ACTION_SEND_B)];
}

/* Where the next message of a channel is in its sender's order; its count if there is none. */
static int next_send(const struct walk *w, struct channel c)
{
	const struct order *o = &w->schedule->orders[c.from];
	int *next = next_of(w, c), chunk;

	while (*next < o->count &&
	       (o->actions[*next].kind != c.send ||
		schedule_peer(w->schedule, c.from, o->actions[*next], &chunk) != c.to))
		++*next;
	return *next;
}

/* The channel of what a stage is about to receive; chunk is that at the sender. */
static struct channel channel_of(const struct walk *w, int stage, int *chunk)
{
	struct action a = w->schedule->orders[stage].actions[w->at[stage]];

	return (struct channel){.from = schedule_peer(w->schedule, stage, a, chunk),
				.to = stage,
				.send = a.kind == ACTION_RECV_F ? ACTION_SEND_F
								: ACTION_SEND_B};
}

static enum status out_of_order(const struct walk *w, int stage, int sender, struct action sent,
				struct error *err)
{
	char want[ACTION_TEXT_MAX], have[ACTION_TEXT_MAX];

	return FAIL(err, ERR_FAILED, "stage %d: %s, but the next message of stage %d is %s",
		    stage,
		    action_format(w->schedule->orders[stage].actions[w->at[stage]], want),
		    sender, action_format(sent, have));
}

/* Run one action of a stage; *ran is false if it has to wait or is at its end. */
static enum status run_one(struct walk *w, int stage, bool *ran, struct error *err)
{
	const struct order *o = &w->schedule->orders[stage];
	int sent = -1;

	*ran = false;
	if (w->at[stage] == o->count)
		return OK;
	if (action_receives(o->actions[w->at[stage]].kind)) {
		int chunk;
		struct channel c = channel_of(w, stage, &chunk);
		struct action have;

		sent = next_send(w, c);
		if (sent >= w->at[c.from])
			return OK;
		have = w->schedule->orders[c.from].actions[sent];
		if (have.chunk != chunk ||
		    have.micro_batch != o->actions[w->at[stage]].micro_batch)
			return out_of_order(w, stage, c.from, have, err);
		++*next_of(w, c);
	}
	if (w->visit)
		w->visit(w->arg, stage, w->at[stage], sent);
	w->at[stage]++;
	*ran = true;
	return OK;
}

/* Some stage has not come to its end: name the first, and what it waits for. */
static enum status stuck(struct walk *w, int stage, struct error *err)
{
	char own[ACTION_TEXT_MAX], other[ACTION_TEXT_MAX];
	int chunk, sender = channel_of(w, stage, &chunk).from;
	const struct order *o = &w->schedule->orders[sender];

	action_format(w->schedule->orders[stage].actions[w->at[stage]], own);
	if (w->at[sender] == o->count)
		return FAIL(err, ERR_FAILED,
			    "stage %d: %s waits for stage %d, which never sends it", stage, own,
			    sender);
	return FAIL(err, ERR_FAILED, "stage %d: %s waits for stage %d, which waits at %s",
		    stage, own, sender, action_format(o->actions[w->at[sender]], other));
}

static enum status check_channel(const struct walk *w, int stage, struct action send,
				 struct error *err)
{
	char buf[ACTION_TEXT_MAX];
	const struct order *o = &w->schedule->orders[stage];
	int chunk, to = schedule_peer(w->schedule, stage, send, &chunk), i;

	if (to < 0)
		return OK;
	i = next_send(w, (struct channel){stage, to, send.kind});
	if (i == o->count)
		return OK;
	return FAIL(err, ERR_FAILED, "stage %d: nobody receives %s", stage,
		    action_format(o->actions[i], buf));
}

/* All stages are at their ends: was every message received? */
static enum status check_received(const struct walk *w, struct error *err)
{
	const struct schedule *s = w->schedule;
	enum status st = OK;

	for (int stage = 0; stage < s->stages; stage++)
		for (int chunk = 0; chunk < s->chunks; chunk++) {
			TRY(check_channel(w, stage, (struct action){ACTION_SEND_F, chunk, 0},
					  err));
			TRY(check_channel(w, stage, (struct action){ACTION_SEND_B, chunk, 0},
					  err));
		}
out:
	return st;
}

enum status walk_run(struct walk *w, struct error *err)
{
	bool progress = true, ran;
	enum status st;

	while (progress) {
		progress = false;
		for (int stage = 0; stage < w->schedule->stages; stage++)
			do {
				TRY(run_one(w, stage, &ran, err));
				progress |= ran;
			} while (ran);
	}
	for (int stage = 0; stage < w->schedule->stages; stage++)
		if (w->at[stage] < w->schedule->orders[stage].count)
			return stuck(w, stage, err);
	st = check_received(w, err);
out:
	return st;
}
