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
	TAGS = WINDOW * HOPS,	/* what every MPI has; most have many times that */
	NODES_ROOM = 4 * PIECE, /* elements of all nodes of a piece */
	PIECE_LEAST = 1 << 10,
};

/* The largest part of a tree of the members that is on one machine. */
struct node {
	int first, size, host;
};

/* Members that follow each other on one machine. */
struct run {
	int first, end, host;
};

enum stage {
	STAGE_FETCH,  /* ask for the sum of the runs before */
	STAGE_ADD,    /* add our run to it and hand it on */
	STAGE_GIVE,   /* in a tree: send our nodes */
	STAGE_GATHER, /* ask for the nodes of others */
	STAGE_CLIMB,  /* and add all up */
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
	char *nodes;	   /* (n_nodes, node_piece) of any type */
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
	struct node *nodes; /* of the tree, in order; none: it can't be one */
	int n_nodes;
	size_t node_piece; /* elements of a piece of a sum in it */
	/* of the collective that is under way: the next piece to look at */
	int slice;
	size_t at;
	uint64_t piece;
	struct lane lanes[LANES];
};

/* Who is in charge of a slice on a machine: its owner, if that is there. */
int across_in_charge(const struct across *a, int slice, int host);
int across_tag(const struct across *a, const struct comm_request *r, const struct lane *l,
	       int hop);
/* Buffers on this machine that a slice goes to. */
int across_targets(const struct across *a, const struct host_group *g,
		   const struct comm_request *r, int slice, void **out);

/* across_tree.c: the nodes and their room; the stages of a piece. */
enum status across_find_nodes(struct across *a, struct error *err);
void across_give_nodes(const struct across *a, const struct host_group *g,
		       const struct comm_request *r, struct lane *l);
void across_gather_nodes(const struct across *a, const struct comm_request *r, struct lane *l);
void across_climb(const struct across *a, const struct host_group *g,
		  const struct comm_request *r, struct lane *l);

#endif
