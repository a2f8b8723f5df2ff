/*
 * kolm.h - training over a grid of data x pipeline x model parallel ranks, as a library.
 *
 * A program opens a world of ranks, describes a model, makes an engine of it on every rank and
 * takes steps. Every rank calls the same functions in the same order. Errors are values: a
 * function returns KOLM_OK or says in its last argument what went wrong and what to do. The
 * library installs no signal handlers, reads no environment, writes nothing but what it is
 * asked to, and never exits, but for a GPU that fails while it computes: that ends the process
 * with a line on standard error and exit code 1. On a CPU with AMX it asks Linux to let the
 * process use that, which makes signal frames larger: a sigaltstack() of less than 11 KB is
 * refused then. A world, its models and engines belong to one thread.
 */
#ifndef KOLM_H
#define KOLM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define KOLM_API __attribute__((visibility("default")))
#else
#define KOLM_API
#endif

/* ---- errors ---- */

enum kolm_status {
	KOLM_OK,
	KOLM_FAILED, /* a rank, a file or a message failed */
	KOLM_USAGE,  /* what was asked for is impossible */
	KOLM_MEMORY  /* there is not enough */
};

struct kolm_error {
	enum kolm_status status;
	char message[512]; /* what failed, with the values involved */
	char hint[256];	   /* what to do about it, or "" */
};

/* "0.1.0" */
KOLM_API const char *kolm_version(void);

/* ---- worlds ---- */

struct kolm_world;

/* One rank: this process. */
KOLM_API enum kolm_status kolm_world_alone(struct kolm_world **out, struct kolm_error *err);

/*
 * So many ranks, each a child of this process on this machine, over shared memory: fn is called
 * in every one of them, which ends when it returns: by _exit, so what stdio has not written
 * then is lost; flush before, here too. Returns when all have; err has what the first one that
 * failed says. Called with no other thread running.
 */
typedef enum kolm_status kolm_rank_fn(struct kolm_world *world, void *arg,
				      struct kolm_error *err);
KOLM_API enum kolm_status kolm_world_fork(int ranks, kolm_rank_fn *fn, void *arg,
					  struct kolm_error *err);

/* The processes of a communicator of a program that has initialised MPI: communicator is a
   pointer to its MPI_Comm, which is duplicated. Fails where kolm was built without MPI. */
KOLM_API enum kolm_status kolm_world_mpi(struct kolm_world **out, const void *communicator,
					 struct kolm_error *err);

KOLM_API int kolm_world_rank(const struct kolm_world *world);
KOLM_API int kolm_world_size(const struct kolm_world *world);
/* After its engines. Not for a world of kolm_world_fork, which is freed by itself. NULL is
   fine. */
KOLM_API void kolm_world_free(struct kolm_world *world);

/* ---- models ---- */

struct kolm_model;
struct kolm_layer_kind;

/* A model for rows of so many inputs, without layers yet. */
KOLM_API enum kolm_status kolm_model_new(struct kolm_model **out, int inputs,
					 struct kolm_error *err);
KOLM_API void kolm_model_free(struct kolm_model *model);

/*
 * Append layers. activation: none, relu, gelu, ... as kolm train --activation has them. norm:
 * layer, rms. dropout: the share that is set to 0 in training. A pipeline is cut between layers
 * that were added one by one.
 */
KOLM_API enum kolm_status kolm_model_linear(struct kolm_model *model, int outputs,
					    const char *activation, struct kolm_error *err);
KOLM_API enum kolm_status kolm_model_norm(struct kolm_model *model, const char *norm,
					  struct kolm_error *err);
KOLM_API enum kolm_status kolm_model_dropout(struct kolm_model *model, double dropout,
					     struct kolm_error *err);
/* A layer of the caller's own kind, with a copy of size bytes of config. The kind itself is
   borrowed for as long as the model and its engines are there. */
KOLM_API enum kolm_status kolm_model_layer(struct kolm_model *model,
					   const struct kolm_layer_kind *kind,
					   const void *config, size_t size,
					   struct kolm_error *err);

/* A model that continues a text: an embedding, blocks of attention and feed-forward layers, and
   a head that tells how likely every token is. Names are those of the options of kolm train. */
