/*
 * setup.h - one way to train one language model: its sizes, the grid and what goes with it.
 * gpt: blocks of four times the width, dropout, attention that writes its scores down, learned
 * positions, a tied head. mpt: the same without dropout, biases and positions, with attention
 * in one kernel (flash). llama: gated layers, groups of queries, a head of its own, and flash.
 */
#ifndef KOLM_PLAN_SETUP_H
#define KOLM_PLAN_SETUP_H

#include "base/error.h"
#include "base/names.h"
#include "schedule/schedule.h"

#include <stdbool.h>
#include <stdint.h>

#define SETUP_MODELS(X)	       X(GPT, "gpt") X(MPT, "mpt") X(LLAMA, "llama")
#define SETUP_MODEL(name, ...) SETUP_##name,
enum setup_model { SETUP_MODELS(SETUP_MODEL) };
extern const char *const setup_model_names[]; /* NULL-terminated */

/* selective: attention between its first product and its last, as Korthikanti et al. have it;
   where that is one kernel, every other product and what is elementwise, as torchtitan does. */
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
	enum setup_model model;
	int ffn, kv_heads; /* 0: as setup_ffn and setup_kv_heads say */
	enum schedule_kind schedule;
	enum setup_recompute recompute;
	bool sequence_parallel;
};

/* Is it one that can be run? The error says what does not fit together. */
enum status setup_check(const struct setup *s, struct error *err);

/* Can its layers be split tp ways? */
enum status setup_check_split(const struct setup *s, struct error *err);

/* Micro-batches of a step, of one replica. */
static inline int setup_micro_batches(const struct setup *s)
{
	return s->global_batch / s->dp / s->micro_batch;
}

/* Width inside of the feed-forward layers: 4 times that of the model, of llama 8/3 rounded up
   to a multiple of 256; and heads of keys and values, as many as of queries. */
int setup_ffn(const struct setup *s);
int setup_kv_heads(const struct setup *s);

static inline bool setup_is_flash(const struct setup *s)
{
	return s->model != SETUP_GPT;
}

/* Blocks of a stage. The first stages have one more where they do not divide. */
int setup_layers(const struct setup *s, int stage);
/* Is the head the table of the embedding? */
bool setup_is_tied(const struct setup *s);

#endif
