/*
 * config.h - everything that defines a training run, read from the command line and
 * a JSON file, checked and resolved before anything else happens.
 */
#ifndef KOLM_CONFIG_CONFIG_H
#define KOLM_CONFIG_CONFIG_H

#include "base/dtype.h"
#include "base/names.h"
#include "config/option.h"
#include "optim/lr.h"

#include <limits.h>

#define CONFIG_PINS(X)	      X(AUTO, "auto") X(NONE, "none")
#define CONFIG_PIN(name, ...) PIN_##name,
enum config_pin { CONFIG_PINS(CONFIG_PIN) };

#define CONFIG_TRANSPORTS(X)	    X(AUTO, "auto") X(SHM, "shm") X(MPI, "mpi")
#define CONFIG_TRANSPORT(name, ...) TRANSPORT_##name,
enum config_transport { CONFIG_TRANSPORTS(CONFIG_TRANSPORT) };

/* What one can train in; auto: what the devices multiply, see training_choose_precision. */
#define CONFIG_PRECISIONS(X) PRECISIONS(X) X(AUTO, "auto")
enum { PRECISION_AUTO = PRECISION_COUNT };
extern const char *const config_precision_names[]; /* NULL-terminated */

/* 16: that of the weights. */
#define CONFIG_GRAD_DTYPES(X) \
	X(AUTO, "auto") X(FP32, "fp32") X(16, "16") X(FP16, "fp16") X(BF16, "bf16")
#define CONFIG_GRAD_DTYPE(name, ...) GRAD_##name,
enum config_grad_dtype { CONFIG_GRAD_DTYPES(CONFIG_GRAD_DTYPE) };

#define CONFIG_ENGINES(X)	 X(HYBRID, "hybrid") X(BASE, "base")
#define CONFIG_ENGINE(name, ...) ENGINE_##name,
enum config_engine { CONFIG_ENGINES(CONFIG_ENGINE) };
extern const char *const engine_names[]; /* NULL-terminated */

#define CONFIG_LOG_FORMATS(X)	     X(TEXT, "text") X(JSONL, "jsonl")
#define CONFIG_LOG_FORMAT(name, ...) LOG_##name,
enum config_log_format { CONFIG_LOG_FORMATS(CONFIG_LOG_FORMAT) };

#define CONFIG_PROGRESSES(X) \
	X(AUTO, "auto") X(SCREEN, "screen") X(PLAIN, "plain") X(RANKS, "ranks")
#define CONFIG_PROGRESS(name, ...) PROGRESS_##name,
enum config_progress { CONFIG_PROGRESSES(CONFIG_PROGRESS) };
extern const char *const progress_names[];

enum { DIM_MAX = 1 << 20, DEPTH_MAX = 4096, STEPS_MAX = 10000000, CONTEXT_MAX = 1 << 20 };

/* Sizes of known models; see language.c. */
#define CONFIG_PRESETS(X) \
	X(NONE, "none")   \
	X(GPT2, "gpt2") X(GPT2_MEDIUM, "gpt2-medium") X(NANO, "nano") X(CHAR, "char")
#define CONFIG_PRESET(name, ...) PRESET_##name,
enum config_preset { CONFIG_PRESETS(CONFIG_PRESET) };

#define CONFIG_GELUS(X)	       X(TANH, "tanh") X(EXACT, "exact")
#define CONFIG_GELU(name, ...) GELU_##name,
enum config_gelu { CONFIG_GELUS(CONFIG_GELU) };

/* Along which axis the grid of a run that goes on without a rank is smaller. */
#define CONFIG_ELASTICS(X)	  X(DP, "dp") X(NONE, "none")
#define CONFIG_ELASTIC(name, ...) ELASTIC_##name,
enum config_elastic { CONFIG_ELASTICS(CONFIG_ELASTIC) };