struct kolm_language {
	size_t size; /* of this struct: set by KOLM_LANGUAGE */
	int layers, heads, dim;
	int context;	       /* tokens of a sample */
	int vocabulary;	       /* tokens that there are */
	int kv_heads;	       /* llama: heads of keys and values; 0: as many as of queries */
	int ffn;	       /* width inside of the feed-forward layers; 0: what is usual */
	double dropout;	       /* the share that is set to 0 in training */
	int no_bias;	       /* gpt: none in products and norms */
	const char *gelu;      /* gpt: tanh, exact */
	const char *recompute; /* none, attention, block: what is computed again, not kept */
	int sequence_parallel; /* between the products every rank of mp has a part of the rows
				*/
	double norm_eps;
	double rope_theta; /* llama: of its rotary positions */
};

#define KOLM_LANGUAGE                                                                         \
	{                                                                                     \
		sizeof(struct kolm_language), 4, 4, 128, 64, 256, 0, 0, 0, 0, "tanh", "none", \
			0, 1e-5, 10000                                                        \
	}

/* GPT-2 and LLaMA: whole models, which nothing is appended to. An engine of theirs has the loss
   cross-entropy; a sample of its batch is a sequence. */
KOLM_API enum kolm_status kolm_model_gpt(struct kolm_model **out,
					 const struct kolm_language *language,
					 struct kolm_error *err);
KOLM_API enum kolm_status kolm_model_llama(struct kolm_model **out,
					   const struct kolm_language *language,
					   struct kolm_error *err);

/* ---- kinds of layers ---- */

struct kolm_layer; /* one, while it is described or computed */
struct kolm_pass;  /* a micro-batch on its way through it */

/*
 * What goes in and comes out is a matrix with a row for every sample. Where the grid splits
 * layers (mp > 1), a kind that can work on slices has a part of the columns on each rank;
 * others get whole rows, the same on every rank.
 */
struct kolm_layer_kind {
	const char *name;
	int slices; /* it can work on a part of the columns, each for itself */
	/* Say what it needs; see "describing" below. */
	enum kolm_status (*describe)(struct kolm_layer *layer, const void *config,
				     struct kolm_error *err);
	/* y from x; dx from dy; the gradients of the tensors from x and dy. The last may be
	   NULL where there are none. */
	enum kolm_status (*forward)(const struct kolm_layer *layer, const void *config,
				    struct kolm_pass *pass, struct kolm_error *err);
	enum kolm_status (*backward_input)(const struct kolm_layer *layer, const void *config,
					   struct kolm_pass *pass, struct kolm_error *err);
	enum kolm_status (*backward_weight)(const struct kolm_layer *layer, const void *config,
					    struct kolm_pass *pass, struct kolm_error *err);
};

/* Describing. Columns of what goes in, of the whole row and of this rank's part; what comes
   out is as wide, unless it is said otherwise (whole rows only). */
KOLM_API int kolm_layer_columns(const struct kolm_layer *layer);
KOLM_API int kolm_layer_own_columns(const struct kolm_layer *layer);
KOLM_API enum kolm_status kolm_layer_set_outputs(struct kolm_layer *layer, int columns,
						 struct kolm_error *err);
/* A parameter with a number for every column, which is value plus up to bound either way at
   first. Parameters are numbered from 0 in the order of these calls. */
KOLM_API enum kolm_status kolm_layer_add_vector(struct kolm_layer *layer, const char *name,
						float value, float bound,
						struct kolm_error *err);
/* Room for so many fp32 numbers per row, from forward to backward; its number. */
KOLM_API int kolm_layer_save(struct kolm_layer *layer, int columns);
/* Floating-point operations of a row: what a pipeline is balanced by; 0 if it is not said. */
KOLM_API void kolm_layer_set_flops(struct kolm_layer *layer, double flops);

/*
 * Computing. The host sees a matrix or vector as fp32 between open and close, in rows of stride
 * numbers: on the CPU and in fp32 that is the memory itself, otherwise a copy. Pass what will
 * be done with it: KOLM_READS, KOLM_WRITES or both. Nothing is allocated on the way: at most
 * KOLM_OPEN_MAX are open at a time, none of them twice. Who asks wrongly gets NULL, and the
 * step fails.
 */
enum { KOLM_READS = 1, KOLM_WRITES = 2, KOLM_OPEN_MAX = 6 };
enum kolm_part {
	KOLM_X,	 /* what goes in: rows x own columns */
	KOLM_Y,	 /* what comes out */
	KOLM_DX, /* the gradient of what goes in; NULL where nobody wants it */
	KOLM_DY	 /* the gradient of what comes out */
};
KOLM_API int kolm_pass_rows(const struct kolm_pass *pass);
/* Weight gradients: add to what is there, otherwise it is to be overwritten. */
KOLM_API int kolm_pass_accumulates(const struct kolm_pass *pass);
KOLM_API float *kolm_pass_open(struct kolm_pass *pass, enum kolm_part part, int access,
			       size_t *stride);
