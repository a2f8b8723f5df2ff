/* impl.h - between the files of schedule/. */
#ifndef KOLM_SCHEDULE_IMPL_H
#define KOLM_SCHEDULE_IMPL_H

#include "schedule/schedule.h"

/* Room for so many actions; order_add relies on it. */
enum status order_init(struct order *o, int capacity, struct error *err);
void order_release(struct order *o);
void order_add(struct order *o, enum action_kind kind, int chunk, int micro_batch);

/* The compute order of one stage, into an order with room for 3 per chunk and micro-batch. */
void schedule_generate(const struct schedule *s, int stage, struct order *out);

/* The same with messages, reductions and the step, into s->orders[stage]. */
enum status schedule_lower(struct schedule *s, int stage, const struct order *compute,
			   struct error *err);

/*
 * Run all stages side by side: sends do not block, receives wait for their message, and
 * messages of a channel arrive in order. A stage sends activations to one other stage and
 * gradients to one, so the sender and the direction name the channel.
 */
struct walk {
	const struct schedule *schedule;
	int *at;   /* (stages) the next action of each stage */
	int *next; /* (stages, 2) the next message of a sender's activations, gradients */
	/* An action is about to run. sent is where in its sender's order a received message
	   was sent; otherwise -1. */
	void (*visit)(void *arg, int stage, int index, int sent);
	void *arg;
};

enum status walk_init(struct walk *w, const struct schedule *s, struct error *err);
void walk_release(struct walk *w);
/* Run until all are done, or fail with the stage and action that cannot go on. */
enum status walk_run(struct walk *w, struct error *err);

#endif
