/*
 * timeline.h - when each stage does what: predicted from a schedule and its costs, and
 * drawn as text or SVG. A measured run can fill the same struct.
 */
#ifndef KOLM_SCHEDULE_TIMELINE_H
#define KOLM_SCHEDULE_TIMELINE_H

#include "base/canvas.h"
#include "schedule/schedule.h"

/*
 * In ms per stage and micro-batch; a chunk takes its share, unless parts says what each
 * takes. b is the whole backward, w its weight part: I takes b - w. A message takes the
 * link from its sender to its receiver for transfer, after the messages before it, and
 * arrives latency later; it costs its sender and receiver nothing, unless they stop and
 * wait for it.
 */
struct message_cost {
	double transfer, latency;
};

struct part_cost {
	double f, b, w;
	struct message_cost forward, backward; /* what is sent after F; after B or I */
};

struct costs {
	double f, b, w, latency;
	double transfer;
	bool stop_and_wait;
	/* The gradient of a B's input is sent before that of its weights is computed, that is
	   w before the B ends. */
	bool send_early;
	/* A chunk waits in B or I until no more than so many of its gradients are on their
	   way: it has no place for another. 0: it never does. */
	int gradients_sent;
	const struct part_cost *parts; /* (stages, chunks), or NULL */
	const double *begin;	       /* (stages) when each can begin; NULL: at 0 */
};

struct span {
	int stage;
	struct action action; /* F, B, I, W or E; what was measured may also have REDUCE, STEP,
				 PAUSE */
	double begin_ms, end_ms;
};

struct stage_time {
	/* Its first forward begins, its last operation ends; a message that it stops for is
	   one too. */
	double begin_ms, end_ms;
	double busy_ms;
	double sent_ms; /* all that it has sent has arrived */
};

struct timeline {
	int stages, count;
	struct span *spans;	   /* (count), stage by stage, in order of time */
	struct stage_time *totals; /* (stages) */
	double makespan_ms;
	double bubble;	 /* idle share of the stage that takes longest */
	const char *row; /* what a row is called, such as "rank"; NULL: "stage" */
	const int *rows; /* (stages) the number of each row; NULL: 0, 1, ... */
};

/* Predict, for a schedule that has passed the check. Where nothing takes time, the bubble
   is 0. */
enum status timeline_simulate(struct timeline *t, const struct schedule *s,
			      const struct costs *c, struct error *err);
void timeline_release(struct timeline *t);

/* Idle share of a stage between its first forward and its last operation. */
double timeline_stage_bubble(const struct timeline *t, int stage);

/*
 * The bubble of a pipeline is the idle share of the stage that takes longest. Stages that take
 * as long, but for a thousandth, are told apart by nanoseconds: of those it is the idlest.
 */
struct longest {
	double time, idle;
};
static inline void longest_add(struct longest *l, double time, double idle)
{
	double near = l->time * 1e-3;

	if (time > l->time + near || (time >= l->time - near && idle > l->idle))
		l->idle = idle;
	if (time > l->time)
		l->time = time;
}

/*
 * One row per stage, at most columns wide plus the stage's name. An operation is the number
 * of its micro-batch, filled up with = for F and E, - for B and I, + for W; #, ~ and * in
 * chunks with odd numbers; dots are idle. Where there is room for one sign only, F is the last
 * digit of the number, others the sign. ^ is a collective that nothing
 * hides, o the optimizer, z a sleep.
 */
void timeline_draw_text(const struct timeline *t, int columns, struct text *out);
/* The same with a given scale, in columns per ms, for what is compared with another. */
void timeline_draw_text_at(const struct timeline *t, double scale, int width, struct text *out);
/* The name of a row. */
enum { ROW_NAME_MAX = 32 };
const char *timeline_row_name(const struct timeline *t, int stage, char buf[ROW_NAME_MAX]);

/* A picture so many units wide, with so much of its own height; TIMELINE_WIDTH shows some
   hundred operations a stage. */
enum { TIMELINE_WIDTH = 1204, TIMELINE_WIDTH_MIN = 400 };
double timeline_draw_height(const struct timeline *t, double width);
void timeline_draw(const struct timeline *t, const char *title, double width,
		   struct canvas *canvas);
/* Its parts, for pictures with more than one: the legend of both (b may be NULL) from base
   line y on, which returns that of its last line, and draws nothing without a canvas; and the
   rows with their axis below y, on a scale where length_ms take the whole width. */
double timeline_draw_legend(const struct timeline *a, const struct timeline *b, double y,
			    double width, struct canvas *canvas);
double timeline_rows_height(const struct timeline *t);
void timeline_draw_rows(const struct timeline *t, double y, double width, double length_ms,
			struct canvas *canvas);
/* The same as a whole SVG document. */
void timeline_draw_svg(const struct timeline *t, const char *title, struct text *out);

#endif
