/*
 * blocks.h - the parts of the shared memory that a rank has: in use, or given back and there
 * to be used again by this rank. Only for comm/.
 *
 * Nobody else needs to know: a rank's blocks are its own, and whoever reads them does so
 * within a request. What is given back keeps its addresses and loses its pages.
 */
#ifndef KOLM_COMM_SHM_BLOCKS_H
#define KOLM_COMM_SHM_BLOCKS_H

#include "comm/shm/memory.h"

struct block {
	uint64_t at, size; /* in the file */
	bool free;
};

/* By address; no two that are free touch each other. */
struct blocks {
	struct block *all;
	int count, room;
};

void blocks_release(struct blocks *b);

/* Zeroed, and as shm_room has it. */
enum status blocks_take(struct blocks *b, struct shm_memory *m, size_t bytes, void **out,
			struct error *err);
/* What blocks_take has handed out. */
void blocks_give_back(struct blocks *b, struct shm_memory *m, const void *memory);

#endif
