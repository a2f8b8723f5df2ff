/* training.h - a training run: what kolm train and kolm verify have in common. */
#ifndef KOLM_CMD_TRAINING_H
#define KOLM_CMD_TRAINING_H

#include "cmd/course.h"
#include "cmd/fingerprint.h"
#include "cmd/saving.h"
#include "config/config.h"
#include "data/data.h"
#include "engine/dump.h"
#include "engine/engine.h"
#include "engine/predict.h"
#include "engine/sketch.h"
#include "engine/transcript.h"
#include "launch/launch.h"
#include "optim/lr.h"
#include "trace/gather.h"
#include "trace/metrics.h"
#include "trace/run.h"

#include <pthread.h>

/* What a run takes: of the rank that takes most, by kind; and of all ranks on this machine. */
struct prediction {
	int rank;
	struct memory_account account;
	uint64_t own;	 /* of the rank that takes most of what others can't reach */
	uint64_t shared; /* of all, by shm_room: each maps that */
	uint64_t total;	 /* of all */
};

/* A thread that looks at the GPU of a rank now and then: asking takes a while, which is not the
   step's. Means and peaks are of the steps that count. */
struct meter {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool runs, end;
	bool counts;		  /* from now on */
	struct device_reading of; /* means of busy and watts; of the others the most */
	int busy, watts;	  /* readings that have these */
	int readings;
};

/* What rank 0 has of all ranks, as of the last time that it was collected. The lock is held
   by who changes that or the metrics, or writes either down. */
struct kept {
	pthread_mutex_t lock;
	struct rank_summary *ranks; /* (ranks) */
	struct engine_times *times; /* (ranks) */
	bool any, written;	    /* there is something; the summary is written */
};

/* Why a training ends before its last step, if nobody has stopped it. */
enum course_end { COURSE_GOES_ON, COURSE_OUT_OF_PATIENCE, COURSE_DIVERGED };

/* Everything that a run owns, in the order in which it is made. */
struct training {
	int argc; /* the command line behind "kolm train" */
	char *const *argv;
	/* kolm verify: the final weights, a sketch of every step and, if they are wanted, the
	   gradients of the last one go to this folder too, or NULL; it ends after so many
	   steps, with 0 as it was told. */
	const char *record_folder;
	bool wants_gradients;
	bool wants_bits; /* instead of the sketch a fingerprint, and of the last step, if it
			    has an end before the run's, a transcript */
	int until;
	int forward_rows; /* kolm generate: nothing is trained, so many rows go at a time; or 0
			   */
	bool discarded;	  /* its files go away with it: nothing need be predicted */
	struct config config;
	struct grid grid;
	struct inject_plan inject;
	struct data data;
	struct model model;
	const struct loss *loss;
	struct partition partition;
	struct schedule schedule;
	struct lr_schedule lr;
	char precision_reason[96]; /* of what --precision auto has become, or "" */
	struct prediction memory;
	struct checkpoint from; /* that it goes on from; its state is NULL: from the start */
	struct safetensors source[PART_COUNT]; /* its files, while they are read */
	bool nothing_left;		       /* all steps were done before */
	int restarted;			       /* times, by its supervisor */
	/* of each rank */
	struct rank *rank;
	struct device *dev;
	struct engine *engine;
	struct metrics metrics;
	struct sketch sketch; /* for record_folder */
	struct fingerprint fingerprint;
	struct transcript transcript;
	struct records records; /* what it did when, of the last steps */
	struct gather gather;
	struct engine_times times; /* of the steps that count */
	struct prediction_of_step predicted;
	double planned_ms; /* by --plan, of the grid that it has chosen; 0: it has not */
	struct rank_summary *summaries; /* (ranks) */
	struct engine_times *all_times; /* (ranks) */
	int done;			/* steps */
	int64_t samples;		/* seen in them */
	struct course course;
	enum course_end ended;
	struct evaluation evaluation; /* the last one, */
	int evaluated;		      /* ... behind so many steps; 0: there was none */
	struct saver saver;
	char weights_sha256[SHA256_TEXT]; /* of the last ones, on rank 0; "": not known */
	int stopped;			  /* the signal that has ended the run, or 0 */
	enum launch_screen screen;	  /* while it runs */
	/* of rank 0, and of the supervisor that has claimed their folders */
	struct run run;
	struct folder dump_claim;
	struct trace trace;
	struct dump dump;
	struct kept kept;
	struct meter meter;
};

