/* plan.h - between the files of kolm plan. Only for cmd/plan*. */
#ifndef KOLM_CMD_PLAN_H
#define KOLM_CMD_PLAN_H

#include "base/error.h"

#include <limits.h>
#include <stdbool.h>

struct plan_settings {
	char cluster[PATH_MAX], validate[PATH_MAX];
	bool as_json;
};

/* Predict every row of a table and say how far off it is. */
enum status plan_validate(const struct plan_settings *o, struct error *err);

#endif
