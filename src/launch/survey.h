/*
 * survey.h - what the ranks of this machine show at one moment, as plain numbers. The
 * status board changes while one reads it; the progress screen and kolm top are drawn
 * from such a copy.
 */
#ifndef KOLM_LAUNCH_SURVEY_H
#define KOLM_LAUNCH_SURVEY_H

#include "comm/shm/shm.h"
#include "grid/grid.h"

struct survey_rank {
	int number, pid;
	struct coords at;
	char where[96];	  /* "step 12 forward 0"; printable, whatever was on the board */
	char waiting[64]; /* "waits for rank 3", "in all-reduce", or "" */
	uint64_t waits_for[COMM_SET_WORDS]; /* ranks of the world */
	int step;
	double compute, comm, lost; /* shares of a step; NAN: not known */
	uint64_t now_bytes, peak_bytes;
	bool measured; /* the GPU, by who knows it; NAN: unknown */
	double gpu_busy, gpu_bytes, gpu_celsius, gpu_watts;
};

/* Figures of steps are averages of the last few, so that they can be read. */
struct survey {
	struct grid grid;
	int count; /* ranks on this machine */
	int step, steps, skipped;
	bool simulated, scheduled, evaluated; /* as in struct pulse */
	double loss, loss_scale, lr, held_out_loss;
	double step_ms, samples_per_s, gflops;
	int tokens;	    /* of a sample; 0: samples have none */
	double peak_gflops; /* of all ranks; NAN: not known */
	int peak_type;	    /* enum dtype: multiply-adds of what; -1: they differ */
	double left_ms;	    /* until the last step is over; NAN: not known */
	double still_ms;    /* since a step was over */
	bool stands;	    /* that is long, and there is no telling when it will end */
	/* what it remembers: when the first step that it saw was over, and the last */
	int first_step;
	double first_ms, last_ms;
	struct survey_rank ranks[]; /* (count) */
};

/* count ranks are here; grid is that of the whole run. */
enum status survey_create(struct survey **out, const struct grid *grid, int count,
			  double now_ms, struct error *err);
void survey_free(struct survey *s);
/* Look again. */
void survey_take(struct survey *s, struct shm_memory *memory, double now_ms);

/* Does a rank wait for that one of the world? */
bool survey_waits_for(const struct survey_rank *r, int other);
/* The mean over the ranks of one of their shares, by its offset. */
double survey_mean(const struct survey *s, size_t offset);
/* The rank that the others lose time on, as the last steps went, or NULL: none stands out. */
const struct survey_rank *survey_slowest(const struct survey *s);
/* The rank that most others wait for right now and that waits for nobody, or NULL. */
const struct survey_rank *survey_culprit(const struct survey *s, int *victims);

#endif
