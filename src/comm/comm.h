/*
 * comm.h - a group of ranks that exchange buffers.
 *
 * Collective calls are made by every member in the same order; between members that bring
 * different ones no data moves, and their waits fail. Buffers are borrowed until the request
 * completes, and must come from comm_alloc, so that peers can reach them without a copy. Sums
 * are taken in one order, so equal inputs give bit-equal results on every rank, every time.
 *
 * Nobody waits for more than it needs: that a collective with a root is over for a member
 * does not say that the others have come.
 *
 * A request makes progress inside comm_test and comm_wait of any request of this rank:
 * whoever computes for long and wants overlap tests now and then. What crosses machines
 * also goes on by itself.
 */
#ifndef KOLM_COMM_COMM_H
#define KOLM_COMM_COMM_H

#include "base/dtype.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/links.h"
#include "base/pace.h"
#include "base/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct comm; /* opaque, see impl.h */

/* What a group is there for, so that records of its collectives say what they belong to. The
   world is for control. One list gives the enum and the names. */
#define COMM_PURPOSES(X)        \
	X(CONTROL, "control")   \
	X(REPLICAS, "replicas") \
	X(SLICES, "slices")     \
	X(PIPELINE, "pipeline")
#define X(id, name) COMM_FOR_##id,
enum comm_purpose { COMM_PURPOSES(X) COMM_PURPOSE_COUNT };
#undef X
const char *comm_purpose_name(enum comm_purpose purpose);

enum {
	COMM_CHANNELS = 4,		 /* independent orders of messages between two ranks */
	COMM_SET_WORDS = RANKS_MAX / 64, /* a set of ranks: bit i of word w is rank 64 w + i */
	COMM_PLACE = 48,		 /* bytes of what is said of where a rank is */
};

/*
 * What a collective does to buf, which every member gives with the same n. A rank's slice
 * of n elements is comm_slice(). All of them work in place. Whatever is not to be added up
 * may be DTYPE_BYTE: one struct per member is n = members * sizeof(struct), and where slices
 * matter n must be a multiple of the members, so that none of them is cut.
 */
enum comm_op {
	COMM_BARRIER,
	COMM_ALLREDUCE,	     /* every element becomes the sum over the members */
	COMM_REDUCE_SCATTER, /* own slice becomes the sum; the rest is undefined */
	COMM_ALLGATHER,	     /* own slice goes to everybody */
	COMM_BROADCAST,	     /* root's buffer goes to everybody */
	COMM_SCATTER,	     /* slice i of root's buffer goes to member i */
	COMM_GATHER,	     /* own slice goes to root */
};
enum { COMM_OP_COUNT = COMM_GATHER + 1 };

const char *comm_op_name(enum comm_op op);

/* What came to a rank from others and went from it to others. */
struct comm_traffic {
	int64_t in, out;
};

/*
 * The elements that a collective of n moves in and out of a member, where everybody takes what
 * it needs from where it is, as the ranks of one machine do: a root's buffer goes out once for
 * each of the others, and a sum takes a slice of everybody's to the member that adds it up.
 */
struct comm_traffic comm_op_traffic(enum comm_op op, size_t n, int size, int member, int root);

enum comm_request_kind { REQUEST_NONE, REQUEST_SEND, REQUEST_RECEIVE, REQUEST_COLLECTIVE };

/* A transfer under way. The caller's; nothing is allocated for it. It is not reused, moved
   or freed before it is done or a wait for it has failed. */
struct comm_request {
	enum comm_request_kind kind;
	struct comm *comm;
	struct comm_request *next; /* of those that this rank has under way */
	bool arrived, worked, done;
	bool remote;	   /* another machine takes part: nobody there can ring */
	uint64_t sequence; /* in its channel or group */
	/* messages */
	int peer, channel;
	void *data;
	size_t bytes;
	/* collectives */
	enum comm_op op;
	enum dtype dtype;
	size_t n;
	int root;
	uint64_t transport[2];	/* the transport's own */
	char place[COMM_PLACE]; /* where the rank was when it was started */
	/* ns: when it was started; when the last partner had come (0: not known); over links:
	   when they have carried it */
	int64_t posted, ready, carried;
};

/* Where the time of a rank goes in here, in ns, since the start. */
struct comm_times {
	int64_t lost; /* waiting for a partner that was not there yet */
	int64_t busy; /* waiting for, or working at, what both were there for */
};

/*
 * What a rank waits for, where others can read it: the watchdog and the crash report.
 * A transport that several processes share keeps one per rank in shared memory.
 */
struct comm_status {
	_Atomic uint64_t completed; /* requests so far: a sign of life */
	_Atomic int kind;	    /* enum comm_request_kind of the wait; REQUEST_NONE: none */
	_Atomic int op;		    /* enum comm_op of a collective */
	_Atomic int
		peer; /* number in the world; the root's or first member's of a collective */
	_Atomic int size; /* of a collective: its members */
	_Atomic uint64_t members[COMM_SET_WORDS];
};

/* Is a rank of the world a member of the collective that is waited for? */
bool comm_status_has(const struct comm_status *status, int rank);

int comm_rank(const struct comm *c);
int comm_size(const struct comm *c);
/* The number in the world of a member. */
int comm_world_rank(const struct comm *c, int member);

