/*
 * compare.h - a step as it was measured, beside the one that the simulator predicts from
 * what the operations and messages of the same run took on average; and where the
 * difference comes from.
 */
#ifndef KOLM_TRACE_COMPARE_H
#define KOLM_TRACE_COMPARE_H

#include "schedule/timeline.h"
#include "trace/trace.h"

/* Where the time of a step goes, in ms: the parts add up to the total. */
struct time_account {
	double total;
	double compute;	 /* kernels, the optimizer's included */
	double messages; /* transfers that nothing hid */
	double waiting;	 /* for other ranks */
	double pause;	 /* sleep that was asked for */
	double other;
};

struct comparison {
	int step;
	bool part;			     /* not all ranks are shown */
	int *rows;			     /* the rank or stage of each row of measured */
	struct timeline measured, predicted; /* predicted: a row per stage */
	struct time_account took, expected;  /* mean over the ranks, over the stages */
	struct trace_prediction before;
	/* Who computes or pauses longest in this step, and by how much more than the mean; a
	   stage if there are several, otherwise a rank. -1: nobody stands out. */
	int slowest;
	double excess;
	bool simulated; /* on virtual devices, which compute nothing */
};

/* all_ranks: a row for every rank, otherwise for every stage of the first replica. */
enum status compare_step(struct comparison *c, const struct trace *t, int step, bool all_ranks,
			 struct error *err);
void comparison_release(struct comparison *c);

/* As text, at most so many columns wide; and as an SVG document. */
void comparison_draw_text(const struct comparison *c, int columns, struct text *out);
void comparison_draw_svg(const struct comparison *c, const struct trace *t, struct text *out);
/* "measured 182.4 ms, predicted 180.2 ms (+2.2): computing +0.5, ..." */
void comparison_explain(const struct comparison *c, struct text *out);

/* ---- within trace/ ---- */

/* What the operations of a run took, on average. */
struct mean_cost {
	double count;
	double ms; /* with all that happens inside; then by what it was */
	struct time_account parts;
};

struct profile {
	const struct trace *trace;
	struct mean_cost *operations; /* (pp, chunks, 4): F, B, I, W */
	/* Per stage and step: the optimizer; sums that nothing hid; pauses between operations.
	 */
	struct mean_cost *ends; /* (pp); its parts say what it was */
	struct mean_cost message;
};

enum status profile_init(struct profile *p, const struct trace *t, struct error *err);
void profile_release(struct profile *p);
const struct mean_cost *profile_operation(const struct profile *p, int stage, int chunk,
					  enum action_kind kind);

/* Where the time of a rank went in a step. */
struct time_account account_of(const struct trace *t, int rank, int step);
/* Waits that lie within [begin, end), of those that are not behind *at, which moves on. */
void account_waits(const struct record *waits, int n, int *at, int64_t begin, int64_t end,
		   struct time_account *out);
/* What ranks tell each other at the end of a step is a collective too, but moves nothing worth
   showing. */
bool is_control(const struct record *r);

/* predict.c: the timeline and its account. */
enum status predict_step(const struct profile *p, struct timeline *out,
			 struct time_account *account, struct error *err);
/* measured.c: the rows of a timeline, with the numbers of the ranks that they are. */
enum status measured_step(const struct trace *t, int step, const int *ranks, int rows,
			  struct timeline *out, struct error *err);

#endif
