/*
 * setup.h - one way to train one language model: its sizes, the grid and what goes with it.
 * The model is GPT: blocks of four times the width, with a tied head.
 */
#ifndef KOLM_PLAN_SETUP_H
#define KOLM_PLAN_SETUP_H

#include "base/error.h"
#include "base/names.h"
#include "schedule/schedule.h"

#include <stdbool.h>
#include <stdint.h>

/* selective: attention between its first product and its last, as Korthikanti et al. have it.
 */
#define SETUP_RECOMPUTES(X)       \
	X(NONE, "none")           \
	X(SELECTIVE, "selective") \
	X(FULL, "full")
#define SETUP_RECOMPUTE(name, ...) SETUP_##name,
enum setup_recompute { SETUP_RECOMPUTES(SETUP_RECOMPUTE) };
extern const char *const setup_recompute_names[]; /* NULL-terminated */

/* Member, column of a table, least, greatest. */
#define SETUP_NUMBERS(X)                            \
	X(layers, "layers", 1, 1 << 16)             \
	X(hidden, "hidden", 1, 1 << 20)             \
	X(heads, "heads", 1, 1 << 16)               \
	X(context, "seq", 1, 1 << 24)               \
	X(vocab, "vocab", 1, 1 << 24)               \
	X(gpus, "gpus", 1, 1 << 20)                 \
	X(dp, "dp", 1, 1 << 20)                     \
	X(tp, "tp", 1, 4096)                        \
	X(pp, "pp", 1, 4096)                        \
	X(micro_batch, "micro_batch", 1, 1 << 20)   \
	X(global_batch, "global_batch", 1, 1 << 24) \
	X(chunks, "chunks", 1, 256)                 \
	X(zero, "zero", 0, 3)

struct setup {
#define SETUP_MEMBER(member, ...) int member;
	SETUP_NUMBERS(SETUP_MEMBER)
#undef SETUP_MEMBER
	enum schedule_kind schedule;
	enum setup_recompute recompute;
	bool sequence_parallel;
};

/* Is it one that can be run? The error says what does not fit together. */
enum status setup_check(const struct setup *s, struct error *err);

/* Micro-batches of a step, of one replica. */
static inline int setup_micro_batches(const struct setup *s)
{
	return s->global_batch / s->dp / s->micro_batch;
}

/* Blocks of a stage. The first stages have one more where they do not divide. */
int setup_layers(const struct setup *s, int stage);
/* Parameters that a rank has of a block; that a rank of the stage has. */
double setup_block_parameters(const struct setup *s);
double setup_parameters(const struct setup *s, int stage);
/* Of the whole model, the tied table once. */
double setup_all_parameters(const struct setup *s);
/* FLOP of a step that the model needs, recomputation left out. */
double setup_flops(const struct setup *s);

#endif
