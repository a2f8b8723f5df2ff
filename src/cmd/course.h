/*
 * course.h - how a training has gone so far: what must survive a restart beside tensors. It is
 * a function of the losses of the steps and of the evaluations, which all ranks know, so all
 * ranks come to the same decisions.
 */
#ifndef KOLM_CMD_COURSE_H
#define KOLM_CMD_COURSE_H

#include "base/json.h"
#include "engine/engine.h"
#include "trace/metrics.h"

#include <jansson.h>

struct course {
	struct best_evaluation best; /* its step is -1: there was none with a finite loss */
	int since_best;		     /* evaluations behind the best one, or all */
	int bad_steps;		     /* in a row, up to now, without a finite loss */
	double first_loss;	     /* that was finite; NAN: none was */
	bool has_grown;		     /* a loss was a million times as large: it was said */
};

void course_init(struct course *c);

/* The loss of a step. True once: the first time that it is a million times the first. */
bool course_add_loss(struct course *c, double loss);
/* An evaluation behind that step. */
void course_add_evaluation(struct course *c, int step, const struct evaluation *e);
/* Was the last evaluation the best of all? */
bool course_is_best(const struct course *c);

/* As the member "course" of an object that j is in; and from the value of such a member, every
   part of which must be as it was written. */
void course_write(const struct course *c, struct json *j);
enum status course_read(struct course *c, const json_t *from, struct error *err);

#endif
