/*
 * bench_comm.c - latency and bandwidth of messages and collectives between ranks, beside
 * the memory bandwidth of the same run and, where MPI is built in, the MPI library's own
 * operations in the same processes.
 */
#include "cmd/bench.h"
#include "base/clock.h"
#include "base/stats.h"
#include "base/util.h"
#include "comm/mpi/mpi.h"
#include "comm/shm/shm.h"
#include "launch/launch.h"

#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BATCHES = 7, PING_PONG = COMM_OP_COUNT, ROWS_MOST = 512 };

static const size_t sizes[] = {0, 1 << 10, 16 << 10, 256 << 10, 1 << 20, 16 << 20};

static const int ops[] = {PING_PONG,	  COMM_BARRIER,	  COMM_ALLREDUCE, COMM_REDUCE_SCATTER,
			  COMM_ALLGATHER, COMM_BROADCAST, COMM_SCATTER,	  COMM_GATHER};

struct row {
	int op, ranks;
	size_t bytes;
	double us, mpi_us;   /* medians over batches; mpi_us is 0 where there is no MPI */
	bool oversubscribed; /* more ranks than cores */
};

/* Shared with the ranks: rank 0 fills it in. */
struct results {
	int count;
	struct row rows[ROWS_MOST];
};

struct plan {
	double seconds;
	struct results *results;
	bool print;	 /* each row when it is measured */
	bool beside_mpi; /* measure the library's own operations too */
};

static const char *op_name(int op)
{
	return op == PING_PONG ? "message" : comm_op_name((enum comm_op)op);
}

static double rate_of(const struct row *row)
{
	return (double)row->bytes / row->us * 1e-3;
}

/* A row of the table, as soon as it is known. */
static void print_row(const struct row *row)
{
	printf("%-15s %6d %10zu %12.2f ", op_name(row->op), row->ranks, row->bytes, row->us);
	if (row->bytes)
		printf("%9.2f", rate_of(row));
	else
		printf("%9s", "-");
	if (row->mpi_us > 0)
		printf(" %12.2f %8.1fx", row->mpi_us, row->mpi_us / row->us);
	printf("%s\n", row->oversubscribed ? "  oversubscribed" : "");
	fflush(stdout);
}

/* There and back with the neighbour; every pair at once. An odd one out stands by. */
static enum status ping_pong(struct rank *r, float *buf, size_t bytes, struct error *err)
{
	int peer = r->number ^ 1;
	enum status st = OK;
	struct comm_request a, b;

	if (peer >= r->ranks)
		return OK;
	if (r->number < peer)
		comm_isend(r->world, peer, 0, buf, bytes, &a);
	else
		comm_irecv(r->world, peer, 0, buf, bytes, &a);
	TRY(comm_wait(&a, err));
	if (r->number < peer)
		comm_irecv(r->world, peer, 0, buf, bytes, &b);
	else
		comm_isend(r->world, peer, 0, buf, bytes, &b);
	TRY(comm_wait(&b, err));
out:
	return st;
}

static enum status once(struct rank *r, int op, float *buf, size_t bytes, struct error *err)
{
	if (op == PING_PONG)
		return ping_pong(r, buf, bytes, err);
	return comm_run(r->world, (enum comm_op)op, buf, bytes / sizeof(float), DTYPE_F32, 0,
			err);
}

/* Everybody must repeat equally often, so rank 0 decides and tells. */
static enum status agree(struct rank *r, float *word, double value, int *out, struct error *err)
{
	enum status st;

	*word = (float)value;
	TRY(comm_run(r->world, COMM_BROADCAST, word, 1, DTYPE_F32, 0, err));
	*out = imax(1, (int)*word);
out:
	return st;
}

/* The time of one operation, ours or the library's, over some repetitions. */
static enum status time_once(struct rank *r, int op, bool own, int repeats, float *buf,
			     size_t bytes, double *us, struct error *err)
{
	enum status st;
	double start;

	TRY(comm_run(r->world, COMM_BARRIER, NULL, 0, DTYPE_F32, 0, err));
	start = clock_ms();
	for (int i = 0; i < repeats; i++) {
		if (!own)
			TRY(once(r, op, buf, bytes, err));
		else if (op == PING_PONG)
			mpi_own_ping_pong(r->world, buf, bytes);
		else
			mpi_own_collective(r->world, (enum comm_op)op, buf,
					   bytes / sizeof(float));
	}
	*us = (clock_ms() - start) * 1e3 / repeats / (op == PING_PONG ? 2 : 1);
out:
	return st;
}

