/* survey.c - see survey.h */
#include "launch/survey.h"
#include "base/util.h"
#include "launch/board.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double WEIGHT = 0.25; /* of a new figure in the average */

static const double STILL_MS = 2000; /* no step for so long is worth a word */

/* Less waiting than this is nobody's fault. */
static const double WORTH_NAMING = 0.05;

enum status survey_create(struct survey **out, const struct grid *grid, int count,
			  double now_ms, struct error *err)
{
	struct survey *s = calloc(1, sizeof(*s) + (size_t)count * sizeof(s->ranks[0]));

	*out = s;
	if (!s)
		return FAIL(err, ERR_MEMORY, "no memory to look at %d ranks", count);
	s->grid = *grid;
	s->count = count;
	s->loss = s->step_ms = s->samples_per_s = s->gflops = NAN;
	s->peak_gflops = s->left_ms = NAN;
	s->last_ms = now_ms;
	for (int i = 0; i < count; i++)
		s->ranks[i].compute = s->ranks[i].comm = s->ranks[i].lost = NAN;
	return OK;
}

void survey_free(struct survey *s)
{
	free(s);
}

static double blend(double before, double now)
{
	return isfinite(before) ? before + WEIGHT * (now - before) : now;
}

/* The rank may be writing it, and it may come from a process that we don't know. */
static void copy_printable(char *out, size_t size, const char *text, size_t limit)
{
	size_t n = 0;

	for (; n + 1 < size && n < limit && text[n]; n++)
		out[n] = isprint((unsigned char)text[n]) ? text[n] : '?';
	out[n] = '\0';
}

static void take_waiting(struct survey_rank *r, const struct comm_status *status)
{
	int kind = status->kind, peer = status->peer, op = status->op;

	r->waiting[0] = '\0';
	memset(r->waits_for, 0, sizeof(r->waits_for));
	if (kind == REQUEST_SEND || kind == REQUEST_RECEIVE) {
		snprintf(r->waiting, sizeof(r->waiting), "waits for rank %d", peer);
		if (peer >= 0 && peer < RANKS_MAX)
			r->waits_for[peer / 64] = 1ull << peer % 64;
	} else if (kind == REQUEST_COLLECTIVE && op >= 0 && op < COMM_OP_COUNT) {
		snprintf(r->waiting, sizeof(r->waiting), "in %s",
			 comm_op_name((enum comm_op)op));
		for (int i = 0; i < COMM_SET_WORDS; i++)
			r->waits_for[i] = status->members[i];
		r->waits_for[r->number / 64] &= ~(1ull << r->number % 64);
	}
}

static void take_shares(struct survey_rank *r, const struct pulse *p)
{
	double ms = p->step_ms, compute = p->compute_ms;

	if (!(ms > 0) || !(compute > 0)) /* nobody has measured it */
		return;
	r->compute = blend(r->compute, fmin(compute / ms, 1));
	r->comm = blend(r->comm, fmin(p->comm_ms / ms, 1));
	r->lost = blend(r->lost, fmin(p->lost_ms / ms, 1));
}

static void take_gpu(struct survey_rank *r, const struct pulse *p)
{
	r->measured = p->measured;
	r->gpu_busy = r->measured ? p->gpu_busy : NAN;
	r->gpu_bytes = r->measured ? p->gpu_bytes : NAN;
	r->gpu_celsius = r->measured ? p->gpu_celsius : NAN;
	r->gpu_watts = r->measured ? p->gpu_watts : NAN;
}

static void take_rank(struct survey *s, int i, const struct board_rank *board,
		      const struct comm_status *status)
{
	struct survey_rank *r = &s->ranks[i];
	int step = board->pulse.step;

	r->number = board->number;
	if (r->number < 0 || r->number >= grid_size(&s->grid))
		r->number = i;
	r->pid = board->pid;
	r->at = grid_coords(&s->grid, r->number);
	copy_printable(r->where, sizeof(r->where), board->at, sizeof(board->at));
	take_waiting(r, status);
	if (step != r->step)
		take_shares(r, &board->pulse);
	r->step = step;
	r->now_bytes = board->pulse.now_bytes;
	r->peak_bytes = board->pulse.peak_bytes;
	take_gpu(r, &board->pulse);
}

