/*
 * train_memory.c - the memory of a run before it starts; see training.h
 *
 * The prediction is no formula of its own: the same code that builds a rank's engine builds
 * it on a device that keeps accounts but hands out addresses only.
 */
#include "base/units.h"
#include "base/util.h"
#include "cmd/training.h"

#include <stdio.h>

enum status training_predict(const struct training *t, struct prediction *most,
			     struct error *err)
{
	int ranks = grid_size(&t->grid);
	struct device_options options = {.threads = t->config.threads
							    ? t->config.threads
							    : imax(1, launch_cores() / ranks),
					 .memory = t->config.device_memory,
					 .ranks = ranks,
					 .plan = true};
	struct engine_options engine = training_engine_options(t);
	struct device *dev = NULL;
	enum status st;

	*most = (struct prediction){.rank = -1};
	engine.plan = true;
	TRY(device_open(&dev, t->config.device, &options, err));
	for (engine.plan_rank = 0; engine.plan_rank < ranks; engine.plan_rank++) {
		struct engine *e;

		TRY(engine_create(&e, dev, &engine, err));
		if (most->rank < 0 || device_memory(dev)->total > most->account.total)
			*most = (struct prediction){engine.plan_rank, *device_memory(dev)};
		engine_free(e);
	}
out:
	device_close(dev);
	return st;
}

enum status training_check_memory(const struct training *t, struct error *err)
{
	struct prediction p;
	char list[256], size[32], have[32];
	int n = 0;
	enum status st = OK;

	TRY(training_predict(t, &p, err));
	if (!p.account.limit || p.account.total <= p.account.limit)
		return OK;
	for (int k = 0; k < MEMORY_KIND_COUNT; k++) {
		units_format_size(p.account.now[k], size, sizeof(size));
		if (p.account.now[k])
			n += snprintf(list + n, sizeof(list) - (size_t)n, "%s%s %s",
				      n ? ", " : "", memory_kind_name((enum memory_kind)k),
				      size);
	}
	units_format_size(p.account.total, size, sizeof(size));
	units_format_size(p.account.limit, have, sizeof(have));
	FAIL(err, ERR_MEMORY, "out of device memory: rank %d needs %s of %s: %s", p.rank, size,
	     have, list);
	st = HINT(err, "use smaller layers or micro-batches, more ranks, --precision fp16, "
		       "--zero 1, or a larger --device-memory");
out:
	return st;
}
