/* across_open.c - making and freeing what across.c works with. */
#include "comm/mpi/lanes.h"

#include <stdlib.h>

/* Number the machines as they first appear, and list their members. */
static void list_hosts(struct across *a, const int *hosts)
{
	int at = 0;

	for (int i = 0; i < a->size; i++) {
		int first = 0;

		while (hosts[first] != hosts[i])
			first++;
		a->host_of[i] = first == i ? a->hosts++ : a->host_of[first];
	}
	for (int h = 0; h < a->hosts; h++) {
		a->host_from[h] = at;
		for (int i = 0; i < a->size; i++)
			if (a->host_of[i] == h) {
				a->local_of[i] = at - a->host_from[h];
				a->members[at++] = i;
			}
	}
	a->host_from[a->hosts] = at;
	for (int i = 0; i < a->size; i++) {
		if (i == 0 || a->host_of[i] != a->host_of[i - 1])
			a->runs[a->n_runs++] = (struct run){.first = i, .host = a->host_of[i]};
		a->runs[a->n_runs - 1].end = i + 1;
	}
	a->here = a->host_of[a->rank];
}

/* The standard promises TAGS of them, and says of the world only how many there are. */
static int count_kinds(void)
{
	int *most = NULL, found = 0;

	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found);
	return found ? (int)(((int64_t)*most + 1) / TAGS) : 1;
}

enum status across_create(struct across **out, MPI_Comm comm, const int *hosts, int size,
			  int rank, struct error *err)
{
	struct across *a;
	bool ok;

	if (size >= RESULT_HOP) { /* each may be a hop */
		FAIL(err, ERR_USAGE, "%d ranks in a group over several machines are too many",
		     size);
		return HINT(err, "at most %d", RESULT_HOP - 1);
	}
	a = calloc(1, sizeof(*a));
	ok = a != NULL;
	if (a) {
		a->comm = MPI_COMM_NULL; /* ours only if all goes well */
		a->size = size;
		a->rank = rank;
		a->host_of = calloc((size_t)size, sizeof(int));
		a->local_of = calloc((size_t)size, sizeof(int));
		a->members = calloc((size_t)size, sizeof(int));
		a->host_from = calloc((size_t)size + 1, sizeof(int));
		a->runs = calloc((size_t)size, sizeof(*a->runs));
		ok = a->host_of && a->local_of && a->members && a->host_from && a->runs;
	}
	for (int i = 0; ok && i < LANES; i++) {
		a->lanes[i].sum = malloc(PIECE * sizeof(float));
		a->lanes[i].requests = calloc((size_t)size + 1, sizeof(MPI_Request));
		ok = a->lanes[i].sum && a->lanes[i].requests;
	}
	if (!ok) {
		across_free(a);
		return FAIL(err, ERR_MEMORY, "no memory for a group of %d ranks", size);
	}
	list_hosts(a, hosts);
	if (across_find_nodes(a, err) != OK) {
		across_free(a);
		return ERR_MEMORY;
	}
	a->kinds = count_kinds();
	a->comm = comm;
	*out = a;
	return OK;
}

void across_free(struct across *a)
{
	if (!a)
		return;
	for (int i = 0; i < LANES; i++) {
		free(a->lanes[i].sum);
		free(a->lanes[i].nodes);
		free(a->lanes[i].requests);
	}
	if (a->comm != MPI_COMM_NULL)
		MPI_Comm_free(&a->comm);
	free(a->host_of);
	free(a->local_of);
	free(a->members);
	free(a->host_from);
	free(a->runs);
	free(a->nodes);
	free(a);
}
