/*
 * train_memory.c - the memory of a run before it starts; see training.h
 *
 * The prediction is no formula of its own: the same code that builds a rank's engine builds
 * it on a device that keeps accounts but hands out addresses only.
 */
#include "base/room.h"
#include "base/machine.h"
#include "base/units.h"
#include "base/util.h"
#include "cmd/training.h"
#include "comm/shm/shm.h"
#include "device/gpus.h"

#include <stdlib.h>
#include <stdio.h>

/* What comm_alloc gives for other things than the engine, per rank and per pair of ranks. */
enum { SHARED_REST = 256 << 10, SHARED_PAIR = 512 };

/* What a rank takes of comm_alloc: with and without what is lost between the pieces. */
struct shared {
	uint64_t room, bytes;
};

/* In the place of comm_alloc: every piece has an address of its own, and nothing there. */
static enum status count_shared(void *arg, size_t bytes, void **out, struct error *err)
{
	struct shared *s = arg;

	(void)err;
	s->room += shm_room(bytes);
	s->bytes += bytes;
	*out = (void *)(UINTPTR_MAX / 2 + s->room); /* NOLINT: it is never followed */
	return OK;
}

static bool is_here(const struct training *t, int rank)
{
	return !t->rank || !t->rank->hosts || t->rank->hosts[rank] == t->rank->host;
}

/* One rank's part of it. */
static enum status predict_rank(const struct training *t, struct device *dev,
				const struct engine_options *options, struct prediction *p,
				struct error *err)
{
	int ranks = grid_size(&t->grid);
	struct shared shared = {0};
	struct memory_account account;
	struct engine *e;
	uint64_t copy; /* of what a checkpoint keeps */
	enum status st;

	if (ranks > 1)
		device_share(dev, count_shared, NULL, &shared);
	TRY(engine_create(&e, dev, options, err));
	account = *device_memory(dev);
	copy = t->config.save || *t->config.save_every ? snapshot_bytes(e) : 0;
	engine_free(e);
	if (p->rank < 0 || account.total > p->account.total) {
		p->rank = options->plan_rank;
		p->account = account;
	}
	if (!is_here(t, options->plan_rank))
		return OK;
	if (ranks > 1)
		p->shared += shared.room + SHARED_REST + (uint64_t)ranks * SHARED_PAIR;
	if (device_is_virtual(dev))
		return OK;		  /* there is nothing in its memory */
	if (gpus_named(t->config.device)) /* this machine has only what ranks share of it */
		account.total = shared.bytes;
	p->total += account.total + copy;
	if (account.total - shared.bytes + copy > p->own)
		p->own = account.total - shared.bytes + copy;
out:
	return st;
}

static enum status predict(const struct training *t, struct prediction *p, struct error *err)
{
	int ranks = grid_size(&t->grid);
	struct device_options options = {.kernels = getenv("KOLM_CPU"),
					 .threads = t->config.threads
							    ? t->config.threads
							    : imax(1, machine_cores() / ranks),
					 .memory = t->config.device_memory,
					 .ranks = ranks,
					 .plan = true};
	struct engine_options engine = training_engine_options(t);
	struct device *dev = NULL;
	enum status st;

	*p = (struct prediction){.rank = -1};
	engine.plan = true;
	engine.world = NULL; /* it has no groups, and is any of them in turn */
	engine.observer = (struct engine_observer){0};
	TRY(device_open(&dev, t->config.device, &options, err));
	for (engine.plan_rank = 0; engine.plan_rank < ranks; engine.plan_rank++)
		TRY(predict_rank(t, dev, &engine, p, err));
out:
	device_close(dev);
	return st;
}

enum status training_plan_memory(struct training *t, struct error *err)
{
	const struct prediction *p = &t->memory;
	char list[256], size[32], have[32];
	int n = 0;
	enum status st = OK;

	TRY(predict(t, &t->memory, err));
	if (!p->account.limit || p->account.total <= p->account.limit)
		return OK;
	for (int k = 0; k < MEMORY_KIND_COUNT; k++) {
		units_format_size(p->account.now[k], size, sizeof(size));
		if (p->account.now[k])
			n += snprintf(list + n, sizeof(list) - (size_t)n, "%s%s %s",
				      n ? ", " : "", memory_kind_name((enum memory_kind)k),
				      size);
	}
	units_format_size(p->account.total, size, sizeof(size));
	units_format_size(p->account.limit, have, sizeof(have));
	FAIL(err, ERR_MEMORY, "out of device memory: rank %d needs %s of %s: %s", p->rank, size,
	     have, list);
	st = HINT(err, "use smaller layers or micro-batches, more ranks, --precision fp16, "
		       "--zero 1, or a larger --device-memory");
out:
	return st;
}

enum status training_check_room(const struct training *t, struct error *err)
{
	int ranks = t->rank ? t->rank->locals : grid_size(&t->grid);
	const struct prediction *p = &t->memory;
	uint64_t shared = shm_size(ranks, p->shared);
	char all[96];
	enum status st;

	snprintf(all, sizeof(all), "out of memory: %d rank%s here %s", ranks,
		 ranks == 1 ? "" : "s", ranks == 1 ? "needs" : "need");
	TRY(room_check(ROOM_MEMORY, p->total, all, err));
	TRY(room_check(ROOM_FILE, shared, "out of memory: the ranks share", err));
	TRY(room_check(ROOM_ADDRESSES, shared + p->own,
		       "out of memory: each rank maps, with what it shares with the others,",
		       err));
	TRY(room_check(ROOM_OWN, p->own, "out of memory: each rank has for itself", err));
out:
	if (st == ERR_MEMORY)
		HINT(err,
		     "use smaller layers or micro-batches, fewer ranks, or a larger limit");
	return st;
}
