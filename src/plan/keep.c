/* keep.c - see keep.h */
#include "plan/keep.h"

#include <math.h>
#include <string.h>

/* What is faster by less is not worth more memory; it also bounds how long a front can be. */
static const double worth = 1e-3;

static void insert(struct search_found *list, int count, int at,
		   const struct search_found *found)
{
	memmove(list + at + 1, list + at, (size_t)(count - at) * sizeof(*list));
	list[at] = *found;
}

void keep_least(struct search_found *list, int *count, int top,
		const struct search_found *found)
{
	int at = *count;

	if (at == top && list[at - 1].rank <= found->rank)
		return;
	while (at > 0 && list[at - 1].rank > found->rank)
		at--;
	if (*count < top)
		++*count;
	insert(list, *count - 1, at, found);
}

void keep_grid(struct search_grid *g, const struct search_found *found, bool fits)
{
	if (!g)
		return;
	g->least = fmin(g->least, found->forecast.memory);
	if (fits && found->forecast.step < g->step) {
		g->step = found->forecast.step;
		g->setup = found->setup;
	}
}

/* How many of the front need no more memory. */
static int place_of(const struct search_found *front, int count, double memory)
{
	int low = 0, high = count;

	while (low < high) {
		int middle = (low + high) / 2;

		if (front[middle].forecast.memory <= memory)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void keep_front(struct search_found front[SEARCH_FRONT_MAX], int *count,
		const struct search_found *found)
{
	double memory = found->forecast.memory, step = found->forecast.step;
	int at = place_of(front, *count, memory), end = at;

	if (at > 0 && front[at - 1].forecast.step <= step * (1 + worth))
		return;
	while (end < *count && front[end].forecast.step >= step)
		end++;
	if (at > 0 && front[at - 1].forecast.memory == memory)
		at--;
	memmove(front + at, front + end, (size_t)(*count - end) * sizeof(*front));
	*count -= end - at;
	if (*count < SEARCH_FRONT_MAX)
		insert(front, (*count)++, at, found);
}
