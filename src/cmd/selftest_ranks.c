/* selftest_ranks.c - the kernels on one rank, and everything that ranks say to each other on
   two; see selftest_report.h */
#include "cmd/selftest_report.h"
#include "base/util.h"
#include "cmd/gpus.h"
#include "cmd/selftest.h"
#include "comm/comm.h"
#include "comm/shm/shm.h"
#include "launch/launch.h"
#include "model/collective.h"

#include <math.h>
#include <stdio.h>

enum { RANKS = 2, ELEMENTS = 1003, TIMEOUT_MS = 600 * 1000 };

/* ---- kernels ---- */

static void try_case(struct selftest *t, const struct selftest_plan *plan,
		     const struct selftest_case *c)
{
	for (int i = 0; i < plan->rounds; i++)
		if (!selftest_try(t, c)) {
			selftest_add(plan->report, false, c->name, "shape %d: %s", i,
				     t->difference);
			return;
		}
	selftest_add(plan->report, true, c->name, "%d shapes", plan->rounds);
}

static enum status run_kernels(struct rank *r, void *arg, struct error *err)
{
	static const struct selftest_case *const all[] = {selftest_linear, selftest_rows,
							  selftest_tokens, selftest_sums};
	const struct selftest_plan *plan = arg;
	struct device_options o = {.threads = r->cores, .cache = gpus_cache()};
	struct selftest t = {0};
	enum status st;

	TRY(selftest_open(&t, plan->device, &o, plan->seed, false, err));
	snprintf(plan->report->device, sizeof(plan->report->device), "%s",
		 device_description(t.dev[TESTED]));
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		for (const struct selftest_case *c = all[i]; c->name; c++) {
			rank_at(r, "%s", c->name);
			try_case(&t, plan, c);
		}
out:
	selftest_close(&t);
	return st;
}

static void launch(const struct selftest_plan *plan, int ranks, rank_fn *fn, const char *what)
{
	struct launch l = {.ranks = ranks,
			   .timeout_ms = TIMEOUT_MS,
			   .shared = (size_t)ranks * shm_room(ELEMENTS * sizeof(float))};
	struct error err = {0};

	if (launch_run(&l, fn, (void *)(uintptr_t)plan, &err) != OK)
		selftest_add(plan->report, false, what, "%s", err.msg);
}

void selftest_do_kernels(const struct selftest_plan *plan)
{
	launch(plan, 1, run_kernels, "kernels");
}

/* ---- collectives ---- */

static enum status source_of_world(void *arg, size_t bytes, void **out, struct error *err)
{
	return comm_alloc(arg, bytes, out, err);
}

static void back_to_world(void *arg, void *memory)
{
	comm_give_back(arg, memory);
}

/* Small whole numbers: every sum of them is exact in every type. */
static float value_of(int rank, size_t i)
{
	return (float)(i % 13) + (float)(16 * rank);
}

static float sum_of(size_t i)
{
	float sum = 0;

	for (int r = 0; r < RANKS; r++)
		sum += value_of(r, i);
	return sum;
}

/* What element i is to be, if that is defined; otherwise NAN. */
static float wanted(const struct comm *c, enum comm_op op, size_t i)
{
	int me = comm_rank(c), owner = 0;
	size_t begin, end;

	for (int r = 0; r < RANKS; r++) {
		comm_slice(c, ELEMENTS, r, &begin, &end);
		if (i >= begin && i < end)
			owner = r;
	}
	switch (op) {
	case COMM_BARRIER:
		return value_of(me, i);
	case COMM_ALLREDUCE:
		return sum_of(i);
	case COMM_REDUCE_SCATTER:
		return owner == me ? sum_of(i) : NAN;
	case COMM_ALLGATHER:
		return value_of(owner, i);
	case COMM_BROADCAST:
		return value_of(0, i);
	case COMM_SCATTER:
		return owner == me ? value_of(0, i) : NAN;
	case COMM_GATHER:
		return me == 0 ? value_of(owner, i) : NAN;
	}
	return NAN;
}

struct room {
	struct device *dev;
	char between[32]; /* ", NCCL 2.28.9", where that is what devices go through */
	void *memory;
	float values[ELEMENTS];
};