/* Is this the rank that speaks and writes for all? */
static inline bool is_first(const struct training *t)
{
	return t->rank->number == 0;
}

/* With its command line; released and freed by training_free. NULL: no memory. */
struct training *training_new(int argc, char *const *argv, struct error *err);
void training_free(struct training *t);
/* What training_prepare has made goes: it will be made again. */
void training_forget(struct training *t);

/* Start the ranks of a run whose config was read, and wait for its end. */
enum status training_run(struct training *t, struct error *err);

/* train_setup.c: prepare is done by all ranks of a job, or once before they are forked: data,
   layers to stages, schedule. A rank of a job then looks at where it is, and whether all
   have the same options and data; each opens its device and its engine. */
enum status training_prepare(struct training *t, struct error *err);
/* train_precision.c: a part of it: what --precision auto is, the same on all ranks. */
enum status training_choose_precision(struct training *t, struct error *err);
/* train_model.c: parts of it: t->data, and the model for it. */
enum status training_open_data(struct training *t, struct error *err);
enum status training_build_model(struct training *t, struct error *err);
/* train_text.c: a part of it: t->data of a language model. */
enum status training_open_text(struct training *t, struct data_options *o, struct error *err);
/* Where token files are kept, or "": nowhere. */
const char *training_cache(char path[PATH_MAX]);
/* An evaluation in rows of all that is held out becomes one in samples; of a language model,
   with its perplexity and bits per byte. */
enum status training_judge(struct data *d, struct evaluation *e, struct error *err);
/* "  perplexity 4.2  bits per byte 2.07", with that before each, as far as they are known. */
const char *training_format_text(const struct evaluation *e, const char *before, char *buf,
				 size_t size);
enum status training_check_machine(const struct training *t, struct error *err);
/* Which ranks compute on the same GPU? Collective. */
enum status training_find_sharers(struct training *t, struct error *err);
/* Watch the GPU of this rank until the end; fill what its summary says of it. */
enum status training_meter_begin(struct training *t, struct error *err);
void training_meter_count(struct training *t);
void training_meter_fill(struct training *t, struct rank_summary *s);
void training_meter_end(struct training *t);
enum status training_agree(struct training *t, struct error *err);
enum status training_open_engine(struct training *t, struct error *err);

/* The folders that are written to belong to the supervisor, or in a job to rank 0: from
   before the engines are made until nobody is left who could write. */
enum status training_claim(struct training *t, struct error *err);
void training_release(struct training *t);

/* train_rank.c: the life of a rank. */
enum status training_rank(struct rank *rank, void *arg, struct error *err);

/*
 * train_end.c: everybody's times at rank 0; all that ranks have measured so far, kept there;
 * the end of the run with its summary; the end of rank 0's files. training_hurry writes the
 * summary of what was kept and ends those files, in a thread beside, while a step goes on;
 * training_abandon only ends them.
 */
enum status training_gather_times(struct training *t, const struct engine_times *own,
				  struct error *err);
enum status training_keep(struct training *t, struct error *err);
enum status training_finish(struct training *t, struct error *err);
void training_close(struct training *t);
enum status training_hurry(void *arg, int number, struct error *err);
void training_abandon(void *arg);

struct engine_options training_engine_options(const struct training *t);

/* train_memory.c: what a run that was prepared will take, t->memory; fails with the table if
   that is more than --device-memory. And: is it more than this machine has, or a limit of
   processes allows? */