/* Ours and the library's in turn, so that both see the same machine. */
static enum status measure(struct rank *r, const struct plan *plan, int op, size_t bytes,
			   float *buf, float *word, struct error *err)
{
	enum status st;
	struct row row = {.op = op,
			  .ranks = r->ranks,
			  .bytes = bytes,
			  .oversubscribed = r->oversubscribed};
	double us[2][BATCHES], first;
	int repeats[2] = {1, 1}, kinds = plan->beside_mpi ? 2 : 1;

	rank_at(r, "%s of %zu bytes", op_name(op), bytes);
	for (int own = 0; own < kinds; own++) {
		TRY(time_once(r, op, own, 1, buf, bytes, &first, err));
		TRY(time_once(r, op, own, 1, buf, bytes, &first, err));
		TRY(agree(r, word, fmin(10000, plan->seconds * 1e6 / BATCHES / (first + 1)),
			  &repeats[own], err));
	}
	for (int batch = 0; batch < BATCHES; batch++)
		for (int own = 0; own < kinds; own++) {
			rank_at(r, "%s%s of %zu bytes, batch %d", own ? "MPI's " : "",
				op_name(op), bytes, batch);
			TRY(time_once(r, op, own, repeats[own], buf, bytes, &us[own][batch],
				      err));
		}
	row.us = statistics_of(us[0], BATCHES).median;
	row.mpi_us = plan->beside_mpi ? statistics_of(us[1], BATCHES).median : 0;
	if (r->number == 0)
		plan->results->rows[plan->results->count++] = row;
	if (r->number == 0 && plan->print)
		print_row(&row);
out:
	return st;
}

static enum status run_rank(struct rank *r, void *arg, struct error *err)
{
	enum status st;
	const struct plan *plan = arg;
	float *buf, *word;

	TRY(comm_alloc(r->world, sizes[ARRAY_SIZE(sizes) - 1], (void **)&buf, err));
	TRY(comm_alloc(r->world, sizeof(float), (void **)&word, err));
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
			if ((ops[i] == COMM_BARRIER) != (sizes[s] == 0))
				continue;
			TRY(measure(r, plan, ops[i], sizes[s], buf, word, err));
		}
out:
	return st;
}

static void put_json(struct bench *b, const struct results *results)
{
	json_begin_array(&b->json, "rows");
	for (int i = 0; i < results->count; i++) {
		const struct row *row = &results->rows[i];

		json_begin_object(&b->json, NULL);
		json_put_string(&b->json, "op", op_name(row->op));
		json_put_string(&b->json, "dtype", "fp32");
		json_put_int(&b->json, "bytes", (int64_t)row->bytes);
		json_put_int(&b->json, "ranks", row->ranks);
		json_put_double(&b->json, "us", row->us);
		json_put_double(&b->json, "gb_per_s", rate_of(row));
		if (row->mpi_us > 0)
			json_put_double(&b->json, "mpi_us", row->mpi_us);
		json_put_bool(&b->json, "oversubscribed", row->oversubscribed);
		json_end_object(&b->json);
	}
	json_end_array(&b->json);
}

static void print_titles(bool beside_mpi)
{
	printf("%-15s %6s %10s %12s %9s", "operation", "ranks", "bytes", "us", "GB/s");
	if (beside_mpi)
		printf(" %12s %9s", "MPI's us", "ratio");
	printf("\n");
	fflush(stdout);
}

/* ---- by itself: mpirun starts this command again, and we read what it prints ---- */

static enum status mpi_failed(struct error *err)
{
	FAIL(err, ERR_FAILED, "%s could not run 'kolm bench comm'", KOLM_MPIEXEC);
	return HINT(err, "try it: %s -n 2 kolm bench comm; or use --transport shm",
		    KOLM_MPIEXEC);
}

/* In the child: the same measurement under mpirun, as JSON on standard output. */
static _Noreturn void start_mpi(int ranks, double seconds, int out)
{
	char path[4096], n[16], s[32];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (length <= 0)
		_exit(127);
	path[length] = '\0';
	snprintf(n, sizeof(n), "%d", ranks);
	snprintf(s, sizeof(s), "%.9g", seconds);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	dup2(out, STDOUT_FILENO);
	/* Open MPI refuses root and more ranks than cores unless it is told; MPICH doesn't. */
	setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
	setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
	setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
	execlp(KOLM_MPIEXEC, KOLM_MPIEXEC, "-n", n, path, "bench", "comm", "--json",
	       "--seconds", s, (char *)NULL);
	_exit(127);
}