static bool check_values(struct room *room, enum dtype type, const struct comm *c,
			 enum comm_op op, char *where, size_t size)
{
	device_read(room->dev, room->memory, type, ELEMENTS, room->values);
	for (size_t i = 0; i < ELEMENTS; i++) {
		float value = wanted(c, op, i);

		if (isnan(value) || room->values[i] == value)
			continue;
		snprintf(where, size, "%s, rank %d, element %zu: %.9g, wanted %.9g",
			 precision_names[type], comm_rank(c), i, (double)room->values[i],
			 (double)value);
		return false;
	}
	return true;
}

static enum status run_op(struct room *room, struct comm *c, enum comm_op op, enum dtype type,
			  struct error *err)
{
	enum status st;

	for (size_t i = 0; i < ELEMENTS; i++)
		room->values[i] = value_of(comm_rank(c), i);
	device_write(room->dev, room->memory, type, ELEMENTS, room->values);
	TRY(collective_run(room->dev, c, op, room->memory, ELEMENTS, type, err));
	TRY(comm_run(c, COMM_BARRIER, NULL, 0, DTYPE_BYTE, 0, err));
out:
	return st;
}

/* A kind in all types: rank 0 says whether it was well, each rank where it was not. */
static enum status try_op(struct room *room, struct rank *r, const struct selftest_plan *plan,
			  enum comm_op op, struct error *err)
{
	char name[64], where[256];
	bool well = true;
	enum status st = OK;

	snprintf(name, sizeof(name), "%s, %d ranks%s", comm_op_name(op), RANKS, room->between);
	rank_at(r, "%s", name);
	for (int type = 0; type < PRECISION_COUNT; type++) {
		TRY(run_op(room, r->world, op, (enum dtype)type, err));
		if (well &&
		    !check_values(room, (enum dtype)type, r->world, op, where, sizeof(where))) {
			well = false;
			if (r->number == 0)
				selftest_add(plan->report, false, name, "%s", where);
			else
				return FAIL(err, ERR_FAILED, "%s: %s", name, where);
		}
	}
	if (well && r->number == 0)
		selftest_add(plan->report, true, name, "fp32, fp16, bf16");
out:
	return st;
}

/* Where the devices reach each other without the host, once more in that way. */
static enum status run_joined(struct room *room, struct rank *r,
			      const struct selftest_plan *plan, struct error *err)
{
	struct device_card *cards = NULL;
	struct device_group *devices = NULL;
	char why[96];
	enum status st;

	TRY(collective_introduce(room->dev, r->world, &cards, err));
	TRY(collective_join(room->dev, r->world, r->world, cards, QUEUE_SUMS, &devices, why,
			    sizeof(why), err));
	if (devices) {
		snprintf(room->between, sizeof(room->between), ", %.28s",
			 cards[r->number].through);
		comm_set_devices(r->world, devices);
		for (int op = COMM_ALLREDUCE; op < COMM_OP_COUNT; op++)
			TRY(try_op(room, r, plan, (enum comm_op)op, err));
		device_finish(room->dev);
	}
out:
	comm_set_devices(r->world, NULL);
	device_leave(devices, st != OK);
	comm_give_back(r->world, cards);
	return st;
}

static enum status run_collectives(struct rank *r, void *arg, struct error *err)
{
	const struct selftest_plan *plan = arg;
	struct device_options o = {.threads = r->cores,
				   .rank = r->number,
				   .ranks = r->ranks,
				   .local = r->number,
				   .cache = gpus_cache()};
	struct room room = {0};
	enum status st;

	TRY(device_open(&room.dev, plan->device, &o, err));
	device_share(room.dev, source_of_world, back_to_world, r->world);
	TRY(device_alloc_shared(room.dev, MEMORY_COMM, ELEMENTS * sizeof(float), "messages",
				&room.memory, err));
	for (int op = COMM_ALLREDUCE; op < COMM_OP_COUNT; op++)
		TRY(try_op(&room, r, plan, (enum comm_op)op, err));
	TRY(run_joined(&room, r, plan, err));
out:
	device_close(room.dev);
	return st;
}

void selftest_do_collectives(const struct selftest_plan *plan)
{
	launch(plan, RANKS, run_collectives, "collectives");
}
