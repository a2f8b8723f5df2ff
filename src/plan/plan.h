/*
 * plan.h - a whole planning: what is searched on which cluster, and what was found. As JSON it
 * is what kolm plan --json prints, and a report makes it again from that.
 */
#ifndef KOLM_PLAN_PLAN_H
#define KOLM_PLAN_PLAN_H

#include "base/json.h"
#include "plan/explain.h"
#include "plan/search.h"

struct plan {
	struct search_space space;
	struct cluster cluster;
	struct search search;	/* the best ones are simulated */
	struct outline outline; /* of the first of them */
	/* The fastest on fewer devices, see search_devices; count 0: was not looked for. */
	struct search_found devices[SEARCH_COUNTS_MAX];
	int device_count;
	/* The first of the best ones taken apart; without stages where it is too large. */
	struct explanation first;
};

/* Search, simulate and explain. ERR_FAILED: nothing fits. */
enum status plan_create(struct plan **out, const struct search_space *space,
			const struct cluster *c, bool devices, struct error *err);
void plan_free(struct plan *p);

/* How much the step of the first one changes, as a share, where a constant is a tenth larger.
 */
double plan_sensitivity(const struct plan *p, enum cluster_constant which);

void plan_put(struct json *j, const struct plan *p, bool sensitive);
/* Plan again what the JSON of a plan says; where names it in messages. */
enum status plan_read(struct plan **out, const char *bytes, size_t size, const char *where,
		      struct error *err);

#endif
