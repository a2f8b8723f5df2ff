/*
 * train_check.h - what a run of kolm train has to have left: its files and nothing else,
 * and in them what fits the grid and each other. For test_train.c.
 */
#ifndef KOLM_TESTS_TRAIN_CHECK_H
#define KOLM_TESTS_TRAIN_CHECK_H

#include "train_case.h"

#include <dirent.h>
#include <jansson.h>

/* What is wrong, if anything. */
struct verdict {
	char why[2048];
};

/* Say so and leave the function with false. */
#define WANT(condition, ...)                                           \
	do {                                                           \
		if (!(condition)) {                                    \
			snprintf(v->why, sizeof(v->why), __VA_ARGS__); \
			return false;                                  \
		}                                                      \
	} while (0)

/* What a run has computed. */
struct numbers {
	double losses[STEPS], held_out;
};

static inline double number_of(const json_t *o, const char *name)
{
	const json_t *value = json_object_get(o, name);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

/* As a share of the larger one. */
static inline double difference(double a, double b)
{
	if (!isfinite(a) || !isfinite(b))
		return INFINITY;
	return a == b ? 0 : fabs(a - b) / fmax(fabs(a), fabs(b));
}

/* The parts add up to the whole. */
static inline bool check_breakdown(const json_t *o, double whole, struct verdict *v)
{
	const json_t *parts = json_object_get(o, "breakdown_ms");
	const char *name;
	const json_t *value;
	double sum = 0;

	WANT(json_object_size(parts) == 5, "a breakdown of %zu parts", json_object_size(parts));
	json_object_foreach((json_t *)(uintptr_t)parts, name, value)
	{
		WANT(json_is_number(value) && json_number_value(value) >= -1e-6 * whole,
		     "%s takes %g ms", name, number_of(parts, name));
		sum += json_number_value(value);
	}
	WANT(whole > 0 && difference(sum, whole) <= 1e-6, "a breakdown of %.9g ms for %.9g ms",
	     sum, whole);
	return true;
}

/* Every layer once in every slice of every replica. */
static inline bool check_layers(const struct train_case *c, const json_t *ranks,
				struct verdict *v)
{
	int seen[64] = {0}, replicas = c->grid.dp * c->grid.mp;

	for (int i = 0; i < grid_size(&c->grid); i++) {
		const json_t *layers =
			json_object_get(json_array_get(ranks, (size_t)i), "layers");

		WANT(json_array_size(layers) > 0, "rank %d has no layers", i);
		for (size_t k = 0; k < json_array_size(layers); k++) {
			int layer = (int)json_integer_value(json_array_get(layers, k));

			WANT(layer >= 0 && layer < c->depth, "rank %d has layer %d", i, layer);
			seen[layer]++;
		}
	}
	for (int k = 0; k < c->depth; k++)
		WANT(seen[k] == replicas, "layer %d is there %d times, not %d", k, seen[k],
		     replicas);
	return true;
}

static inline bool check_rank(const struct train_case *c, const json_t *rank, int i,
			      struct verdict *v)
{
	struct coords at = grid_coords(&c->grid, i);
	double busy = number_of(rank, "utilization");

	WANT(number_of(rank, "rank") == i && number_of(rank, "dp") == at.dp &&
		     number_of(rank, "pp") == at.pp && number_of(rank, "mp") == at.mp,
	     "rank %d is somewhere else", i);
	WANT(busy >= 0 && busy <= 1, "rank %d computes for %g of a step", i, busy);
	WANT(number_of(rank, "params_bytes") > 0 &&
		     number_of(rank, "peak_bytes") >= number_of(rank, "params_bytes"),
	     "memory of rank %d", i);
	return check_breakdown(rank, number_of(rank, "step_ms"), v);
}

static inline bool check_summary(const struct train_case *c, const json_t *s,
				 struct numbers *out, struct verdict *v)
{
	const json_t *grid = json_object_get(s, "grid"),
		     *ranks = json_object_get(s, "per_rank");
	const json_t *ms = json_object_get(s, "step_ms");
	double min = number_of(ms, "min"), mean = number_of(ms, "mean"),
	       max = number_of(ms, "max");
	double bubble = number_of(s, "bubble"), predicted = number_of(s, "predicted_ms");

	WANT(number_of(grid, "dp") == c->grid.dp && number_of(grid, "pp") == c->grid.pp &&
		     number_of(grid, "mp") == c->grid.mp &&
		     number_of(s, "ranks") == grid_size(&c->grid),
	     "another grid");
	WANT(number_of(s, "steps") == STEPS && json_is_false(json_object_get(s, "interrupted")),
	     "%g steps", number_of(s, "steps"));
	WANT(min > 0 && mean >= min * (1 - 1e-9) && max >= mean * (1 - 1e-9),
	     "steps of %.9g to %.9g ms, %.9g in the mean", min, max, mean);
	WANT(bubble >= 0 && bubble < 1, "a bubble of %g", bubble);
	/* DataParallel is not predicted. */
	WANT(predicted > 0 || !strcmp(c->sync, "master"), "a prediction of %g ms", predicted);
	if (!check_breakdown(s, mean, v))
		return false;
	WANT((int)json_array_size(ranks) == grid_size(&c->grid), "%zu ranks",
	     json_array_size(ranks));
	for (int i = 0; i < grid_size(&c->grid); i++)
		if (!check_rank(c, json_array_get(ranks, (size_t)i), i, v))
			return false;
	out->held_out = number_of(json_object_get(s, "held_out"), "loss");
	WANT(c->is_virtual || c->csv == isfinite(out->held_out), "a held-out loss of %g",
	     out->held_out);
	return check_layers(c, ranks, v);
}

/* A line per step, the last of them as the summary has it. */
static inline bool check_metrics(const struct train_case *c, const json_t *summary,
				 struct numbers *out, struct verdict *v)
{
	FILE *f = fopen("run/metrics.jsonl", "r");
	char line[4096];
	int n = 0;

	WANT(f, "no metrics.jsonl");
	while (fgets(line, sizeof(line), f)) {
		json_t *step = json_loads(line, 0, NULL);

		if (n < STEPS)
			out->losses[n] = number_of(step, "loss");
		n += number_of(step, "step") == n;
		json_decref(step);
	}
	fclose(f);
	WANT(n == STEPS, "metrics of %d steps", n);
	WANT(c->is_virtual || out->losses[STEPS - 1] == number_of(summary, "final_loss"),
	     "the last loss is %.9g, in summary.json %.9g", out->losses[STEPS - 1],
	     number_of(summary, "final_loss"));
	return true;
}

/* The names in a folder, but for those that belong there. */
static inline bool check_folder(const char *path, const char *const *belong, struct verdict *v)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	int missing = 0;

	WANT(folder, "no folder %s", path);
	for (int i = 0; belong[i]; i++)
		missing++;
	v->why[0] = '\0';
	while ((entry = readdir(folder))) {
		bool known = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");

		for (int i = 0; belong[i] && !known; i++)
			if (!strcmp(entry->d_name, belong[i])) {
				known = true;
				missing--;
			}
		if (!known)
			snprintf(v->why, sizeof(v->why), "%s is left in %s", entry->d_name,
				 path);
	}
	closedir(folder);
	if (v->why[0])
		return false;
	WANT(!missing, "%d files are missing in %s", missing, path);
	return true;
}

/* Everything that is in the folder of the run. */
static inline bool check_run(const struct train_case *c, struct numbers *out, struct verdict *v)
{
	static const char *const files[] = {"command.txt",  "config.json",   "metrics.jsonl",
					    "summary.json", "timeline.json", NULL};
	json_error_t where;
	json_t *summary;
	bool ok;

	if (!check_folder("run", files, v))
		return false;
	summary = json_load_file("run/summary.json", 0, &where);
	WANT(summary, "summary.json: %s", where.text);
	ok = check_summary(c, summary, out, v) && check_metrics(c, summary, out, v);
	json_decref(summary);
	return ok;
}

#endif
