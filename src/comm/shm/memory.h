/* memory.h - what lies in the memory that the ranks of a machine share. Only for comm/. */
#ifndef KOLM_COMM_SHM_MEMORY_H
#define KOLM_COMM_SHM_MEMORY_H

#include "comm/shm/shm.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	CHANNEL_SLOTS = 16, /* messages under way per channel */
	GROUP_SLOTS = 8,    /* collectives under way per group */
	GROUPS_MAX = 24,    /* that a rank is in at a time, the world included */
};

#define LINE _Alignas(64)

/* A rank sleeps on it while it is 1; whoever changes something for it rings. */
struct bell {
	LINE _Atomic uint32_t asleep;
};

/* A message under way. */
struct slot {
	const void *data;
	size_t bytes;
	int64_t posted, carried; /* see struct comm_request */
	_Atomic int64_t met;	 /* when the receiver took it; written by that */
};

/* Messages of one sender to one receiver, in order. */
struct channel {
	LINE _Atomic uint64_t sent;	/* written by the sender, with the slots */
	LINE _Atomic uint64_t received; /* written by the receiver */
	struct slot slots[CHANNEL_SLOTS];
};

/* A rank's part of a group: what it has arrived at and what it has finished. */
struct member {
	LINE _Atomic uint64_t group; /* its number and 1; 0: of none so far */
	_Atomic bool left;	     /* this rank has closed the group */
	_Atomic uint64_t arrived;
	_Atomic uint64_t departed;
	_Atomic bool blocked;	    /* it can't arrive before a slot is free */
	void *data[GROUP_SLOTS];    /* its buffers, written before arriving */
	uint64_t kind[GROUP_SLOTS]; /* see comm_kind */
	int64_t posted[GROUP_SLOTS];
	/* for errors: its number in the world, and where it was when it started each */
	int rank;
	char place[GROUP_SLOTS][COMM_PLACE];
};

/* The groups that a rank is in. It chooses a free place for each by itself; others find it by
   the number of the group. */
struct seats {
	LINE _Atomic uint64_t opened; /* groups that it has opened, or let others open */
	struct member members[GROUPS_MAX];
};

/* What a rank shows to who watches it. */
struct shown {
	LINE struct comm_status status;
	LINE char page[SHM_PAGE]; /* the launcher's */
};

struct control {
	uint64_t token; /* a random number: no other memory has it */
	int ranks;
	_Atomic int stop, failed;
	_Atomic uint64_t used; /* bytes that are handed out, from the beginning of all */
	struct shown shown[];  /* (ranks) */
};

/* One memfd: the control part and the arrays behind it, then the ranks' buffers in the order
   in which they were asked for. */
struct shm_memory {
	struct control *control;
	struct bell *bells;	  /* (ranks) */
	struct seats *seats;	  /* (ranks) */
	struct channel *channels; /* (ranks, ranks, COMM_CHANNELS): from, to */
	bool spin, copied;	  /* copied: control is memory of our own */
	int ranks, fd;
	size_t control_size;
	_Atomic uint64_t mapped; /* bytes that this process has, from the beginning */
	pthread_mutex_t growing; /* held by who changes that */
	uint64_t token;		 /* copied: what the original must have */
};

/* pages.c: the first bytes, at a place (-1: any); more of them. */
enum status shm_map(struct shm_memory *m, size_t bytes, int place, struct error *err);
enum status shm_grow(struct shm_memory *m, uint64_t to, struct error *err);
/* What a piece of so many bytes takes, and where it may begin. */
size_t shm_piece_size(size_t bytes);
size_t shm_piece_align(size_t bytes);
/* More addresses, for a piece that begins at a multiple of align: where they begin, and how
   many they are in *got. */
uint64_t shm_extend(struct shm_memory *m, size_t size, size_t align, uint64_t *got);
/* Pages for some of them, zeroed; and let these go again, for all processes. */
enum status shm_reserve(struct shm_memory *m, uint64_t at, size_t size, struct error *err);
void shm_discard(struct shm_memory *m, uint64_t at, size_t size);
/* Has it been handed out, to whomever? */
bool shm_holds(const struct shm_memory *m, const void *data, size_t bytes);

/* Before anything of another rank's is touched: have all that has been handed out. */
static inline enum status shm_reach(struct shm_memory *m, struct error *err)
{
	uint64_t used = atomic_load_explicit(&m->control->used, memory_order_relaxed);

	return used <= atomic_load_explicit(&m->mapped, memory_order_acquire)
		       ? OK
		       : shm_grow(m, used, err);
}

#endif
