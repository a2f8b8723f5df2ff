/* across_tree.c - sums in a tree whose leaves are on several machines; see across.h */
#include "base/tree.h"
#include "base/util.h"
#include "comm/mpi/lanes.h"
#include "comm/reduce.h"

#include <assert.h>
#include <stdlib.h>

static bool is_on_one_machine(const struct across *a, int first, int size)
{
	for (int i = first; i < first + size; i++)
		if (a->host_of[i] != a->host_of[first])
			return false;
	return true;
}

/* From left to right, each as large as its place in the tree and its machine allow. */
enum status across_find_nodes(struct across *a, struct error *err)
{
	int size;

	if (!tree_has(a->size))
		return OK;
	a->nodes = calloc((size_t)a->size, sizeof(*a->nodes));
	if (!a->nodes)
		goto failed;
	for (int first = 0; first < a->size; first += size) {
		size = 1;
		while (first % (2 * size) == 0 && first + 2 * size <= a->size &&
		       is_on_one_machine(a, first, 2 * size))
			size *= 2;
		a->nodes[a->n_nodes++] = (struct node){first, size, a->host_of[first]};
	}
	/* Nobody touches this room in a group that adds up in another order. */
	a->node_piece = (size_t)imin(PIECE, imax(PIECE_LEAST, NODES_ROOM / a->n_nodes));
	for (int i = 0; i < LANES; i++) {
		a->lanes[i].nodes = malloc((size_t)a->n_nodes * a->node_piece * sizeof(float));
		if (!a->lanes[i].nodes)
			goto failed;
	}
	return OK;
failed:
	return FAIL(err, ERR_MEMORY, "no memory for a group of %d ranks", a->size);
}

static char *room_of(const struct across *a, const struct comm_request *r, const struct lane *l,
		     int node)
{
	return l->nodes + (size_t)node * a->node_piece * dtype_size(r->dtype);
}

static int bytes_of(const struct comm_request *r, const struct lane *l)
{
	return (int)((l->end - l->begin) * dtype_size(r->dtype));
}

/* Where the piece is in the buffer of a member of this machine. */
static char *leaf(const struct across *a, const struct host_group *g,
		  const struct comm_request *r, const struct lane *l, int member)
{
	return (char *)host_buffer(g, r, a->local_of[member]) + l->begin * dtype_size(r->dtype);
}

/* The leaves of a node of ours as a tree of their own. */
static void add_up(const struct across *a, const struct host_group *g,
		   const struct comm_request *r, const struct lane *l, const struct node *node,
		   void *to)
{
	struct reduce_part parts[RANKS_MAX];

	for (int i = 0; i < node->size; i++)
		parts[i] =
			(struct reduce_part){leaf(a, g, r, l, node->first + i), (unsigned)i, 1};
	reduce_tree(parts, node->size, &to, 1, l->end - l->begin, r->dtype);
}

/* The number of a node is its message's: every slice has its own two ends. */
void across_give_nodes(const struct across *a, const struct host_group *g,
		       const struct comm_request *r, struct lane *l)
{
	int to = across_in_charge(a, l->slice, a->host_of[l->slice]);

	for (int i = 0; i < a->n_nodes; i++) {
		const struct node *node = &a->nodes[i];
		void *data = room_of(a, r, l, i);

		if (node->host != a->here)
			continue;
		if (node->size == 1)
			data = leaf(a, g, r, l, node->first);
		else
			add_up(a, g, r, l, node, data);
		MPI_Isend(data, bytes_of(r, l), MPI_BYTE, to, across_tag(a, r, l, i), a->comm,
			  &l->requests[l->pending++]);
	}
}

void across_gather_nodes(const struct across *a, const struct comm_request *r, struct lane *l)
{
	for (int i = 0; i < a->n_nodes; i++)
		if (a->nodes[i].host != a->here)
			MPI_Irecv(room_of(a, r, l, i), bytes_of(r, l), MPI_BYTE,
				  across_in_charge(a, l->slice, a->nodes[i].host),
				  across_tag(a, r, l, i), a->comm, &l->requests[l->pending++]);
}

/* What came from others, and our own leaves as they are. */
void across_climb(const struct across *a, const struct host_group *g,
		  const struct comm_request *r, struct lane *l)
{
	struct reduce_part parts[RANKS_MAX];
	void *targets[RANKS_MAX];
	int n = 0, n_targets = across_targets(a, g, r, l->slice, targets);

	assert(n_targets > 0); /* the owner of the slice is here */
	for (int i = 0; i < n_targets; i++)
		targets[i] = (char *)targets[i] + l->begin * dtype_size(r->dtype);
	for (int i = 0; i < a->n_nodes; i++) {
		const struct node *node = &a->nodes[i];

		if (node->host != a->here)
			parts[n++] =
				(struct reduce_part){room_of(a, r, l, i), (unsigned)node->first,
						     (unsigned)node->size};
		for (int k = 0; node->host == a->here && k < node->size; k++)
			parts[n++] = (struct reduce_part){leaf(a, g, r, l, node->first + k),
							  (unsigned)(node->first + k), 1};
	}
	reduce_tree(parts, n, targets, n_targets, l->end - l->begin, r->dtype);
}