/* Elements [begin, end) of n that belong to a member: near-equal parts. */
void comm_slice(const struct comm *c, size_t n, int member, size_t *begin, size_t *end);

/*
 * A group of some ranks of the world, in this order. Every rank of the world calls it
 * the same number of times, each with the group that it is in; a rank that is in none
 * gives n = 0 and gets NULL. Groups are freed before the world, by each member when it wants;
 * any number may be made one after the other, and GROUPS_MAX of shm/memory.h be there at a
 * time.
 */
enum status comm_create(struct comm **out, struct comm *world, enum comm_purpose purpose,
			const int *ranks, int n, struct error *err);
void comm_free(struct comm *c);

/*
 * The order in which a group adds up: that of the ranks, where 16-bit data is summed in fp32
 * and rounded once; or the tree of base/tree.h, where it is rounded at every node, so that
 * several members that are a node of it may as well be one that has added them up before.
 */
enum comm_order { COMM_IN_RANK_ORDER, COMM_IN_TREE };

/* While no request of the group is under way, by every member. The tree is for groups of a
   power of two members; a new group has the order of its ranks. */
void comm_set_order(struct comm *c, enum comm_order order);
enum comm_order comm_order(const struct comm *c);

/* The devices of the members where they reach each other by themselves, see device.h, for who
   moves their memory; NULL: they do not. Borrowed, and never looked into here. */
struct device_group;
void comm_set_devices(struct comm *c, struct device_group *devices);
struct device_group *comm_devices(const struct comm *c);

/* The rank's time, for a virtual one, and where requests are recorded; both borrowed. */
void comm_observe(struct comm *world, struct pace *pace, struct records *records);
/* Waits are recorded from a stamp (see records.h) that is taken before to one behind, until
   stamp is NULL again; comm_times do not count them. */
void comm_set_stamp(struct comm *world, int64_t (*stamp)(void *arg), void *arg);
/* Called before this rank waits for long: there is something else that it has to do for others,
   who may be waited for. It says whether more of it will come; then it is called again and
   again, until that is done too. It may start requests. NULL: nothing. */
void comm_set_chores(struct comm *world, bool (*chores)(void *arg), void *arg);
struct comm_times comm_times(const struct comm *world);
/* Bytes of all messages and collectives that this rank has started. */
struct comm_traffic comm_traffic(const struct comm *world);
/*
 * A message or collective that the members' devices exchange by themselves, described as a
 * request that is never started. It counts like others, and is recorded like them: from a stamp
 * to a stamp, where stamps are set (or NULL: it is not); so is the wait for it, between begin
 * and end.
 */
void comm_note_beside(const struct comm_request *r, const int64_t stamps[2]);
int64_t comm_begin_beside(const struct comm_request *r);
void comm_end_beside(const struct comm_request *r, int64_t begin);
/* The rank waits for its device from now on, which exchanges with those of the others: so
   whoever watches does not take it for one that hangs. Or it has waited. */
void comm_wait_beside(struct comm *world, bool waits);
/* Where the rank is in its work, for errors: text that may change, in at least COMM_PLACE
   bytes; borrowed. */
void comm_set_place(struct comm *world, const char *text);
/*
 * Give a group virtual links, before its first request; borrowed. Its requests then move
 * nothing: each takes the time that the links would take. A message occupies the link from
 * its sender to its receiver, one after the other; a collective goes around a ring of its
 * members, at the pace of the slowest link.
 */
enum status comm_use_links(struct comm *c, const struct links *links, struct error *err);

/* Zeroed memory that peers can reach; freed with the world, or given back before. */
enum status comm_alloc(struct comm *world, size_t bytes, void **out, struct error *err);
/*
 * Give back what comm_alloc has handed out to this rank, or NULL. Allowed when all of this
 * rank's requests on it are over: a request ends only when no peer touches its buffer any
 * more, so nobody else has to be asked. It is there again for this rank's next comm_alloc,
 * and the machine has its pages. After a wait that has failed nothing is known of the peers:
 * then memory stays as it is until the world is freed.
 */
void comm_give_back(struct comm *world, void *memory);

/* Messages: in order per (sender, receiver, channel); sizes must match. */
void comm_isend(struct comm *c, int peer, int channel, const void *data, size_t bytes,
		struct comm_request *r);
void comm_irecv(struct comm *c, int peer, int channel, void *data, size_t bytes,
		struct comm_request *r);
/* root is ignored by operations without one. */
void comm_start(struct comm *c, enum comm_op op, void *buf, size_t n, enum dtype dtype,
		int root, struct comm_request *r);

/* Has it completed? Never blocks. True for a request that was never started. */
bool comm_test(struct comm_request *r);
/* Move on whatever this rank has under way: for those who compute for long. */
void comm_poke(struct comm *world);
/* Block until it has. Fails if the run is being stopped, or if this rank and another one do
   not match in something that either of them waits for. */
enum status comm_wait(struct comm_request *r, struct error *err);

/* Forget all that this rank has under way: where it stops in the middle of its work. What it
   has shared stays as it is until the world is freed. */
void comm_abandon(struct comm *world);

/* Start and wait. */
enum status comm_run(struct comm *c, enum comm_op op, void *buf, size_t n, enum dtype dtype,
		     int root, struct error *err);

#endif