static void read_row(struct results *results, const json_t *j)
{
	struct row *row = &results->rows[results->count];
	const char *op = json_string_value(json_object_get(j, "op"));

	*row = (struct row){
		.ranks = (int)json_integer_value(json_object_get(j, "ranks")),
		.bytes = (size_t)json_integer_value(json_object_get(j, "bytes")),
		.us = json_number_value(json_object_get(j, "us")),
		.mpi_us = json_number_value(json_object_get(j, "mpi_us")),
		.oversubscribed = json_is_true(json_object_get(j, "oversubscribed")),
	};
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		if (op && !strcmp(op, op_name(ops[i])))
			row->op = ops[i];
	results->count++;
}

static enum status run_under_mpi(struct bench *b, int ranks, struct results *results,
				 struct error *err)
{
	enum status st = OK;
	int ends[2], status = -1, from = results->count;
	json_t *root = NULL, *rows, *row;
	size_t i;
	FILE *in;
	pid_t pid;

	if (pipe(ends))
		return FAIL(err, ERR_FAILED, "can't make a pipe");
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		start_mpi(ranks, b->seconds, ends[1]);
	close(ends[1]);
	in = fdopen(ends[0], "r");
	if (pid > 0 && in)
		root = json_loadf(in, 0, NULL);
	if (in)
		fclose(in);
	if (pid > 0)
		waitpid(pid, &status, 0);
	rows = json_object_get(root, "rows");
	if (status || !json_is_array(rows)) {
		st = mpi_failed(err);
		goto out;
	}
	json_array_foreach(rows, i, row)
	{
		if (results->count < ROWS_MOST)
			read_row(results, row);
	}
	for (int k = from; k < results->count && !b->as_json; k++)
		print_row(&results->rows[k]);
out:
	json_decref(root);
	return st;
}

static enum status check_job(const struct bench *b, const struct launcher *by,
			     struct error *err)
{
	if (b->ranks && b->ranks != by->ranks) {
		FAIL(err, ERR_USAGE, "--ranks %d, but %s has started %d processes", b->ranks,
		     by->name, by->ranks);
		return HINT(err, "leave it out");
	}
	if (b->transport == 1) {
		FAIL(err, ERR_USAGE, "--transport shm in what %s has started", by->name);
		return HINT(err, "start kolm on its own for that");
	}
	return OK;
}

/* How this is to be measured: as a rank of a job, with MPI's help, or without. */
enum status bench_comm(struct bench *b, struct error *err)
{
	static const int usual[] = {2, 8};
	enum status st;
	double memory[TRAFFIC_COUNT] = {0};
	struct launcher by;
	bool launched = launcher_detect(&by), first = !launched || by.rank == 0;
	bool beside_mpi =
		mpi_library() && (launched || (b->transport == 0 && strlen(KOLM_MPIEXEC) > 0));
	int n = b->ranks || launched ? 1 : (int)ARRAY_SIZE(usual);
	struct results *results = mmap(NULL, sizeof(*results), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct plan plan = {.seconds = b->seconds / 2,
			    .results = results,
			    .print = first && !b->as_json,
			    .beside_mpi = launched};

	if (results == MAP_FAILED)
		return FAIL(err, ERR_MEMORY, "no memory for the results");
	if (launched)
		TRY(check_job(b, &by, err));
	if (first) {
		TRY(bench_open(b, 0, err));
		TRY(bench_memory(b, memory, err));
		/* Threads do not survive a fork: end them before the ranks start. */
		device_close(b->dev);
		b->dev = NULL;
	}
	if (b->as_json) {
		json_put_double(&b->json, "memory_gb_per_s", memory[TRAFFIC_COPY]);
		if (beside_mpi)
			json_put_string(&b->json, "mpi", mpi_library());
	} else if (first) {
		printf("memory in this run: %.1f GB/s on all cores%s%s\n\n",
		       memory[TRAFFIC_COPY], beside_mpi ? "; MPI is " : "",
		       beside_mpi ? mpi_library() : "");
		print_titles(beside_mpi);
	}
	for (int i = 0; i < n; i++) {
		struct launch launch = {.ranks = launched   ? by.ranks
						 : b->ranks ? b->ranks
							    : usual[i],
					.timeout_ms = 60 * 1000,
					.pin = true};

		launch.shared = (size_t)launch.ranks *
				(shm_room(sizes[ARRAY_SIZE(sizes) - 1]) + shm_room(1));

		if (beside_mpi && !launched)
			TRY(run_under_mpi(b, launch.ranks, results, err));
		else
			TRY(launch_run(&launch, run_rank, &plan, err));
	}
	if (b->as_json)
		put_json(b, results);
out:
	munmap(results, sizeof(*results));
	return st;
}
