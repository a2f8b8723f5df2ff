/*
 * bench_comm.c - latency and bandwidth of messages and collectives between ranks of
 * this machine, beside the memory bandwidth of the same run.
 */
#include "cmd/bench.h"
#include "base/clock.h"
#include "base/stats.h"
#include "base/util.h"
#include "launch/launch.h"

#include <math.h>
#include <stdio.h>
#include <sys/mman.h>

enum { BATCHES = 7, PING_PONG = COMM_OP_COUNT, ROWS_MOST = 512 };

static const size_t sizes[] = {0, 1 << 10, 16 << 10, 256 << 10, 1 << 20, 16 << 20};

static const int ops[] = {PING_PONG,	  COMM_BARRIER,	  COMM_ALLREDUCE, COMM_REDUCE_SCATTER,
			  COMM_ALLGATHER, COMM_BROADCAST, COMM_SCATTER,	  COMM_GATHER};

struct row {
	int op, ranks;
	size_t bytes;
	double us;	     /* median over batches */
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
	bool print; /* each row when it is measured */
	int cores;
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

static enum status measure(struct rank *r, const struct plan *plan, int op, size_t bytes,
			   float *buf, float *word, struct error *err)
{
	enum status st;
	struct row row = {.op = op,
			  .ranks = r->ranks,
			  .bytes = bytes,
			  .oversubscribed = r->ranks > plan->cores};
	double us[BATCHES], start;
	int repeats;

	rank_at(r, "%s of %zu bytes", op_name(op), bytes);
	TRY(once(r, op, buf, bytes, err));
	start = clock_ms();
	TRY(once(r, op, buf, bytes, err));
	TRY(agree(r, word,
		  fmin(10000, plan->seconds * 1e3 / BATCHES / (clock_ms() - start + 1e-3)),
		  &repeats, err));
	for (int batch = 0; batch < BATCHES; batch++) {
		TRY(comm_run(r->world, COMM_BARRIER, NULL, 0, DTYPE_F32, 0, err));
		start = clock_ms();
		for (int i = 0; i < repeats; i++)
			TRY(once(r, op, buf, bytes, err));
		us[batch] = (clock_ms() - start) * 1e3 / repeats / (op == PING_PONG ? 2 : 1);
		rank_at(r, "%s of %zu bytes, batch %d", op_name(op), bytes, batch);
	}
	row.us = statistics_of(us, BATCHES).median;
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
		json_put_bool(&b->json, "oversubscribed", row->oversubscribed);
		json_end_object(&b->json);
	}
	json_end_array(&b->json);
}

enum status bench_comm(struct bench *b, struct error *err)
{
	static const int usual[] = {2, 8};
	enum status st;
	double memory[TRAFFIC_COUNT] = {0};
	int n = b->ranks ? 1 : (int)ARRAY_SIZE(usual);
	struct results *results = mmap(NULL, sizeof(*results), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct plan plan = {
		.seconds = b->seconds / 2, .results = results, .print = !b->as_json};

	if (results == MAP_FAILED)
		return FAIL(err, ERR_MEMORY, "no memory for the results");
	TRY(bench_open(b, 0, err));
	TRY(bench_memory(b, memory, err));
	plan.cores = device_cores(b->dev);
	/* Threads do not survive a fork: end them before the ranks start. */
	device_close(b->dev);
	b->dev = NULL;
	if (b->as_json) {
		json_put_double(&b->json, "memory_gb_per_s", memory[TRAFFIC_COPY]);
	} else {
		printf("memory in this run: %.1f GB/s on all cores\n\n", memory[TRAFFIC_COPY]);
		printf("%-15s %6s %10s %12s %9s\n", "operation", "ranks", "bytes", "us",
		       "GB/s");
	}
	for (int i = 0; i < n; i++) {
		struct launch launch = {.ranks = b->ranks ? b->ranks : usual[i],
					.timeout_ms = 60 * 1000};

		TRY(launch_run(&launch, run_rank, &plan, err));
	}
	if (b->as_json)
		put_json(b, results);
out:
	munmap(results, sizeof(*results));
	return st;
}
