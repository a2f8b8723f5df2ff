/*
 * shm.c - messages and collectives over shared memory; see shm.h.
 *
 * A message is a pointer: the receiver copies straight from the sender's buffer. A
 * collective has two meetings of the group. Everyone arrives with a buffer; when all
 * have, each does its share directly on the buffers of the others; when all have
 * departed, the buffers are their owners' again.
 */
#include "base/util.h"
#include "comm/impl.h"
#include "comm/reduce.h"
#include "comm/shm/memory.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPIN_ROUNDS = 2000, SLEEP_NS = 200 * 1000 * 1000 };

/* Of the world: this rank's own counters. */
struct shm_world {
	struct shm_memory *memory; /* borrowed */
	size_t used;		   /* of this rank's segment */
	int groups;		   /* calls of comm_create so far */
	uint64_t sent[SHM_RANKS_MAX][COMM_CHANNELS];
	uint64_t received[SHM_RANKS_MAX][COMM_CHANNELS];
};

/* Of a group, the world included. */
struct shm_group {
	struct group *shared;
	uint64_t started; /* collectives of this rank */
};

/* The world is its own first group, so it keeps both. */
struct shm_state {
	struct shm_group group; /* first: c->state of any comm is a struct shm_group */
	struct shm_world world;
};

static struct shm_world *world_of(const struct comm *c)
{
	return &((struct shm_state *)c->world->state)->world;
}

static struct shm_group *group_of(const struct comm *c)
{
	return c->state;
}

static struct control *control_of(const struct comm *c)
{
	return world_of(c)->memory->control;
}

