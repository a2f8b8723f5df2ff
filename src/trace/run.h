/*
 * run.h - the folder of a run: config.json, command.txt, metrics.jsonl, summary.json,
 * and event files where they are wanted.
 *
 * metrics.jsonl grows line by line, so that a run that is killed leaves what it has
 * measured; a line that can't be written whole is taken back. The other files appear
 * whole or not at all.
 */
#ifndef KOLM_TRACE_RUN_H
#define KOLM_TRACE_RUN_H

#include "base/folder.h"
#include "base/json.h"
#include "config/config.h"
#include "device/device.h"
#include "engine/engine.h"
#include "launch/launch.h"
#include "engine/predict.h"
#include "grid/grid.h"
#include "trace/breakdown.h"
#include "trace/events.h"
#include "trace/metrics.h"

struct run {
	struct folder claim; /* of the process that outlives all that write */
	char folder[PATH_MAX];
	char metrics[PATH_MAX]; /* metrics.jsonl, and its descriptor */
	int fd;
	struct json line;     /* the last one written there */
	struct events events; /* the same for TensorBoard, if it is open */
};

/*
 * Before the ranks start: a folder for this run alone (a name is made up if folder is ""). It
 * is refused if another run is using it, and if it holds another run's files unless these may
 * be replaced or this is the same run, which goes on. Ranks that are forked afterwards write to
 * it. When they have ended, run_release removes what they could not finish; only the process
 * that has claimed it can.
 */
enum run_claims { RUN_IS_NEW, RUN_REPLACES, RUN_CONTINUES };
enum status run_claim(struct run *r, const char *folder, enum run_claims how,
		      struct error *err);
void run_release(struct run *r);
/* Where a run was killed, or is about to end: what it has measured stays, the rest goes. */
void run_tidy(const char *folder);

/* In rank 0: the files of an earlier run go, and the first of this one's are made. */
enum status run_create(struct run *r, struct error *err);
/* Instead, for a run that goes on: what it has written of its first steps stays, the rest goes.
 *first_loss takes its first loss, or NAN. */
enum status run_continue(struct run *r, int64_t steps, double *first_loss, struct error *err);
enum status run_write_config(const struct run *r, const struct option_values *options, int argc,
			     char *const *argv, struct error *err);
/* Append a step, also to the events; batch turns time into samples per second. */
enum status run_write_step(struct run *r, const struct step_metrics *s, int batch,
			   struct error *err);
void run_close(struct run *r);

/* What each rank knows of itself. */
struct rank_summary {
	int64_t peak_bytes, kind_bytes[MEMORY_KIND_COUNT];
	int64_t steps; /* of the traffic */
	struct traffic_count traffic;
	double peak_gflops;	   /* what its cores could do, */
	enum dtype peak_type;	   /* ... in multiply-adds of that */
	struct device_reading gpu; /* while steps were taken that count: means, and the most of
				      bytes and celsius */
	int gpu_readings;	   /* of those; 0: nobody measures it */
};

void rank_summary_fill(struct rank_summary *s, const struct engine *e, const struct pulse *p,
		       int steps);

struct run_summary {
	const struct config *config;
	const struct rank *rank;
	const struct grid *grid;
	const struct rank_summary *ranks; /* (ranks) */
	const struct metrics *metrics;
	const struct device *dev;
	const struct engine *engine;
	const struct evaluation *evaluation; /* NULL: none was made */
	const struct breakdowns *breakdowns; /* of the steps that count */
	const struct prediction_of_step *predicted;
	double planned_ms;		    /* what made its grid be chosen; NAN: nothing did */
	const struct best_evaluation *best; /* NULL: there were none on the way */
	bool interrupted, stopped_early, diverged;
	int64_t resumed_from;	    /* the step, or -1 */
	int restarts;		    /* so far */
	const char *weights_sha256; /* NULL: not known */
	int sequence;		    /* rows of a sample */
	bool language;		    /* ... which are tokens */
	int saved;		    /* checkpoints */
	double saving_ms;	    /* that the steps were held up by all of them */
	double saved_ms;	    /* from the beginning of each until it was whole, of all */
};

enum status run_write_summary(const struct run *r, const struct run_summary *s,
			      struct error *err);

/* Of the steps that count: samples and floating-point operations per second. */
double run_samples_per_s(const struct run_summary *s);
double run_tokens_per_s(const struct run_summary *s);
double run_gflops(const struct run_summary *s);
/* What all ranks could do, in multiply-adds of the type that they multiply; the name of that,
   or NULL where machines differ. */
double run_peak_gflops(const struct run_summary *s);
const char *run_peak_type(const struct run_summary *s);

#endif
