/* impl.h - what a transport fills in. Only for comm/. */
#ifndef KOLM_COMM_IMPL_H
#define KOLM_COMM_IMPL_H

#include "comm/comm.h"

#include <pthread.h>

struct comm_ops {
	const char *name;
	/* The transport's part of a group; c->members and c->rank are set. */
	enum status (*create)(struct comm *c, struct error *err);
	void (*free)(struct comm *c);
	enum status (*alloc)(struct comm *world, size_t bytes, void **out, struct error *err);
	/* Something of alloc that nobody uses any more. */
	void (*give_back)(struct comm *world, void *memory);
	/* Give a new request its place in the order of its channel or group; sets remote. */
	void (*enter)(struct comm_request *r);
	/* Move a request on if its turn has come; sets done. Never blocks. */
	void (*advance)(struct comm_request *r);
	/* Sleep until something may have changed for this rank. Fails on stop. */
	enum status (*sleep)(struct comm *world, const struct comm_request *r,
			     struct error *err);
};

struct comm {
	const struct comm_ops *ops;
	void *state;	    /* the transport's own */
	struct comm *world; /* itself for the world */
	int rank, size;
	int *members; /* numbers in the world */
	enum comm_purpose purpose;
	enum comm_order order;
	struct device_group *devices; /* see comm_set_devices */
	/* Of the world only: requests under way, oldest first. */
	struct comm_request *first, *last;
	int remotes;		    /* of them, those with another machine */
	struct comm_status *status; /* where this rank publishes what it waits for, or NULL */
	bool spin;		    /* this rank has a core of its own */
	bool failed;		    /* a wait has: its peers may still be at our memory */
	int64_t sleep_until;	    /* ns: until then without lingering */
	/* Where a thread of the transport's moves remote requests on too, both hold this. */
	pthread_mutex_t *lock;	     /* or NULL */
	pthread_cond_t started;	     /* there is a remote request again */
	_Atomic bool waiting;	     /* the rank itself moves them on at the moment */
	struct pace *pace;	     /* or NULL: the machine's */
	struct records *records;     /* or NULL */
	int64_t (*stamp)(void *arg); /* or NULL */
	void *stamp_arg;
	bool (*chores)(void *arg); /* or NULL */
	void *chores_arg;
	struct comm_times times;
	struct comm_traffic traffic;
	int64_t worked;	     /* ns of the rank's time that transports have worked on data */
	const char *place;   /* where the rank is, or NULL */
	struct error broken; /* why nothing goes on any more; OK: it does */
	/* Of any group: its links or NULL, and until when they are taken: to each member, and
	   by collectives. */
	const struct links *links;
	int64_t *taken; /* (size) */
	int64_t ring_taken;
};

static inline void comm_lock(struct comm *world)
{
	if (world->lock)
		pthread_mutex_lock(world->lock);
}

static inline void comm_unlock(struct comm *world)
{
	if (world->lock)
		pthread_mutex_unlock(world->lock);
}

static inline bool comm_op_has_root(enum comm_op op)
{
	return op == COMM_BROADCAST || op == COMM_SCATTER || op == COMM_GATHER;
}

/* A comm with its members copied; the transport's part is still missing. */
enum status comm_new(struct comm **out, const struct comm_ops *ops, struct comm *world,
		     const int *members, int size, int world_rank, struct error *err);

/* The links of a group: when a message that is sent now arrives; when a collective whose
   last member came at r->ready is over. */
int64_t links_carry(struct comm_request *r);
int64_t links_carry_round(struct comm_request *r);

static inline bool comm_op_sums(enum comm_op op)
{
	return op == COMM_ALLREDUCE || op == COMM_REDUCE_SCATTER;
}

/* Is a request a sum in a tree? */
static inline bool comm_in_tree(const struct comm_request *r)
{
	return r->comm->order == COMM_IN_TREE && comm_op_sums(r->op);
}

/* What a collective is, in one word: the same for all members, or they do not match. From
   the low end: root, type, operation, order, size. */
enum { KIND_ROOT_BITS = 13, KIND_DTYPE_BITS = 3, KIND_OP_BITS = 4, KIND_ORDER_BITS = 1 };

static inline uint64_t comm_kind(const struct comm_request *r)
{
	_Static_assert(COMM_OP_COUNT <= 1 << KIND_OP_BITS, "or an operation does not fit");
	_Static_assert(DTYPE_COUNT <= 1 << KIND_DTYPE_BITS, "or a type does not");
	_Static_assert(RANKS_MAX <= 1 << KIND_ROOT_BITS, "or a root does not");
	uint64_t kind = r->n;

	kind = kind << KIND_ORDER_BITS | (uint64_t)comm_in_tree(r);
	kind = kind << KIND_OP_BITS | (uint64_t)r->op;
	kind = kind << KIND_DTYPE_BITS | (uint64_t)r->dtype;
	return kind << KIND_ROOT_BITS | (uint64_t)r->root;
}

/* mismatch.c: what a member brings to a collective, and where it was when it did. */
struct offer {
	int rank; /* in the world */
	uint64_t kind;
	const char *place;
};
/* Two members of a group bring different collectives, or this rank wants another message
   than a peer has sent: from now on its waits fail, and say so. */
void comm_collectives_differ(struct comm *c, struct offer a, struct offer b);
void comm_messages_differ(const struct comm_request *r, size_t sent);

/* account.c: a request begins; it is over; the rank's time, or a stamp, before it waits for
   something; and: it has waited for it since then. */
void comm_count(struct comm *world, const struct comm_request *r);
void comm_record_end(const struct comm *world, const struct comm_request *r);
int64_t comm_moment(const struct comm *world);
void comm_account(struct comm *world, const struct comm_request *r, int64_t begin);

/* Move everything on that can be moved, in the order in which it was started, with the
   lock held; returns how many requests were completed. */
int comm_progress(struct comm *world);

#endif
