/* plan.h - between the files of kolm plan. Only for cmd/plan*. */
#ifndef KOLM_CMD_PLAN_H
#define KOLM_CMD_PLAN_H

#include "base/error.h"
#include "base/text.h"
#include "plan/plan.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define PLAN_PARETOS(X)     \
	X(NONE, "none")     \
	X(MEMORY, "memory") \
	X(DEVICES, "devices")
#define PLAN_PARETO(name, ...) PLAN_PARETO_##name,
enum plan_pareto { PLAN_PARETOS(PLAN_PARETO) };

struct plan_settings {
	char cluster[PATH_MAX], validate[PATH_MAX], svg[PATH_MAX], out[PATH_MAX];
	char calibrate[PATH_MAX];
	char set[1024]; /* changes of the cluster's constants */
	int model;
	struct setup setup; /* of its grid, micro_batch and chunks 0 is any */
	/* Of these 0 is any, otherwise one more than what it is. */
	int schedule, recompute, spread, zero;
	uint64_t memory; /* bytes; 0: as the cluster says */
	int top, pareto; /* enum plan_pareto */
	bool sensitivity, explain;
	bool as_json;
};

/* Predict every row of a table and say how far off it is. */
enum status plan_validate(const struct plan_settings *o, struct error *err);
/* Write a cluster's file of this machine. */
enum status plan_calibrate(const struct plan_settings *o, struct error *err);
/* Find the fastest ways to train a model. */
enum status plan_search(const struct plan_settings *o, struct error *err);

/* plan_text.c: what was found, as text. */
void plan_text_add(struct text *out, const struct plan *p, const struct plan_settings *o);
/* plan_explain.c: the first one taken apart. */
void plan_explain_add(struct text *out, const struct plan *p);
/* plan_files.c: pictures, a page and plan.json in a folder. */
enum status plan_files_write(const struct plan *p, const char *folder, struct error *err);

#endif
