/* lanes.h - what a collective across machines keeps; see across.h. Only for comm/mpi/. */
#ifndef KOLM_COMM_MPI_LANES_H
#define KOLM_COMM_MPI_LANES_H

#include "comm/mpi/across.h"

enum {
	LANES = 4,	 /* pieces under way */
	PIECE = 1 << 16, /* elements */
	WINDOW = 16,	 /* pieces with tags of their own */
	HOPS = 1 << 11,	 /* messages of a piece with tags of their own */
	RESULT_HOP = HOPS - 1,
	TAGS = WINDOW * HOPS, /* what every MPI has; most have many times that */
};

/* Members that follow each other on one machine. */
struct run {
	int first, end, host;
};

enum stage {
	STAGE_FETCH,  /* ask for the sum of the runs before */
	STAGE_ADD,    /* add our run to it and hand it on */
	STAGE_SPREAD, /* the result is here: hand it out */
	STAGE_TAKE,   /* ask for the result */
	STAGE_SHARE,  /* and pass it on within the machine */
	STAGE_END,
};

/* A piece under way: what comes next for it, when the messages pending are through. */
struct lane {
	bool busy;
	enum stage stage;
	uint64_t piece;
	int slice, run;
	size_t begin, end; /* elements */
	float *sum;	   /* (PIECE) */
	MPI_Request *requests;
	int pending;
};

struct across {
	MPI_Comm comm;
	int size, rank, hosts, here;
	int kinds;	/* of collectives that have tags of their own */
	uint64_t past;	/* all collectives so far, as one number */
	int *host_of;	/* (size) */
	int *local_of;	/* (size) number among the members of its machine */
	int *members;	/* (size) by machine */
	int *host_from; /* (hosts + 1) where in members */
	struct run *runs;
	int n_runs;
	/* of the collective that is under way: the next piece to look at */
	int slice;
	size_t at;
	uint64_t piece;
	struct lane lanes[LANES];
};

#endif
