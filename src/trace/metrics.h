/* metrics.h - what is measured per step, and the statistics over steps. */
#ifndef KOLM_TRACE_METRICS_H
#define KOLM_TRACE_METRICS_H

#include "base/error.h"
#include "base/stats.h"

#include <stdbool.h>
#include <stdint.h>

struct breakdown;
struct evaluation;
struct json;

struct step_metrics {
	int step;
	double loss, grad_norm;
	int tokens;	/* of a sample of a language model; 0: there are none */
	double ms;	/* from before the forward pass to after the optimizer */
	double data_ms; /* before that: making the batch */
	double loss_scale, lr;
	bool skipped; /* gradients were not finite: no update */
	bool warmup;
	const struct breakdown *breakdown; /* mean over the ranks; NULL: nobody asked */
	int straggler;			   /* the rank that others waited for, or -1 */
	const struct evaluation *held_out; /* behind it; NULL: none was made */
	bool is_best;			   /* ... and it is the best so far */
	bool logged;			   /* it is printed, and written down */
};

/* The evaluation with the smallest loss; step is that of its line in metrics.jsonl. */
struct best_evaluation {
	int64_t step;
	double loss, accuracy; /* accuracy is NAN for regression */
};

/* As the member "best". */
void metrics_put_best(struct json *j, const struct best_evaluation *b);

struct metrics {
	int first; /* the step that it begins with: those before were in another process */
	double first_loss; /* of step 0, where that was one of them; NAN: not known */
	int capacity, count, warmup;
	int skipped;	/* steps without an update */
	double lr;	/* of the last step */
	double *losses; /* of every step */
	double *ms;	/* of every step */
	double *sorted; /* working memory of the statistics */
};

/* For so many steps from first on. */
enum status metrics_init(struct metrics *m, int first, int steps, int warmup,
			 struct error *err);
void metrics_release(struct metrics *m);

double metrics_first_loss(const struct metrics *m);

void metrics_add(struct metrics *m, const struct step_metrics *s);

/* Over the steps behind the warm-up, or over all if there are none behind it. */
struct statistics metrics_step_ms(const struct metrics *m);

#endif