/* Time left goes down while a long step lasts, too. */
static void foresee(struct survey *s, double now_ms)
{
	double ms = s->step_ms;

	if (s->step > s->first_step)
		ms = (s->last_ms - s->first_ms) / (s->step - s->first_step);
	s->still_ms = now_ms - s->last_ms;
	s->stands = s->step < s->steps && s->still_ms > fmax(STILL_MS, 4 * ms);
	s->left_ms = NAN;
	if (s->step > 0 && !s->stands)
		s->left_ms = fmax(0, (s->steps - s->step) * ms - s->still_ms);
}

/* What is the same on all ranks, as one of them shows it. */
static void take_run(struct survey *s, const struct pulse *p, double now_ms)
{
	int step = p->step;

	s->steps = imax(0, p->steps);
	s->skipped = p->skipped;
	s->simulated = p->simulated;
	s->loss = p->loss;
	s->loss_scale = p->loss_scale;
	s->scheduled = p->scheduled;
	s->lr = p->lr;
	s->evaluated = p->evaluated;
	s->held_out_loss = p->held_out_loss;
	s->tokens = p->tokens;
	if (step != s->step) {
		s->step_ms = blend(s->step_ms, p->step_ms);
		s->samples_per_s = blend(s->samples_per_s, p->samples_per_s);
		s->gflops = blend(s->gflops, p->gflops);
		s->last_ms = now_ms;
		if (s->step <= 0) {
			s->first_step = step;
			s->first_ms = now_ms;
		}
	}
	s->step = imax(0, imin(step, s->steps));
	foresee(s, now_ms);
}

void survey_take(struct survey *s, struct shm_memory *memory, double now_ms)
{
	double peak = 0;

	s->peak_type = board_of(memory, 0)->pulse.peak_type;
	for (int i = 0; i < s->count; i++) {
		const struct board_rank *board = board_of(memory, i);

		take_rank(s, i, board, shm_status(memory, i));
		peak += board->pulse.peak_gflops;
		if (board->pulse.peak_type != s->peak_type)
			s->peak_type = -1;
	}
	s->peak_gflops = peak > 0 && s->count == grid_size(&s->grid) ? peak : NAN;
	take_run(s, &board_of(memory, 0)->pulse, now_ms);
}

bool survey_waits_for(const struct survey_rank *r, int other)
{
	return r->waits_for[other / 64] >> other % 64 & 1;
}

double survey_mean(const struct survey *s, size_t offset)
{
	double sum = 0;

	for (int i = 0; i < s->count; i++)
		sum += *(const double *)((const char *)&s->ranks[i] + offset);
	return sum / s->count;
}

const struct survey_rank *survey_slowest(const struct survey *s)
{
	double mean = survey_mean(s, offsetof(struct survey_rank, lost));
	const struct survey_rank *least = &s->ranks[0];

	if (s->count < 2 || !(mean >= WORTH_NAMING))
		return NULL;
	for (int i = 1; i < s->count; i++)
		if (s->ranks[i].lost < least->lost)
			least = &s->ranks[i];
	/* A bubble is lost by all; who loses nothing is who the others wait for. */
	return least->lost < mean / 2 ? least : NULL;
}

const struct survey_rank *survey_culprit(const struct survey *s, int *victims)
{
	const struct survey_rank *culprit = NULL;

	*victims = 0;
	for (int i = 0; i < s->count; i++) {
		int n = 0;

		for (int j = 0; j < s->count; j++)
			n += survey_waits_for(&s->ranks[j], s->ranks[i].number);
		if (s->ranks[i].waiting[0] || (culprit && n <= *victims))
			continue;
		culprit = &s->ranks[i];
		*victims = n;
	}
	return culprit;
}