struct config {
	/* the grid; 0: auto */
	int dp, pp, mp;
	bool plan, dry_run;
	int nproc_per_node;
	int transport; /* enum config_transport */
	/* the model */
	int model; /* enum model_kind */
	int dim, depth;
	char widths[8192]; /* instead, or "" */
	int norm;	   /* enum norm_kind */
	bool residual;
	double dropout;
	int activation; /* enum activation */
	/* the model, of language */
	int preset; /* enum config_preset */
	int layers, heads, context;
	int kv_heads, ffn, vocab; /* 0: auto */
	char tokenizer[PATH_MAX];
	bool no_bias;
	int gelu; /* enum config_gelu */
	double rope_theta, norm_eps;
	int recompute; /* enum recompute */
	bool sequence_parallel;
	int eval_samples; /* 0: auto */
	int loss;	  /* enum data_task */
	/* the grid that decides about every bit: what was said, and what it means; 0: none */
	char as_if[64];
	int as_if_dp, as_if_mp;
	/* the batch: batch = dp * micro_batches * micro_batch_size */
	int batch, micro_batches, micro_batch_size;
	/* how it is run */
	int engine;   /* enum config_engine */
	int schedule; /* enum schedule_kind */
	int chunks;
	char layers_per_stage[1024];
	int grad_sync; /* enum grad_sync */
	double bucket_mb;
	int zero;
	/* the precision */
	int precision;	     /* enum dtype, or PRECISION_AUTO until the devices were asked */
	bool precision_kept; /* auto is that of what is resumed */
	int grad_dtype;	     /* enum config_grad_dtype */
	bool amp;
	double loss_scale; /* 0: dynamic */
	double init_scale, growth_factor, backoff_factor;
	int growth_interval;
	/* the optimizer */
	int optimizer; /* enum optimizer */
	double lr, momentum, beta1, beta2, eps, weight_decay, clip_grad;
	/* the learning rate over the steps */
	int lr_schedule; /* enum lr_kind */
	int lr_warmup, lr_step;
	double lr_min, lr_gamma;
	char lr_decay[32]; /* of wsd: a share of the steps, or a number of them */
	/* the run */
	int steps, warmup;
	int epochs;	   /* 0: steps are given; otherwise they follow from it and the data */
	int eval_every;	   /* 0: at the end only */
	int patience;	   /* evaluations; 0: any number */
	int max_bad_steps; /* 0: any number */
	int64_t seed;
	char inject[1024];
	double timeout; /* s */
	/* the data */
	char data[2 * PATH_MAX], test[2 * PATH_MAX];
	char target[1024], ignore[1024]; /* columns */
	int missing;			 /* enum data_missing */
	bool scale_target;
	double holdout;
	/* checkpoints */
	bool save;
	char save_every[32];   /* "": never; what it says: */
	int save_every_steps;  /* or 0 */
	double save_every_ms;  /* or 0 */
	int save_last;	       /* checkpoints that are kept; 0: all */
	char resume[PATH_MAX]; /* a run, a checkpoint, or "auto" */
	bool in_place;	       /* the run that goes on is that of run_dir */
	int restarts;
	int elastic; /* enum config_elastic */
	/* the machine */
	char device[128];
	uint64_t device_memory;
	int threads, pin;
	/* output */
	char run_dir[PATH_MAX], dump_check[PATH_MAX], config_file[PATH_MAX];
	int trace;	/* steps in timeline.json */
	int log_every;	/* steps; 0: as many as is good */
	int log_format; /* enum config_log_format */
	int progress;	/* enum config_progress */
	bool overwrite, quiet, verbose, breakdown;
	bool tensorboard; /* event files too */

	struct option_values values; /* who set what; feeds config.json */
};

extern const struct option_table config_table;

/* The arguments behind "kolm train". config->values.help is set if help is wanted. */
enum status config_read(struct config *c, int argc, char *const *argv, struct error *err);
/* resume.c, a part of it: the options of what is resumed, which the command line overrules. */
enum status config_read_resume(struct config *c, struct error *err);
/* course.c, a part of it: what must hold between the options of the course of a training. */
enum status config_check_course(struct config *c, struct error *err);
/* language.c, a part of it: what a preset and the kind of model say where nobody else does,
   and what must hold between sizes. */
enum status config_check_language(struct config *c, struct error *err);
/* When steps is known: a warm-up that a preset says is at most a tenth of them. */
void config_shorten_course(struct config *c);
/* Is it a model of language? */
bool config_is_language(const struct config *c);
/* When steps is known: with what warm-up they are measured; the rate of each of them. */
enum status config_settle_warmup(struct config *c, struct error *err);
enum status config_lr_schedule(const struct config *c, struct lr_schedule *s,
			       struct error *err);
/* as_if.c: what --as-if says; when the grid is known, what it leaves open; and batches then. */
enum status config_read_as_if(struct config *c, struct error *err);
enum status config_resolve_as_if(struct config *c, struct error *err);
enum status config_resolve_batch_as_if(struct config *c, struct error *err);
/* Samples of a step that there can be. */
int config_batch_max(const struct config *c);
/* When the grid is known: what two of batch, micro-batches and their size leave open. */
enum status config_resolve_batch(struct config *c, struct error *err);

#endif
