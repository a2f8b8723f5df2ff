/* walk.c - running all stages of a schedule side by side; see impl.h */
#include "schedule/impl.h"

#include <stdlib.h>

enum status walk_init(struct walk *w, const struct schedule *s, struct error *err)
{
	*w = (struct walk){.schedule = s};
	w->at = calloc((size_t)s->stages, sizeof(*w->at));
	w->next = calloc((size_t)s->stages * 2, sizeof(*w->next));
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

/* Where the next message of a channel is in its sender's order; its count if there is none. */
static int next_send(struct walk *w, int sender, enum action_kind send)
{
	const struct order *o = &w->schedule->orders[sender];
	int *next = &w->next[sender * 2 + (send == ACTION_SEND_B)];

	while (*next < o->count && o->actions[*next].kind != send)
		++*next;
	return *next;
}

/* The sender of what a stage is about to receive; send and chunk are those at the sender. */
static int sender_of(const struct walk *w, int stage, enum action_kind *send, int *chunk)
{
	struct action a = w->schedule->orders[stage].actions[w->at[stage]];

	*send = a.kind == ACTION_RECV_F ? ACTION_SEND_F : ACTION_SEND_B;
	return schedule_peer(w->schedule, stage, a, chunk);
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
	if (o->actions[w->at[stage]].kind == ACTION_RECV_F ||
	    o->actions[w->at[stage]].kind == ACTION_RECV_B) {
		enum action_kind send;
		int chunk, sender = sender_of(w, stage, &send, &chunk);
		struct action have;

		sent = next_send(w, sender, send);
		if (sent >= w->at[sender])
			return OK;
		have = w->schedule->orders[sender].actions[sent];
		if (have.chunk != chunk ||
		    have.micro_batch != o->actions[w->at[stage]].micro_batch)
			return out_of_order(w, stage, sender, have, err);
		w->next[sender * 2 + (send == ACTION_SEND_B)]++;
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
	enum action_kind send;
	int chunk, sender = sender_of(w, stage, &send, &chunk);
	const struct order *o = &w->schedule->orders[sender];

	action_format(w->schedule->orders[stage].actions[w->at[stage]], own);
	if (w->at[sender] == o->count)
		return FAIL(err, ERR_FAILED,
			    "stage %d: %s waits for stage %d, which never sends it", stage, own,
			    sender);
	return FAIL(err, ERR_FAILED, "stage %d: %s waits for stage %d, which waits at %s",
		    stage, own, sender, action_format(o->actions[w->at[sender]], other));
}

/* All stages are at their ends: was every message received? */
static enum status check_received(struct walk *w, struct error *err)
{
	static const enum action_kind sends[] = {ACTION_SEND_F, ACTION_SEND_B};
	char buf[ACTION_TEXT_MAX];

	for (int stage = 0; stage < w->schedule->stages; stage++)
		for (int d = 0; d < 2; d++) {
			const struct order *o = &w->schedule->orders[stage];
			int i = next_send(w, stage, sends[d]);

			if (i < o->count)
				return FAIL(err, ERR_FAILED, "stage %d: nobody receives %s",
					    stage, action_format(o->actions[i], buf));
		}
	return OK;
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
