/*
 * trained.h - a model from a checkpoint and a file to use it on: what kolm predict and kolm
 * eval have in common. The file is read as the data was that the model was trained with.
 */
#ifndef KOLM_CMD_TRAINED_H
#define KOLM_CMD_TRAINED_H

#include "cmd/training.h"

struct trained {
	struct training
		*training; /* its model, on one rank of all threads; its data is the file */
	struct comm *world;
	struct data_form form;
};

/* The best one of a run, if that was marked and is whole, or the newest; or the one that is
   named. Says which. */
enum status trained_find(struct checkpoint *c, const char *place, struct error *err);

/* The options of what t->from is, as it was trained, but for what only training needs: on one
   rank. more: arguments of kolm train that overrule them, so many. */
enum status trained_read_options(struct training *t, char *const *more, int n,
				 struct error *err);

/* Which checkpoint, what file (text: for a language model), and whether its targets are of
   interest; how many threads, 0: one per core. Says which checkpoint it is. */
enum status trained_open(struct trained *m, const char *place, const char *data, bool targets,
			 int threads, struct error *err);
void trained_close(struct trained *m);

/* Loss and accuracy of a language model on the text. */
enum status trained_evaluate(struct trained *m, struct evaluation *out, struct error *err);

/* The outputs of all samples of the file, block by block, as the model yields them. */
enum status trained_run(struct trained *m, engine_take *take, void *arg, struct evaluation *out,
			struct error *err);

/* The class that a row of outputs is for: the first of the largest. */
int trained_class(const float *outputs, int n);
/* A target in its own unit. */
double trained_target(const struct trained *m, int target, double value);

#endif