enum status training_plan_memory(struct training *t, struct error *err);
enum status training_check_room(const struct training *t, struct error *err);

/* How many ranks, over what grid, with what batch; then data, layers and schedule. */
enum status training_plan(struct training *t, struct error *err);

/*
 * train_plan.c: does something have to be chosen? Choose it: the config then has the grid, the
 * micro-batches and the schedule. And: say how long a step of the config would take.
 */
bool training_is_open(const struct config *c);
enum status training_choose(struct training *t, struct error *err);
enum status training_dry_run(struct training *t, struct error *err);

/* train_candidates.c: the ways that there are to run it. */
struct candidate {
	struct grid grid;
	int micro_batches; /* 0: as the options say */
	int schedule, threads;
	double imagined_ms, tried_ms; /* NAN: was not, or can't be run */
	uint64_t bytes;		      /* of the fullest rank */
	char why[160];		      /* it can't be run */
};
enum { CANDIDATES_MAX = 4096 };
/* Where ranks of this machine find room: GPUs, if --device means some, otherwise cores. */
int training_places(const struct config *c);
int training_candidates(const struct config *c, int cores, bool threads,
			struct candidate *list);
void training_apply(struct config *c, const struct candidate *x);
/* "dp 2 x pp 1 x mp 1, 1 micro-batch" */
const char *training_describe(const struct candidate *x, char *buf, size_t size);

/* train_watch.c: how a run is watched. Whether the supervisor draws a screen; let others
   attach to the run, until its folder is released. */
enum status training_choose_screen(struct training *t, struct error *err);
enum status training_announce(struct training *t, struct error *err);

/*
 * train_course.c: when the data is known, how many steps there are and at what learning rates.
 * Before each step its rate; behind it, what its loss says, an evaluation if one is due, and
 * whether it is written down. An evaluation of the weights as they are, unless there was one.
 */
enum status training_plan_course(struct training *t, struct error *err);
void training_set_lr(struct training *t, struct step_metrics *s);
enum status training_follow(struct training *t, struct step_metrics *s, struct error *err);
enum status training_evaluate(struct training *t, struct error *err);
/* Is there no step any more? And how it ends that it has diverged. */
bool training_is_over(const struct training *t);
enum status training_diverged(const struct training *t, struct error *err);

/*
 * train_save.c: everything that a checkpoint needs, before the first step; what a rank has to
 * tell the others with each step; then, after each step, whatever is due; when the run has
 * ended, the last one. Sums and names are in t->saver.
 */
enum status training_save_open(struct training *t, struct error *err);
struct engine_word training_word(void *arg);
enum status training_save_step(struct training *t, struct engine_word word, struct error *err);
enum status training_save_end(struct training *t, struct error *err);
void training_save_close(struct training *t);

/*
 * train_resume.c: where the run goes on from, looked for by who has claimed its folder; in a
 * job the others then hear of it. Every rank goes on from there.
 */
enum status training_find_start(struct training *t, struct error *err);
enum status training_share_start(struct training *t, struct error *err);
enum status training_restore(struct training *t, struct error *err);
/* The weights alone, of what t->from is, for a rank that is alone and does not train. */
enum status training_load_weights(struct training *t, struct error *err);
/* A rank was lost: make the grid smaller, if that is wanted. */
enum status training_shrink(struct training *t, int lost, struct error *err);

/* train_trace.c: memory for what each rank records; when the last step is over, all of it to
   rank 0; rank 0 writes it down. */
enum status training_trace_begin(struct training *t, struct error *err);
enum status training_trace_collect(struct training *t, struct error *err);
enum status training_trace_write(struct training *t, struct error *err);
void training_trace_end(struct training *t);

/* train_heading.c, train_print.c: what rank 0 tells. */
void training_print_heading(const struct training *t);
enum status training_print_step(struct training *t, const struct step_metrics *s,
				struct error *err);
void training_print_closing(const struct run_summary *s);

#endif
