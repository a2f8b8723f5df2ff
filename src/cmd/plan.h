/* plan.h - between the files of kolm plan. Only for cmd/plan*. */
#ifndef KOLM_CMD_PLAN_H
#define KOLM_CMD_PLAN_H

#include "base/error.h"
#include "plan/setup.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct plan_settings {
	char cluster[PATH_MAX], validate[PATH_MAX], svg[PATH_MAX];
	char set[1024]; /* changes of the cluster's constants */
	int model;
	struct setup setup; /* of its grid and micro_batch 0 is any */
	uint64_t memory;    /* bytes; 0: as the cluster says */
	int top;
	bool sensitivity;
	bool as_json;
};

/* Predict every row of a table and say how far off it is. */
enum status plan_validate(const struct plan_settings *o, struct error *err);
/* Find the fastest ways to train a model. */
enum status plan_search(const struct plan_settings *o, struct error *err);

#endif
