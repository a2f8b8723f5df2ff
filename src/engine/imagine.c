/* imagine.c - see imagine.h */
#include "engine/imagine.h"
#include "comm/alone.h"
#include "engine/impl.h"
#include "engine/predict_impl.h"

#include <stdlib.h>
#include <string.h>

/* A rank that is looked at. */
struct lone {
	struct pace pace;
	struct device *dev;
	struct comm *world;
	struct engine *e;
};

static void lone_close(struct lone *l)
{
	engine_free(l->e);
	device_close(l->dev);
	comm_free(l->world);
	*l = (struct lone){.e = NULL};
}

static enum status lone_open(struct lone *l, const struct engine_options *options, int rank,
			     const char *device, uint64_t memory, struct error *err)
{
	int ranks = grid_size(&options->grid);
	struct device_options d = {
		.rank = rank, .ranks = ranks, .memory = memory, .pace = &l->pace};
	struct engine_options o = *options;
	enum status st;

	TRY(device_open(&l->dev, device, &d, err));
	if (!device_is_virtual(l->dev)) {
		st = FAIL(err, ERR_USAGE, "the device '%s' is not a virtual one", device);
		goto out;
	}
	l->pace.hurried = true;
	TRY(comm_open_alone(&l->world, rank, ranks, err));
	comm_observe(l->world, &l->pace, NULL);
	o.world = l->world;
	o.pace = &l->pace;
	o.records = NULL;
	o.observer = (struct engine_observer){0};
	o.plan = false;
	o.keep_ms = 0;
	TRY(engine_create(&l->e, l->dev, &o, err));
out:
	return st;
}

/* What the parts of a step take on it, as a row for every rank that is like it. */
static enum status try_parts(const struct lone *l, double **rows, struct error *err)
{
	const struct grid *grid = &l->e->options.grid;
	size_t size = cost_row_size(l->e);
	struct coords at = l->e->at;
	struct trial t = {.e = l->e};
	double *own;
	enum status st;

	if (!*rows)
		*rows = calloc((size_t)l->e->ranks * size, sizeof(**rows));
	if (!*rows)
		return FAIL(err, ERR_MEMORY, "no memory for what %d ranks do", l->e->ranks);
	own = *rows + size * (size_t)l->e->number;
	TRY(trial_run(&t, own, err));
	for (at.dp = 1; at.dp < grid->dp; at.dp++)
		memcpy(*rows + size * (size_t)grid_rank(grid, at), own, size * sizeof(*own));
out:
	return st;
}

static void account_for(struct imagined *im, const struct lone *l)
{
	const struct memory_account *account = device_memory(l->dev);
	const struct grid *grid = &l->e->options.grid;
	struct coords at = l->e->at;

	if (account->total_peak > im->account.total_peak) {
		im->fullest = l->e->number;
		im->account = *account;
	}
	for (; im->bytes && at.dp < grid->dp; at.dp++)
		im->bytes[grid_rank(grid, at)] = account->total_peak;
}

enum status engine_imagine(const struct engine_options *options, const char *device,
			   uint64_t memory, bool meet, struct imagined *im, struct error *err)
{
	const struct grid *grid = &options->grid;
	struct lone l = {.e = NULL};
	double *rows = NULL;
	enum status st = OK;

	im->account = (struct memory_account){0};
	for (int i = 0; i < grid->pp * grid->mp; i++) {
		struct coords at = {.pp = i / grid->mp, .mp = i % grid->mp};

		lone_close(&l);
		TRY(lone_open(&l, options, grid_rank(grid, at), device, memory, err));
		TRY(try_parts(&l, &rows, err));
		account_for(im, &l);
	}
	TRY(engine_compose(l.e, rows, meet, &im->step_ms, &im->bubble, err));
out:
	free(rows);
	lone_close(&l);
	return st;
}
