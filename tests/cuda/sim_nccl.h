/*
 * sim_nccl.h - NCCL for the simulated CUDA: processes meet in memory that the unique id leads
 * to. Between sim_nccl*.c.
 *
 * - A call puts an exchange into its stream, and it is done when its turn has come, on all
 *   members: a collective ends for nobody before all have come, a message is over for its
 *   sender when it was received. What a group of calls has goes on together.
 * - Members that bring different things end the test, both named; so do addresses that are no
 *   device's, buffers that overlap in another way than NCCL allows, a communicator that is
 *   used on two streams, and one that is destroyed while something is under way.
 * - Sums go around a ring, each slice from another member on, and are rounded at every hop.
 * - Two members with the same device are refused.
 */
#ifndef KOLM_TESTS_CUDA_SIM_NCCL_H
#define KOLM_TESTS_CUDA_SIM_NCCL_H

#include "sim.h"
#include "device/gpu/cuda_nccl_api.h"

#include <stdatomic.h>

enum {
	PATIENCE = 200000, /* of 100 us, for those who leave together */
	MEMBERS = 16,
	REGION = 16 << 20, /* bytes: the largest exchange */
	TOGETHER = 64,	   /* calls of a group */
};

#define SIM_NCCL(name, symbol, args) ncclResult_t symbol args;
NCCL_FUNCTIONS(SIM_NCCL)

enum kind { ALLREDUCE, REDUCE_SCATTER, REDUCE, ALLGATHER, BROADCAST, SEND, RECEIVE };

/* What all who take part must agree on. */
struct terms {
	enum kind kind;
	unsigned type;
	int root;
	size_t count; /* elements, as the call counts them */
};

/* What the processes share; then a region for each pair: from i to i for collectives. */
struct hall {
	uint64_t token;
	int size;
	int device[MEMBERS];
	_Atomic bool is_here[MEMBERS];
	_Atomic int came, left;
	_Atomic uint64_t brought[MEMBERS], taken[MEMBERS]; /* collectives */
	struct terms terms[MEMBERS];
	int64_t ns[MEMBERS]; /* when they came */
	struct {
		_Atomic uint64_t sent, taken;
		struct terms terms;
		int64_t sent_ns, taken_ns;
	} ways[MEMBERS][MEMBERS]; /* from, to */
};

struct ncclComm {
	struct hall *hall;
	int rank, size;
	CUstream stream; /* that it is used on */
	uint64_t collectives;
	int under_way;
	bool aborted;
};

struct exchange {
	struct terms terms;
	char *from, *to;
	int peer;
	uint64_t number; /* of a collective */
	int64_t ns;
	bool begun, done;
};

struct together {
	struct ncclComm *comm;
	int n;
	struct exchange exchanges[];
};

/* The other library of this folder: queues and memory are its. */
struct sim_driver {
	CUresult (*enqueue)(CUstream, sim_attempt *, const void *, size_t);
	void *(*translate)(const void *, size_t, const char *);
	void (*lock)(void), (*unlock)(void), (*keep)(int);
	void (*blame)(const char *, ...);
	int (*device)(void);
};
extern struct sim_driver driver;
bool sim_find_driver(void);

/* sim_nccl_meet.c: as far as it goes now; true: it is over. */
bool sim_meet(void *together, int64_t *ns);
size_t sim_nccl_size(unsigned type);

#endif
