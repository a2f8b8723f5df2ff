/* impl.h - between the files of schedule. Only for schedule/. */
#ifndef KOLM_SCHEDULE_IMPL_H
#define KOLM_SCHEDULE_IMPL_H

#include "schedule/schedule.h"

/* Room for so many actions; order_add relies on it. */
enum status order_init(struct order *o, int capacity, struct error *err);
void order_release(struct order *o);
void order_add(struct order *o, enum action_kind kind, int chunk, int micro_batch);

/* The table of places, from where each part is. */
typedef struct place place_fn(const struct schedule *s, int part);
enum status places_init(struct schedule *s, place_fn *place, struct error *err);
/* That of a schedule of the same size. */
enum status places_copy(struct schedule *s, const struct schedule *from, struct error *err);
void places_release(struct schedule *s);
/* Where the part is that a SEND or RECV would be exchanged with, also on the same stage; false
   where the model ends. */
bool schedule_neighbour(const struct schedule *s, int stage, struct action a, struct place *at);

/* What the kind is described with: can it have so many stages; its places; the compute order
   of one stage, into an order with room for 3 per chunk and micro-batch. */
enum status schedule_check_stages(enum schedule_kind kind, int stages, struct error *err);
enum status schedule_arrange(struct schedule *s, struct error *err);
void schedule_generate(const struct schedule *s, int stage, struct order *out);

/* The same with messages, reductions and the step, into s->orders[stage]. */
enum status schedule_lower(struct schedule *s, int stage, const struct order *compute,
			   struct error *err);

/*
 * Run all stages side by side: sends do not block, receives wait for their message, and
 * messages of a channel arrive in order. Two stages have a channel for activations and one
 * for gradients, each way.
 */
struct walk {
	const struct schedule *schedule;
	int *at;   /* (stages) the next action of each stage */
	int *next; /* (stages, stages, 2) the next message of a channel, in its sender's order
		    */
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
