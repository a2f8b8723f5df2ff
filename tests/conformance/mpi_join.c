/*
 * mpi_join.c - worlds over communicators of a program that has started MPI by itself: of all
 * processes, of parts of them, one after the other and at the same time, with messages of the
 * program's own in between. mpirun starts four processes; the argument is the level of threads.
 */
#include "ranks.h"

#include <mpi.h>

enum { N = 100 * 1000, PROCESSES = 4 };

static int process, processes;

static struct comm *join(MPI_Comm comm)
{
	struct comm *world;
	struct mpi_place place;
	struct error err = {0};
	int rank, size;

	CHECK(mpi_join(&world, &comm, getenv("KOLM_MPI_HOSTS"), &place, &err) == OK, "%s",
	      err.msg);
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	CHECK(comm_rank(world) == rank && comm_size(world) == size, "%d of %d, not %d of %d",
	      comm_rank(world), comm_size(world), rank, size);
	CHECK(place.host <= rank && place.local < place.locals, "the place");
	return world;
}

static void start_sum(struct comm *world, float *x, struct comm_request *r)
{
	for (int i = 0; i < N; i++)
		x[i] = (float)(comm_rank(world) + i % 5);
	comm_start(world, COMM_ALLREDUCE, x, N, DTYPE_F32, 0, r);
}

static void check_sum(struct comm *world, const float *x)
{
	int n = comm_size(world);

	for (int i = 0; i < N; i++)
		CHECK(x[i] == (float)(n * (n - 1) / 2 + n * (i % 5)), "element %d is %g", i,
		      (double)x[i]);
}

/* A sum, an all-gather of structs, and a message around the ring. */
static void use(struct comm *world)
{
	int n = comm_size(world), me = comm_rank(world), *in, *out;
	float *x = rank_alloc(world, N * sizeof(*x));
	struct {
		int rank, process;
	} *all = rank_alloc(world, (size_t)n * sizeof(*all));
	struct comm_request sum, send, receive;
	struct error err = {0};

	in = rank_alloc(world, sizeof(*in));
	out = rank_alloc(world, sizeof(*out));
	start_sum(world, x, &sum);
	*out = 1000 + me;
	comm_irecv(world, (me + n - 1) % n, 1, in, sizeof(*in), &receive);
	comm_isend(world, (me + 1) % n, 1, out, sizeof(*out), &send);
	all[me].rank = me;
	all[me].process = process;
	CHECK(comm_run(world, COMM_ALLGATHER, all, (size_t)n * sizeof(*all), DTYPE_BYTE, 0,
		       &err) == OK,
	      "%s", err.msg);
	rank_wait(&sum);
	rank_wait(&send);
	rank_wait(&receive);
	check_sum(world, x);
	CHECK(*in == 1000 + (me + n - 1) % n, "%d came", *in);
	for (int i = 0; i < n; i++)
		CHECK(all[i].rank == i, "row %d is of %d", i, all[i].rank);
	CHECK(all[me].process == process, "own row");
	comm_give_back(world, x);
	comm_give_back(world, all);
	comm_give_back(world, in);
	comm_give_back(world, out);
}

/* The program's own message, with any tag, is nobody else's. */
static void talk(MPI_Comm comm)
{
	int rank, size, got = -1;
	MPI_Status status;

	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 100, &got, 1, MPI_INT,
		     MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
	CHECK(got == (rank + size - 1) % size && status.MPI_TAG == 100, "got %d", got);
}

static void all_processes_are_a_world(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		struct comm *world = join(MPI_COMM_WORLD);

		use(world);
		talk(MPI_COMM_WORLD);
		use(world);
		comm_free(world);
	}
	talk(MPI_COMM_WORLD);
}

/* Even and odd processes, in reverse order; each part does as much as it likes. */
static void parts_are_worlds(void **state)
{
	MPI_Comm part;
	(void)state;

	MPI_Comm_split(MPI_COMM_WORLD, process % 2, -process, &part);
	for (int i = 0; i < 3 + 2 * (process % 2); i++) {
		struct comm *world = join(part);
		struct comm *pair;
		int ranks[] = {1, 0};
		struct error err = {0};

		use(world);
		CHECK(comm_create(&pair, world, COMM_FOR_SLICES, ranks, 2, &err) == OK, "%s",
		      err.msg);
		CHECK(comm_rank(pair) == 1 - comm_rank(world), "the order of the group");
		CHECK(comm_run(pair, COMM_BARRIER, NULL, 0, DTYPE_F32, 0, &err) == OK, "%s",
		      err.msg);
		comm_free(pair);
		comm_free(world);
		talk(part); /* the communicator is still the program's */
	}
	MPI_Comm_free(&part);
}

static void two_worlds_at_a_time(void **state)
{
	MPI_Comm part;
	struct comm *whole, *half;
	(void)state;

	MPI_Comm_split(MPI_COMM_WORLD, process / 2, process, &part);
	whole = join(MPI_COMM_WORLD);
	half = join(part);
	for (int i = 0; i < 10; i++) {
		struct comm_request a, b;
		float *x = rank_alloc(whole, N * sizeof(*x)),
		      *y = rank_alloc(half, N * sizeof(*y));

		start_sum(whole, x, &a);
		start_sum(half, y, &b);
		rank_wait(i % 2 ? &a : &b);
		rank_wait(i % 2 ? &b : &a);
		check_sum(whole, x);
		check_sum(half, y);
		comm_give_back(whole, x);
		comm_give_back(half, y);
	}
	comm_free(process % 4 < 2 ? whole : half); /* in any order */
	comm_free(process % 4 < 2 ? half : whole);
	MPI_Comm_free(&part);
}

static void without_mpi_there_is_no_world(void)
{
	MPI_Comm comm = MPI_COMM_NULL;
	struct comm *world;
	struct mpi_place place;
	struct error err = {0};

	CHECK(mpi_join(&world, &comm, NULL, &place, &err) == ERR_USAGE, "it goes on");
	CHECK(!strcmp(err.msg, "MPI has not been started"), "%s", err.msg);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int level;
	} levels[] = {{"single", MPI_THREAD_SINGLE},
		      {"serialized", MPI_THREAD_SERIALIZED},
		      {"multiple", MPI_THREAD_MULTIPLE}};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_processes_are_a_world),
		cmocka_unit_test(parts_are_worlds),
		cmocka_unit_test(two_worlds_at_a_time),
	};
	int level = MPI_THREAD_SINGLE, provided, failed;

	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(levels); i++)
		if (!strcmp(argv[1], levels[i].name))
			level = levels[i].level;
	alarm(120);
	without_mpi_there_is_no_world();
	MPI_Init_thread(NULL, NULL, level, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &process);
	MPI_Comm_size(MPI_COMM_WORLD, &processes);
	CHECK(processes == PROCESSES, "%d processes", processes);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	MPI_Finalize(); /* which the worlds have not done */
	return failed;
}