KOLM_API void kolm_pass_close(struct kolm_pass *pass, enum kolm_part part);
/* Parameter number k, its gradient, and what was saved. */
KOLM_API const float *kolm_pass_open_vector(struct kolm_pass *pass, int k);
KOLM_API void kolm_pass_close_vector(struct kolm_pass *pass, int k);
KOLM_API float *kolm_pass_open_gradient(struct kolm_pass *pass, int k);
KOLM_API void kolm_pass_close_gradient(struct kolm_pass *pass, int k);
KOLM_API float *kolm_pass_open_saved(struct kolm_pass *pass, int k, int access, size_t *stride);
KOLM_API void kolm_pass_close_saved(struct kolm_pass *pass, int k);

/* ---- engines ---- */

/* Names are those of the options of kolm train, which has the defaults below. */
struct kolm_options {
	size_t size;	       /* of this struct: set by KOLM_OPTIONS */
	int dp, pp, mp;	       /* the grid: as many ranks as the world has */
	int batch;	       /* samples of a step, over the whole grid */
	int micro_batches;     /* per replica */
	const char *schedule;  /* 1f1b, gpipe, ... as kolm train --schedule has them */
	int chunks;	       /* interleaved: parts per stage; 0: 2 */
	const char *precision; /* fp32, fp16, bf16 */
	const char *optimizer; /* sgd, momentum, adamw */
	const char *loss;      /* mse, cross-entropy */
	const char *device;    /* cpu */
	double lr, momentum, beta1, beta2, eps, weight_decay;
	double clip_grad; /* 0: off */
	uint64_t seed;
	int zero;    /* 1: optimizer state sharded over the replicas */
	int threads; /* per rank; 0: its share of the cores */
};

#define KOLM_OPTIONS                                                                          \
	{                                                                                     \
		sizeof(struct kolm_options), 1, 1, 1, 64, 1, "1f1b", 0, "fp32", "sgd", "mse", \
			"cpu", 0.001, 0.9, 0.9, 0.999, 1e-8, 0, 0, 0, 0, 0                    \
	}

struct kolm_engine;

/* The model is borrowed until the engine is freed. Collective. */
KOLM_API enum kolm_status kolm_engine_create(struct kolm_engine **out, struct kolm_world *world,
					     const struct kolm_model *model,
					     const struct kolm_options *options,
					     struct kolm_error *err);
KOLM_API void kolm_engine_free(struct kolm_engine *engine);

/* Where samples are to be written, numbers in fp32: x, and targets or labels. */
struct kolm_batch {
	float *x;
	size_t x_stride; /* numbers from one row to the next */
	float *target;	 /* NULL for cross-entropy */
	size_t target_stride;
	int32_t *labels; /* from 0 to outputs - 1; NULL for mse */
	/* Of a language model, which has neither x nor target: context tokens of every sample,
	   one sample behind the other, and as many labels: the tokens that follow. */
	int32_t *tokens;
};

/* Write rows samples, from number first of the step's batch (of all samples, in an evaluation)
   on. Not every rank is asked. */
typedef void kolm_fill(void *arg, int64_t first, int rows, const struct kolm_batch *batch);

struct kolm_result {
	double loss; /* mean over the batch, the same on all ranks */
	double grad_norm;
	int skipped; /* fp16: the gradients were not finite, nothing was updated */
	double step_ms;
};

/* The learning rate from the next step on, 0 or more, in place of that of the options. All
   ranks have to set the same. */
KOLM_API enum kolm_status kolm_engine_set_lr(struct kolm_engine *engine, double lr,
					     struct kolm_error *err);

/* One optimizer step. Collective. */
KOLM_API enum kolm_status kolm_engine_step(struct kolm_engine *engine, kolm_fill *fill,
					   void *arg, struct kolm_result *result,
					   struct kolm_error *err);

struct kolm_evaluation {
	double loss;
	double accuracy; /* NAN for mse */
};

/* The loss of so many samples, without learning from them. Collective. */
KOLM_API enum kolm_status kolm_engine_evaluate(struct kolm_engine *engine, int64_t samples,
					       kolm_fill *fill, void *arg,
					       struct kolm_evaluation *out,
					       struct kolm_error *err);

/* All parameters, fp32 in 16-bit training too, as one safetensors file, which rank 0 writes,
   whole or not at all. The folder is there. Collective. */
KOLM_API enum kolm_status kolm_engine_save(struct kolm_engine *engine, const char *folder,
					   const char *name, struct kolm_error *err);

#ifdef __cplusplus
}
#endif

#endif
