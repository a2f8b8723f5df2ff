/* comm.c - what all transports share: the list of requests, waiting; groups are in group.c. */
#include "comm/impl.h"
#include "base/clock.h"

#include <assert.h>
#include <sched.h>
#include <string.h>
#include <time.h>

enum {
	LINGER_NS = 200 * 1000, /* before sleeping */
	LOOKS = 32,		/* from one look at the clock to the next */
	LONG_NS = 500 * 1000,	/* for another to have the core */
	NAP_NS = 20 * 1000,	/* between looks at something else */
	SELDOM = 16,		/* times that it took, until the core is handed on again */
};

int comm_progress(struct comm *world)
{
	struct comm_request **p = &world->first, *r, *last = NULL;
	int completed = 0;

	while ((r = *p)) {
		r->comm->ops->advance(r);
		if (r->done) {
			*p = r->next;
			world->remotes -= r->remote;
			comm_record_end(world, r);
			completed++;
			continue;
		}
		last = r;
		p = &r->next;
	}
	world->last = last;
	if (world->status)
		world->status->completed += (uint64_t)completed;
	return completed;
}

/* What the rank itself works on data while it could compute. */
static void progress_and_count(struct comm *world)
{
	int64_t worked = world->worked;

	comm_progress(world);
	world->times.busy += world->worked - worked;
}

static void start(struct comm_request *r)
{
	struct comm *world = r->comm->world;

	r->next = NULL;
	r->arrived = r->worked = r->done = false;
	r->posted = pace_now(world->pace);
	comm_count(world, r);
	if (world->place)
		memcpy(r->place, world->place, COMM_PLACE);
	if (r->comm->links && r->kind == REQUEST_SEND)
		r->carried = links_carry(r);
	comm_lock(world);
	r->comm->ops->enter(r);
	world->remotes += r->remote;
	if (world->last)
		world->last->next = r;
	else
		world->first = r;
	world->last = r;
	progress_and_count(world);
	if (world->lock && world->remotes)
		pthread_cond_signal(&world->started);
	comm_unlock(world);
}

void comm_isend(struct comm *c, int peer, int channel, const void *data, size_t bytes,
		struct comm_request *r)
{
	assert(channel >= 0 && channel < COMM_CHANNELS);
	*r = (struct comm_request){.kind = REQUEST_SEND,
				   .comm = c,
				   .peer = peer,
				   .channel = channel,
				   .data = (void *)(uintptr_t)data,
				   .bytes = bytes};
	start(r);
}

void comm_irecv(struct comm *c, int peer, int channel, void *data, size_t bytes,
		struct comm_request *r)
{
	assert(channel >= 0 && channel < COMM_CHANNELS);
	*r = (struct comm_request){.kind = REQUEST_RECEIVE,
				   .comm = c,
				   .peer = peer,
				   .channel = channel,
				   .data = data,
				   .bytes = bytes};
	start(r);
}

/* Bytes are of something whole: nobody adds them up or cuts them anywhere. */
static bool is_for_bytes(const struct comm *c, enum comm_op op, size_t n)
{
	switch (op) {
	case COMM_ALLGATHER:
	case COMM_SCATTER:
	case COMM_GATHER:
		return n % (size_t)c->size == 0;
	case COMM_BROADCAST:
	case COMM_BARRIER:
		return true;
	case COMM_ALLREDUCE:
	case COMM_REDUCE_SCATTER:
		break;
	}
	return false;
}

void comm_start(struct comm *c, enum comm_op op, void *buf, size_t n, enum dtype dtype,
		int root, struct comm_request *r)
{
	bool rooted = comm_op_has_root(op);

	assert(!rooted || (root >= 0 && root < c->size));
	assert(dtype != DTYPE_BYTE || is_for_bytes(c, op, n));
	*r = (struct comm_request){.kind = REQUEST_COLLECTIVE,
				   .comm = c,
				   .op = op,
				   .data = buf,
				   .n = op == COMM_BARRIER ? 0 : n,
				   .dtype = dtype,
				   .root = rooted ? root : 0};
	start(r);
}

bool comm_test(struct comm_request *r)
{
	bool done;

	if (r->kind == REQUEST_NONE)
		return true;
	comm_lock(r->comm->world);
	if (!r->done)
		comm_progress(r->comm->world);
	done = r->done;
	comm_unlock(r->comm->world);
	return done;
}

void comm_poke(struct comm *world)
{
	comm_lock(world);
	if (world->first)
		progress_and_count(world);
	comm_unlock(world);
}

bool comm_status_has(const struct comm_status *status, int rank)
{
	return status->members[rank / 64] >> rank % 64 & 1;
}

