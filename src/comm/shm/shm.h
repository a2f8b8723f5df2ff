/*
 * shm.h - the transport among ranks of one machine, over memory that all of them map.
 *
 * Every rank has the same memory at the same addresses: a pointer means the same to all. A
 * launcher that starts ranks by fork prepares it before; ranks with no common parent agree
 * on an address, one of them prepares, the others attach. The memory is a memfd: no name, no
 * limit of /dev/shm, nothing left behind however ranks end. It grows as ranks take more of
 * it, and a process maps what has been handed out when it needs it.
 */
#ifndef KOLM_COMM_SHM_SHM_H
#define KOLM_COMM_SHM_SHM_H

#include "comm/comm.h"

enum {
	SHM_PAGE = 2048,
	SHM_PLACES = 4, /* addresses that it may begin at */
};

struct shm_memory; /* opaque */

/* For that many ranks, at one of the addresses (-1: any), with room for so many bytes of theirs
   mapped already, by shm_room; more comes as needed. spin: every rank has a core of its own. */
enum status shm_prepare(struct shm_memory **out, int ranks, bool spin, size_t bytes, int place,
			struct error *err);
/* What another process has prepared at that place; pid and fd as it says. */
enum status shm_attach(struct shm_memory **out, int ranks, bool spin, int place, int pid,
		       int fd, struct error *err);
/* What an allocation of that size takes, at most; and the whole of it for so many ranks with
   so many bytes. */
size_t shm_room(size_t bytes);
size_t shm_size(int ranks, size_t bytes);
/*
 * Look at the status and the pages of what another process has, as its shm_fd and shm_token
 * say: a copy, so that whatever happens to the original harms nobody here. False, with *out
 * NULL and errno, if that is not there (ESRCH: another memory, or none) or can't be read.
 */
bool shm_look(struct shm_memory **out, int ranks, int pid, int fd, uint64_t token);
/* Look again; false if it can't be read any more. */
bool shm_look_again(struct shm_memory *memory);
/* Is it still open in that process? */
bool shm_still_there(const struct shm_memory *memory, int pid, int fd);
uint64_t shm_token(const struct shm_memory *memory);
/* Differs where the control part may be laid out differently. */
size_t shm_layout(void);
int shm_fd(const struct shm_memory *memory);

/* In a rank: its world. */
enum status shm_join(struct comm **world, struct shm_memory *memory, int rank,
		     struct error *err);
/* What a rank waits for. */
struct comm_status *shm_status(struct shm_memory *memory, int rank);
/* SHM_PAGE bytes for each rank, zero at first, for the launcher's own use. */
void *shm_page(struct shm_memory *memory, int rank);
/* True for the first of all ranks here that asks; and: has anybody? */
bool shm_first_failure(struct shm_memory *memory);
bool shm_has_failed(const struct shm_memory *memory);
/* Wake every rank and have its waits fail. */
void shm_stop(struct shm_memory *memory);
/* In the launcher, and in a rank after its world is freed. */
void shm_release(struct shm_memory *memory);

#endif
