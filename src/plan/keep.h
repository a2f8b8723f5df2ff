/* keep.h - what a search keeps of all that it tries. Only for plan/. */
#ifndef KOLM_PLAN_KEEP_H
#define KOLM_PLAN_KEEP_H

#include "plan/search.h"

/* The least of them by rank, in order, at most top; of equal ones the first. */
void keep_least(struct search_found *list, int *count, int top,
		const struct search_found *found);
/* NULL: nowhere. */
void keep_grid(struct search_grid *g, const struct search_found *found, bool fits);
/* Those that none beats in both memory and step; see search.h. */
void keep_front(struct search_found front[SEARCH_FRONT_MAX], int *count,
		const struct search_found *found);

#endif
