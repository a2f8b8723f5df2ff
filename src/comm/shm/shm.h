/*
 * shm.h - the transport among ranks of one machine, over memory that all of them map.
 *
 * The launcher prepares it before it starts the ranks by fork, so that every rank has
 * the same memory at the same addresses: a pointer into one rank's segment means the
 * same to all. Segments are memfds: no name, no limit of /dev/shm, nothing left behind
 * however the ranks end.
 */
#ifndef KOLM_COMM_SHM_SHM_H
#define KOLM_COMM_SHM_SHM_H

#include "comm/comm.h"

enum { SHM_RANKS_MAX = 64 };

struct shm_memory; /* opaque */

/* Before fork: room for that many ranks; spin: every rank has a core of its own. */
enum status shm_prepare(struct shm_memory **out, int ranks, bool spin, struct error *err);
/* In a rank, after fork: its world. */
enum status shm_join(struct comm **world, struct shm_memory *memory, int rank,
		     struct error *err);
/* What a rank waits for. */
struct comm_status *shm_status(struct shm_memory *memory, int rank);
/* Wake every rank and have its waits fail. */
void shm_stop(struct shm_memory *memory);
/* In the launcher, and in a rank after its world is freed. */
void shm_release(struct shm_memory *memory);

#endif