static void ring(struct control *control, int rank)
{
	struct bell *bell = &control->bells[rank];

	/* Change word first, then look at asleep: a sleeper reads word, sets asleep, looks
	   for work once more, and has the kernel compare word before it sleeps. */
	atomic_fetch_add(&bell->word, 1);
	if (atomic_load(&bell->asleep))
		syscall(SYS_futex, &bell->word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void ring_others(const struct comm *c)
{
	for (int i = 0; i < c->size; i++)
		if (i != c->rank)
			ring(control_of(c), c->members[i]);
}

static enum status shm_create(struct comm *c, struct error *err)
{
	struct shm_world *w = world_of(c);
	struct shm_group *g;
	int first = SHM_RANKS_MAX;

	if (w->groups >= GROUPS_MAX)
		return FAIL(err, ERR_FAILED, "more than %d groups of ranks", GROUPS_MAX);
	w->groups++;
	if (!c->size)
		return OK;
	g = calloc(1, sizeof(*g));
	if (!g)
		return FAIL(err, ERR_MEMORY, "no memory for a group of %d ranks", c->size);
	for (int i = 0; i < c->size; i++)
		first = imin(first, c->members[i]);
	g->shared = &control_of(c)->groups[w->groups - 1][first];
	c->state = g;
	return OK;
}

static void shm_free(struct comm *c)
{
	free(c->state);
}

/* Reserve the pages now: running out of memory later would be a SIGBUS. */
static enum status shm_alloc(struct comm *world, size_t bytes, void **out, struct error *err)
{
	struct shm_world *w = world_of(world);
	size_t size = (size_t)round_up((int64_t)(bytes ? bytes : 1),
				       bytes >= 2 << 20 ? 2 << 20 : 4096);
	char *at;
	int code;

	if (bytes >= 2 << 20)
		w->used = (size_t)round_up((int64_t)w->used, 2 << 20);
	code = ENOMEM;
	if (size <= w->memory->segment_size - w->used)
		do
			code = fallocate(w->memory->fds[world->rank], 0, (off_t)w->used,
					 (off_t)size)
				       ? errno
				       : 0;
		while (code == EINTR);
	if (code) {
		FAIL(err, ERR_MEMORY,
		     "can't reserve shared memory: rank %d needs %zu bytes beyond its %zu: %s",
		     world->rank, bytes, w->used, strerror(code));
		return HINT(err, "use a smaller model or fewer ranks");
	}
	at = w->memory->segments[world->rank] + w->used;
	if (bytes >= 2 << 20)
		madvise(at, size, MADV_HUGEPAGE); /* as far as the machine allows it here */
	w->used += size;
	*out = at;
	return OK;
}

/*
 * Requests are advanced in the order in which they were started, but peers go on in
 * between: what the first of a channel or group did not see yet may be there for the
 * second. So each step also asks whether it is this request's turn.
 */

/* ---- messages ---- */

static struct channel *channel_of(const struct comm_request *r)
{
	const struct comm *c = r->comm;
	int me = c->members[c->rank], peer = c->members[r->peer];

	return r->kind == REQUEST_SEND ? &control_of(c)->channels[me][peer][r->channel]
				       : &control_of(c)->channels[peer][me][r->channel];
}

static void advance_send(struct comm_request *r)
{
	struct channel *ch = channel_of(r);
	uint64_t received = atomic_load_explicit(&ch->received, memory_order_acquire);

	if (!r->worked && r->sequence - received < CHANNEL_SLOTS &&
	    atomic_load_explicit(&ch->sent, memory_order_relaxed) == r->sequence) {
		ch->slots[r->sequence % CHANNEL_SLOTS].data = r->data;
		ch->slots[r->sequence % CHANNEL_SLOTS].bytes = r->bytes;
		atomic_store_explicit(&ch->sent, r->sequence + 1, memory_order_release);
		ring(control_of(r->comm), r->comm->members[r->peer]);
		r->worked = true;
	}
	r->done = r->worked && received > r->sequence;
}

static void advance_receive(struct comm_request *r)
{
	struct channel *ch = channel_of(r);

	if (atomic_load_explicit(&ch->sent, memory_order_acquire) <= r->sequence ||
	    atomic_load_explicit(&ch->received, memory_order_relaxed) != r->sequence)
		return;
	assert(ch->slots[r->sequence % CHANNEL_SLOTS].bytes == r->bytes);
	memcpy(r->data, ch->slots[r->sequence % CHANNEL_SLOTS].data, r->bytes);
	atomic_store_explicit(&ch->received, r->sequence + 1, memory_order_release);
	ring(control_of(r->comm), r->comm->members[r->peer]);
	r->done = true;
}

/* ---- collectives ---- */

static void *buffer_of(const struct comm_request *r, int member)
{
	return group_of(r->comm)->shared->members[member].data[r->sequence % GROUP_SLOTS];
}

/* Copy the slice of one member from one buffer to another. */
static void copy_slice(const struct comm_request *r, int member, void *to, const void *from)
{
	size_t size = dtype_size(r->dtype), begin, end;

	comm_slice(r->comm, r->n, member, &begin, &end);
	if (to != from && begin < end)
		memcpy((char *)to + begin * size, (const char *)from + begin * size,
		       (end - begin) * size);
}

/* Own slice from everybody's buffer, to everybody's or to the own one. */
static void sum_slice(const struct comm_request *r, bool to_all)
{
	const struct comm *c = r->comm;
	const void *sources[SHM_RANKS_MAX];
	void *targets[SHM_RANKS_MAX];
	size_t begin, end;

	for (int i = 0; i < c->size; i++) {
		targets[i] = buffer_of(r, i);
		sources[i] = targets[i];
	}
	comm_slice(c, r->n, c->rank, &begin, &end);
	reduce_sum(sources, c->size, to_all ? targets : &targets[c->rank], to_all ? c->size : 1,
		   begin, end, r->dtype);
}

/* This rank's share of the work, when all buffers are there. No two ranks touch the
   same element unless both only read it. */
static void work(const struct comm_request *r)
{
	const struct comm *c = r->comm;
	void *own = r->data;

	switch (r->op) {
	case COMM_ALLREDUCE:
		sum_slice(r, true);
		break;
	case COMM_REDUCE_SCATTER:
		sum_slice(r, false);
		break;
	case COMM_ALLGATHER:
		for (int i = 0; i < c->size; i++)
			copy_slice(r, i, own, buffer_of(r, i));
		break;
	case COMM_BROADCAST:
		if (c->rank != r->root && r->n)
			memcpy(own, buffer_of(r, r->root), r->n * dtype_size(r->dtype));
		break;
	case COMM_SCATTER:
		copy_slice(r, c->rank, own, buffer_of(r, r->root));
		break;
	case COMM_GATHER:
		for (int i = 0; i < c->size && c->rank == r->root; i++)
			copy_slice(r, i, own, buffer_of(r, i));
		break;
	default:
		break;
	}
}

/* Have all members arrived at (departed from) the request's sequence? */
static bool all_arrived(const struct comm_request *r)
{
	struct member *m = group_of(r->comm)->shared->members;

	for (int i = 0; i < r->comm->size; i++)
		if (atomic_load_explicit(&m[i].arrived, memory_order_acquire) <= r->sequence)
			return false;
	return true;
}

static bool all_departed(const struct comm *c, uint64_t sequence)
{
	struct member *m = group_of(c)->shared->members;

	for (int i = 0; i < c->size; i++)
		if (atomic_load_explicit(&m[i].departed, memory_order_acquire) <= sequence)
			return false;
	return true;
}

static void advance_collective(struct comm_request *r)
{
	const struct comm *c = r->comm;
	struct member *me = &group_of(c)->shared->members[c->rank];

	/* A slot is free again when everybody has departed from its last use. */
	if (!r->arrived &&
	    atomic_load_explicit(&me->arrived, memory_order_relaxed) == r->sequence &&
	    (r->sequence < GROUP_SLOTS || all_departed(c, r->sequence - GROUP_SLOTS))) {
		me->data[r->sequence % GROUP_SLOTS] = r->data;
		atomic_store_explicit(&me->arrived, r->sequence + 1, memory_order_release);
		ring_others(c);
		r->arrived = true;
	}
	if (r->arrived && !r->worked &&
	    atomic_load_explicit(&me->departed, memory_order_relaxed) == r->sequence &&
	    all_arrived(r)) {
		work(r);
		atomic_store_explicit(&me->departed, r->sequence + 1, memory_order_release);
		ring_others(c);
		r->worked = true;
	}
	r->done = r->worked && all_departed(c, r->sequence);
}

/* ---- requests ---- */

/* Peers read it there: memory of any other kind would look different to each of them. */
static bool is_shared(const struct comm_request *r)
{
	const struct shm_world *w = world_of(r->comm);
	const char *segment = w->memory->segments[r->comm->world->rank];
	size_t bytes = r->kind == REQUEST_COLLECTIVE ? r->n * dtype_size(r->dtype) : r->bytes;

	return !bytes || ((const char *)r->data >= segment &&
			  (const char *)r->data + bytes <= segment + w->used);
}

static void shm_enter(struct comm_request *r)
{
	struct shm_world *w = world_of(r->comm);
	int peer = r->kind == REQUEST_COLLECTIVE ? 0 : r->comm->members[r->peer];

	assert(r->kind == REQUEST_RECEIVE || is_shared(r));
	if (r->kind == REQUEST_SEND)
		r->sequence = w->sent[peer][r->channel]++;
	else if (r->kind == REQUEST_RECEIVE)
		r->sequence = w->received[peer][r->channel]++;
	else
		r->sequence = group_of(r->comm)->started++;
}

static void shm_advance(struct comm_request *r)
{
	if (r->kind == REQUEST_SEND)
		advance_send(r);
	else if (r->kind == REQUEST_RECEIVE)
		advance_receive(r);
	else
		advance_collective(r);
}

static enum status shm_sleep(struct comm *world, const struct comm_request *r,
			     struct error *err)
{
	struct control *control = control_of(world);
	struct bell *bell = &control->bells[world->rank];
	struct timespec limit = {.tv_nsec = SLEEP_NS};
	uint32_t word = atomic_load(&bell->word);

	(void)r;
	if (atomic_load(&control->stop))
		return FAIL(err, ERR_FAILED, "stopped: another rank has ended");
	atomic_store(&bell->asleep, 1);
	/* What was rung before word was read shows in this look, what comes after changes
	   word: nothing is missed. */
	if (!comm_test((struct comm_request *)(uintptr_t)r))
		syscall(SYS_futex, &bell->word, FUTEX_WAIT, word, &limit, NULL, 0);
	atomic_store(&bell->asleep, 0);
	return OK;
}

static const struct comm_ops comm_shm = {
	.name = "shm",
	.create = shm_create,
	.free = shm_free,
	.alloc = shm_alloc,
	.enter = shm_enter,
	.advance = shm_advance,
	.sleep = shm_sleep,
};

enum status shm_join(struct comm **world, struct shm_memory *memory, int rank,
		     struct error *err)
{
	enum status st;
	struct comm *c = NULL;
	struct shm_state *state = calloc(1, sizeof(*state));
	int members[SHM_RANKS_MAX];

	for (int i = 0; i < memory->ranks; i++)
		members[i] = i;
	if (!state)
		return FAIL(err, ERR_MEMORY, "no memory for a world of %d ranks",
			    memory->ranks);
	TRY(comm_new(&c, &comm_shm, NULL, members, memory->ranks, rank, err));
	state->world.memory = memory;
	/* The world takes the first group, as the first call of comm_create would. */
	state->world.groups = 1;
	state->group.shared = &memory->control->groups[0][0];
	c->state = state;
	c->spin = memory->spin ? SPIN_ROUNDS : 0;
	c->status = shm_status(memory, rank);
	*world = c;
	state = NULL; /* the world's now */
out:
	free(state);
	return st;
}
