/* host.c - messages, meetings and sleep; see host.h */
#include "comm/shm/host.h"
#include "base/util.h"
#include "comm/copy.h"

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

static void ring(struct host *h, int rank)
{
	struct bell *bell = &h->memory->bells[rank];

	/* Change word first, then look at asleep: a sleeper reads word, sets asleep, looks
	   for work once more, and has the kernel compare word before it sleeps. */
	atomic_fetch_add(&bell->word, 1);
	if (atomic_load(&bell->asleep))
		syscall(SYS_futex, &bell->word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void ring_others(const struct host_group *g)
{
	for (int i = 0; i < g->count; i++)
		if (i != g->me)
			ring(g->host, g->ranks[i]);
}

enum status host_init(struct host *h, struct shm_memory *memory, int me, int rank,
		      struct error *err)
{
	*h = (struct host){.memory = memory, .me = me, .rank = rank};
	h->peers = calloc((size_t)memory->ranks, sizeof(*h->peers));
	return h->peers ? OK
			: FAIL(err, ERR_MEMORY, "no memory for a world of %d ranks",
			       memory->ranks);
}

void host_release(struct host *h)
{
	free(h->peers);
	h->peers = NULL;
}

enum status host_group_open(struct host_group *g, struct host *h, const int *ranks, int count,
			    struct error *err)
{
	if (h->groups >= GROUPS_MAX)
		return FAIL(err, ERR_FAILED, "more than %d groups of ranks", GROUPS_MAX);
	h->groups++;
	if (!count)
		return OK;
	*g = (struct host_group){.host = h, .number = h->groups - 1, .count = count};
	g->shared = h->memory->members + (size_t)(h->groups - 1) * (size_t)h->memory->ranks;
	g->ranks = calloc((size_t)count, sizeof(*g->ranks));
	if (!g->ranks)
		return FAIL(err, ERR_MEMORY, "no memory for a group of %d ranks", count);
	for (int i = 0; i < count; i++) {
		g->ranks[i] = ranks[i];
		if (ranks[i] == h->me)
			g->me = i;
	}
	g->shared[h->me].rank = h->rank;
	return OK;
}

void host_group_close(struct host_group *g)
{
	free(g->ranks);
	g->ranks = NULL;
}

/* Reserve the pages now: running out of memory later would be a SIGBUS. */
enum status host_alloc(struct host *h, size_t bytes, void **out, struct error *err)
{
	struct shm_memory *m = h->memory;
	size_t size = (size_t)round_up((int64_t)(bytes ? bytes : 1),
				       bytes >= 2 << 20 ? 2 << 20 : 4096);
	char *segment = shm_segment(m, h->me), *at;
	int code = ENOMEM;

	if (bytes >= 2 << 20)
		h->used = (size_t)round_up((int64_t)h->used, 2 << 20);
	if (size <= m->segment_size - h->used)
		do
			code = fallocate(m->fd, 0,
					 (off_t)(segment - (char *)m->control) + (off_t)h->used,
					 (off_t)size)
				       ? errno
				       : 0;
		while (code == EINTR);
	if (code) {
		FAIL(err, ERR_MEMORY, "can't reserve shared memory: %zu bytes beyond %zu: %s",
		     bytes, h->used, strerror(code));
		return HINT(err, "use a smaller model or fewer ranks");
	}
	at = segment + h->used;
	if (bytes >= 2 << 20)
		madvise(at, size, MADV_HUGEPAGE); /* as far as the machine allows it here */
	h->used += size;
	*out = at;
	return OK;
}

/* Is it memory of this rank's that peers can reach? */
static bool host_owns(const struct host *h, const void *data, size_t bytes)
{
	const char *segment = shm_segment(h->memory, h->me);

	return !bytes || ((const char *)data >= segment &&
			  (const char *)data + bytes <= segment + h->used);
}

/* ---- messages ---- */

static struct channel *channel_of(const struct host *h, int from, int to, int channel)
{
	size_t pair = (size_t)from * (size_t)h->memory->ranks + (size_t)to;

	return &h->memory->channels[pair * COMM_CHANNELS + (size_t)channel];
}

void host_enter_message(struct host *h, int peer, struct comm_request *r)
{
	assert(r->kind == REQUEST_RECEIVE || r->comm->links || host_owns(h, r->data, r->bytes));
	r->sequence = r->kind == REQUEST_SEND ? h->peers[peer].sent[r->channel]++
					      : h->peers[peer].received[r->channel]++;
}

void host_send(struct host *h, int peer, struct comm_request *r)
{
	struct channel *ch = channel_of(h, h->me, peer, r->channel);
	struct slot *slot = &ch->slots[r->sequence % CHANNEL_SLOTS];
	uint64_t received = atomic_load_explicit(&ch->received, memory_order_acquire);

	if (!r->worked && r->sequence - received < CHANNEL_SLOTS &&
	    atomic_load_explicit(&ch->sent, memory_order_relaxed) == r->sequence) {
		slot->data = r->data;
		slot->bytes = r->bytes;
		slot->posted = r->posted;
		slot->carried = r->carried;
		atomic_store_explicit(&ch->sent, r->sequence + 1, memory_order_release);
		ring(h, peer);
		r->worked = true;
	}
	if (r->comm->links) {
		r->ready = r->posted;
		r->done = r->worked; /* nobody reads the data */
		return;
	}
	r->done = r->worked && received > r->sequence;
	if (r->done)
		r->ready = atomic_load_explicit(&slot->met, memory_order_relaxed);
}

void host_receive(struct host *h, int peer, struct comm_request *r)
{
	struct channel *ch = channel_of(h, peer, h->me, r->channel);
	struct slot *slot = &ch->slots[r->sequence % CHANNEL_SLOTS];

	if (atomic_load_explicit(&ch->sent, memory_order_acquire) <= r->sequence ||
	    atomic_load_explicit(&ch->received, memory_order_relaxed) != r->sequence)
		return;
	if (slot->bytes != r->bytes) {
		comm_messages_differ(r, slot->bytes);
		return;
	}
	r->ready = slot->posted > r->posted ? slot->posted : r->posted;
	r->carried = slot->carried;
	if (!r->comm->links) {
		int64_t begin = clock_ns();

		atomic_store_explicit(&slot->met, begin, memory_order_relaxed);
		copy_between_ranks(r->data, slot->data, r->bytes);
		r->comm->world->worked += clock_ns() - begin;
	}
	atomic_store_explicit(&ch->received, r->sequence + 1, memory_order_release);
	ring(h, peer);
	r->done = true;
}

/* ---- meetings ---- */

static struct member *member_of(const struct host_group *g, int i)
{
	return &g->shared[g->ranks[i]];
}

void *host_buffer(const struct host_group *g, const struct comm_request *r, int member)
{
	return member_of(g, member)->data[r->sequence % GROUP_SLOTS];
}

void host_enter_collective(struct host_group *g, struct comm_request *r)
{
	/* Peers read it there: memory of any other kind would look different to each. */
	assert(r->comm->links || host_owns(g->host, r->data, r->n * dtype_size(r->dtype)));
	r->sequence = g->started++;
}

struct offer host_offer(const struct host_group *g, int member, uint64_t sequence)
{
	const struct member *m = member_of(g, member);

	return (struct offer){.rank = m->rank,
			      .kind = m->kind[sequence % GROUP_SLOTS],
			      .place = m->place[sequence % GROUP_SLOTS]};
}

/* Members that bring different things would write where nothing is. */
static bool all_match(const struct host_group *g, const struct comm_request *r)
{
	uint64_t kind = comm_kind(r), at = r->sequence;

	for (int i = 0; i < g->count; i++)
		if (member_of(g, i)->kind[at % GROUP_SLOTS] != kind) {
			comm_collectives_differ(r->comm, host_offer(g, g->me, at),
						host_offer(g, i, at));
			return false;
		}
	return true;
}

static bool all_arrived(const struct host_group *g, uint64_t sequence)
{
	for (int i = 0; i < g->count; i++)
		if (atomic_load_explicit(&member_of(g, i)->arrived, memory_order_acquire) <=
		    sequence)
			return false;
	return true;
}

static bool all_departed(const struct host_group *g, uint64_t sequence)
{
	for (int i = 0; i < g->count; i++)
		if (atomic_load_explicit(&member_of(g, i)->departed, memory_order_acquire) <=
		    sequence)
			return false;
	return true;
}

bool host_arrive(struct host_group *g, struct comm_request *r)
{
	struct member *me = member_of(g, g->me);

	/* A slot is free again when everybody has departed from its last use. */
	if (!r->arrived &&
	    atomic_load_explicit(&me->arrived, memory_order_relaxed) == r->sequence &&
	    (r->sequence < GROUP_SLOTS || all_departed(g, r->sequence - GROUP_SLOTS))) {
		me->data[r->sequence % GROUP_SLOTS] = r->data;
		me->kind[r->sequence % GROUP_SLOTS] = comm_kind(r);
		memcpy(me->place[r->sequence % GROUP_SLOTS], r->place, COMM_PLACE);
		me->posted[r->sequence % GROUP_SLOTS] = r->posted;
		atomic_store_explicit(&me->arrived, r->sequence + 1, memory_order_release);
		ring_others(g);
		r->arrived = true;
	}
	if (!r->arrived || r->worked ||
	    atomic_load_explicit(&me->departed, memory_order_relaxed) != r->sequence ||
	    !all_arrived(g, r->sequence) || !all_match(g, r))
		return false;
	for (int i = 0; i < g->count; i++) {
		int64_t posted = member_of(g, i)->posted[r->sequence % GROUP_SLOTS];

		r->ready = posted > r->ready ? posted : r->ready;
	}
	return true;
}

void host_depart(struct host_group *g, struct comm_request *r)
{
	atomic_store_explicit(&member_of(g, g->me)->departed, r->sequence + 1,
			      memory_order_release);
	ring_others(g);
	r->worked = true;
}

bool host_over(const struct host_group *g, const struct comm_request *r)
{
	return r->worked && (r->comm->links || all_departed(g, r->sequence));
}

enum status host_sleep(struct host *h, const struct comm_request *r, long ns, struct error *err)
{
	struct control *control = h->memory->control;
	struct bell *bell = &h->memory->bells[h->me];
	struct timespec limit = {.tv_nsec = ns};
	uint32_t word = atomic_load(&bell->word);

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
