/* host.c - memory, messages and sleep; see host.h */
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

/*
 * Nobody sleeps through a change. Whoever changes something stores it and then looks at
 * the bell; whoever goes to sleep sets the bell and then looks for changes once more. All
 * four are sequentially consistent, so at least one of the two sees the other. Of several
 * that ring, the one that takes the bell back wakes the sleeper: one call into the kernel
 * for a sleep, none for a rank that is awake.
 */
void host_ring(struct host *h, int rank)
{
	_Atomic uint32_t *asleep = &h->memory->bells[rank].asleep;

	if (atomic_load(asleep) && atomic_exchange(asleep, 0))
		syscall(SYS_futex, asleep, FUTEX_WAKE, 1, NULL, NULL, 0);
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
	for (int i = 0; i < GROUPS_MAX; i++)
		if (!h->seats[i].open)
			free(h->seats[i].ranks);
	blocks_release(&h->blocks);
	free(h->peers);
	h->peers = NULL;
}

bool host_can_reach(const struct host *h, const struct comm_request *r)
{
	struct error *broken = &r->comm->world->broken;

	if (r->comm->links || (!r->n && !r->bytes))
		return true; /* nobody's memory is touched */
	return shm_reach(h->memory, broken->code == OK ? broken : NULL) == OK;
}

/* ---- messages ---- */

static struct channel *channel_of(const struct host *h, int from, int to, int channel)
{
	size_t pair = (size_t)from * (size_t)h->memory->ranks + (size_t)to;

	return &h->memory->channels[pair * COMM_CHANNELS + (size_t)channel];
}

void host_enter_message(struct host *h, int peer, struct comm_request *r)
{
	assert(r->kind == REQUEST_RECEIVE || r->comm->links ||
	       shm_holds(h->memory, r->data, r->bytes));
	r->sequence = r->kind == REQUEST_SEND ? h->peers[peer].sent[r->channel]++
					      : h->peers[peer].received[r->channel]++;
}

void host_send(struct host *h, int peer, struct comm_request *r)
{
	struct channel *ch = channel_of(h, h->me, peer, r->channel);
	struct slot *slot = &ch->slots[r->sequence % CHANNEL_SLOTS];
	uint64_t received = atomic_load(&ch->received);

	if (!r->worked && r->sequence - received < CHANNEL_SLOTS &&
	    atomic_load_explicit(&ch->sent, memory_order_relaxed) == r->sequence) {
		slot->data = r->data;
		slot->bytes = r->bytes;
		slot->posted = r->posted;
		slot->carried = r->carried;
		atomic_store(&ch->sent, r->sequence + 1);
		host_ring(h, peer);
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

	if (atomic_load(&ch->sent) <= r->sequence ||
	    atomic_load_explicit(&ch->received, memory_order_relaxed) != r->sequence)
		return;
	if (slot->bytes != r->bytes) {
		comm_messages_differ(r, slot->bytes);
		return;
	}
	if (!host_can_reach(h, r))
		return;
	r->ready = slot->posted > r->posted ? slot->posted : r->posted;
	r->carried = slot->carried;
	if (!r->comm->links) {
		int64_t begin = pace_now(r->comm->world->pace);

		atomic_store_explicit(&slot->met, begin, memory_order_relaxed);
		copy_between_ranks(r->data, slot->data, r->bytes);
		r->comm->world->worked += pace_now(r->comm->world->pace) - begin;
	}
	atomic_store(&ch->received, r->sequence + 1);
	host_ring(h, peer);
	r->done = true;
}

enum status host_sleep(struct host *h, const struct comm_request *r, long ns, struct error *err)
{
	struct control *control = h->memory->control;
	_Atomic uint32_t *asleep = &h->memory->bells[h->me].asleep;
	struct timespec limit = {.tv_nsec = ns};
	enum status st = OK;

	atomic_store(asleep, 1); /* see host_ring */
	if (atomic_load(&control->stop))
		st = FAIL(err, ERR_FAILED, "stopped: another rank has ended");
	else if (!comm_test((struct comm_request *)(uintptr_t)r))
		syscall(SYS_futex, asleep, FUTEX_WAIT, 1, &limit, NULL, 0);
	atomic_store(asleep, 0);
	return st;
}