/* Tell the status board what this rank is about to sleep on. */
static void publish(const struct comm_request *r)
{
	struct comm_status *status = r->comm->world->status;
	uint64_t members[COMM_SET_WORDS];
	int words = (r->comm->world->size + 63) / 64;

	if (!status)
		return;
	memset(members, 0, (size_t)words * sizeof(*members));
	for (int i = 0; i < r->comm->size; i++)
		members[r->comm->members[i] / 64] |= 1ull << r->comm->members[i] % 64;
	status->op = r->op;
	status->size = r->comm->size;
	for (int i = 0; i < words; i++)
		status->members[i] = members[i];
	status->peer = r->comm->members[r->kind == REQUEST_COLLECTIVE ? r->root : r->peer];
	status->kind = r->kind; /* last: it says that the others are valid */
}

void comm_wait_beside(struct comm *world, bool waits)
{
	struct comm_request r = {.kind = REQUEST_COLLECTIVE, .comm = world, .op = COMM_BARRIER};

	if (waits)
		publish(&r);
	else if (world->status)
		world->status->kind = REQUEST_NONE;
}

/* Forget a request that will never be done: its memory is the caller's again. */
static void forget(struct comm *world, struct comm_request *r)
{
	struct comm_request **p = &world->first;

	comm_lock(world);
	world->last = NULL;
	while (*p) {
		if (*p == r) {
			*p = r->next;
			world->remotes -= r->remote;
			continue;
		}
		world->last = *p;
		p = &(*p)->next;
	}
	comm_unlock(world);
}

/*
 * Hand the core on. Other ranks have it for microseconds, as a rule, far less than it costs
 * to be put to sleep and woken. But somebody who computes keeps it for a slice of the
 * scheduler's, where a sleeper would get it back when it is woken: after that this rank
 * sleeps at once for a while, so that only a small part of its time is lost in this way.
 */
static void yield(struct comm *world)
{
	int64_t begin = clock_ns(), end;

	sched_yield();
	end = clock_ns();
	if (end - begin > LONG_NS)
		world->sleep_until = end + SELDOM * (end - begin);
}

/* Look for a while before sleeping: without a pause only where every rank has a core. */
static bool linger(struct comm *world, struct comm_request *r)
{
	int64_t now = clock_ns(), end = now + LINGER_NS;

	for (; now < end && now >= world->sleep_until; now = clock_ns()) {
		if (!world->spin)
			yield(world);
		for (int i = 0; i < (world->spin ? LOOKS : 1); i++)
			if (comm_test(r))
				return true;
	}
	return false;
}

/* Nobody waits for what can't happen. */
static enum status check_whole(struct comm *world, struct error *err)
{
	enum status st;

	comm_lock(world);
	st = world->broken.code;
	if (st != OK)
		st = error_copy(err, &world->broken);
	comm_unlock(world);
	return st;
}

/* Until it is done, or nothing else is left to do. */
static bool do_chores(struct comm *world, struct comm_request *r)
{
	struct timespec nap = {.tv_nsec = NAP_NS};

	while (world->chores && world->chores(world->chores_arg)) {
		if (comm_test(r))
			return true;
		nanosleep(&nap, NULL);
	}
	return comm_test(r);
}

static enum status wait_until_done(struct comm_request *r, struct error *err)
{
	enum status st = OK;
	struct comm *world = r->comm->world;

	if (comm_test(r))
		return OK;
	world->waiting = true;
	if (do_chores(world, r) || linger(world, r))
		goto out;
	publish(r);
	while (!comm_test(r)) {
		TRY(check_whole(world, err));
		TRY(world->ops->sleep(world, r, err));
	}
out:
	world->waiting = false;
	if (st != OK) {
		world->failed = true;
		forget(world, r);
	}
	if (world->status)
		world->status->kind = REQUEST_NONE;
	return st;
}

enum status comm_wait(struct comm_request *r, struct error *err)
{
	struct comm *world;
	int64_t begin;
	enum status st;

	if (r->kind == REQUEST_NONE)
		return OK;
	world = r->comm->world;
	begin = comm_moment(world);
	TRY(wait_until_done(r, err));
	pace_reach(world->pace, r->carried > r->ready ? r->carried : r->ready);
	comm_account(world, r, begin);
	r->kind = REQUEST_NONE; /* waiting again costs nothing */
out:
	return st;
}

void comm_abandon(struct comm *world)
{
	comm_lock(world);
	world->first = world->last = NULL;
	world->remotes = 0;
	world->failed = true;
	comm_unlock(world);
}

enum status comm_run(struct comm *c, enum comm_op op, void *buf, size_t n, enum dtype dtype,
		     int root, struct error *err)
{
	struct comm_request r;

	comm_start(c, op, buf, n, dtype, root, &r);
	return comm_wait(&r, err);
}
