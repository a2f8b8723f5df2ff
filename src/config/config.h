/*
 * config.h - everything that defines a training run, read from the command line and
 * a JSON file, checked and resolved before anything else happens.
 */
#ifndef KOLM_CONFIG_CONFIG_H
#define KOLM_CONFIG_CONFIG_H

#include "config/option.h"

#include <limits.h>

enum { CHECK_STEPS_MAX = 20 }; /* --dump-check writes every batch to disk */

enum config_pin { PIN_AUTO, PIN_NONE };
enum config_transport { TRANSPORT_AUTO, TRANSPORT_SHM, TRANSPORT_MPI };
enum config_grad_dtype { GRAD_AUTO, GRAD_FP32, GRAD_16 };
enum config_engine { ENGINE_HYBRID, ENGINE_BASE };
enum config_log_format { LOG_TEXT, LOG_JSONL };
enum config_progress { PROGRESS_AUTO, PROGRESS_SCREEN, PROGRESS_PLAIN, PROGRESS_RANKS };

struct config {
	/* the grid; 0: auto */
	int dp, pp, mp;
	int nproc_per_node;
	int transport; /* enum config_transport */
	/* the model */
	int model; /* "mlp", the only one */
	int dim, depth;
	int activation; /* enum activation */
	int loss;	/* enum data_task */
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
	int precision;	/* enum dtype */
	int grad_dtype; /* enum config_grad_dtype */
	bool amp;
	double loss_scale; /* 0: dynamic */
	double init_scale, growth_factor, backoff_factor;
	int growth_interval;
	/* the optimizer */
	int optimizer; /* enum optimizer */
	double lr, momentum, beta1, beta2, eps, weight_decay, clip_grad;
	/* the run */
	int steps, warmup;
	int64_t seed;
	char data[2 * PATH_MAX];
	char inject[1024];
	double timeout; /* s */
	double holdout;
	/* the machine */
	char device[128];
	uint64_t device_memory;
	int threads, pin;
	/* output */
	char run_dir[PATH_MAX], dump_check[PATH_MAX], config_file[PATH_MAX];
	int trace;	/* steps in timeline.json */
	int log_format; /* enum config_log_format */
	int progress;	/* enum config_progress */
	bool overwrite, quiet, verbose, breakdown;

	struct option_values values; /* who set what; feeds config.json */
};

extern const struct option_table config_table;

/* The arguments behind "kolm train". config->values.help is set if help is wanted. */
enum status config_read(struct config *c, int argc, char *const *argv, struct error *err);
/* When the grid is known: what two of batch, micro-batches and their size leave open. */
enum status config_resolve_batch(struct config *c, struct error *err);

#endif
