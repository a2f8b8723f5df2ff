/* bench.c - kolm bench: how fast this machine is, and how near to that the kernels get. */
#include "cmd/bench.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/rng.h"
#include "base/stats.h"
#include "base/util.h"
#include "cmd/cmd.h"
#include "config/option.h"
#include "launch/launch.h"

#include <stdlib.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define AT(member) .offset = offsetof(struct bench, member)

static const char *const transports[] = {"auto", "shm", NULL};

/* clang-format off */
static const struct option options[] = {
	{"threads", .group = "Options", .type = OPTION_INT, AT(threads), .initial = "auto",
	 .zero = "auto", .meta = "N", .min = 1, .max = 256,
	 .help = "auto: one for gemm, one per core for the others"},
	{"seconds", .group = "Options", .type = OPTION_FLOAT, AT(seconds), .initial = "0.5",
	 .meta = "X", .min = 0.001, .max = 3600, .help = "time to repeat each figure"},
	{"rows", .group = "Options", .type = OPTION_INT, AT(rows), .initial = "all",
	 .zero = "all", .meta = "N", .min = 1, .max = 1 << 20,
	 .help = "gemm: only this shape (with --out and --in)"},
	{"out", .group = "Options", .type = OPTION_INT, AT(out), .initial = "1024", .meta = "N",
	 .min = 1, .max = 1 << 20, .help = "gemm: outputs of that shape"},
	{"in", .group = "Options", .type = OPTION_INT, AT(in), .initial = "1024", .meta = "N",
	 .min = 1, .max = 1 << 20, .help = "gemm: inputs of that shape"},
	{"dtype", .group = "Options", .type = OPTION_CHOICE, AT(dtype), .choices = precision_names,
	 .initial = "fp32", .help = "gemm, kernels of language models: of weights, activations and gradients; sums are in fp32"},
	{"transport", .group = "Options", .type = OPTION_CHOICE, AT(transport), .choices = transports,
	 .initial = "auto", .help = "comm: auto: beside MPI where it is built in; shm: without it"},
	{"ranks", .group = "Options", .type = OPTION_INT, AT(ranks), .initial = "all",
	 .zero = "all", .meta = "N", .min = 2, .max = RANKS_MAX, .help = "comm: only so many ranks, instead of 2 and 8"},
	{"json", .group = "Options", .type = OPTION_FLAG, AT(as_json), .initial = "false",
	 .help = "print one JSON document instead of a table"},
};

static const char *const examples[] = {
	"kolm bench peak           # multiply-adds of each type, and memory bandwidth",
	"kolm bench gemm           # the matrix products of a layer, one thread",
	"kolm bench gemm --dtype bf16 --rows 64",
	"kolm bench gemm --rows 50 --out 1000 --in 1000 --json",
	"kolm bench kernels --threads 1",
	"kolm bench comm --ranks 4 # messages and collectives over shared memory",
	NULL,
};
/* clang-format on */

const struct option_table bench_table = {
	.command = "bench",
	.usage = "kolm bench peak|gemm|kernels|comm [options]",
	.summary =
		"Measure this machine's peaks, and every kernel as a share of its bound in the "
		"same run: products and attention, of the peak of the type that the CPU multiplies them in; "
		"the others, of the memory's. The best of many repeats counts, since these bounds are bests too; "
		"tables show medians as well.\n"
		"comm: median time of one operation on buffers of that many bytes per rank, and bytes over "
		"time; a message is half of a way there and back, every pair of neighbours at once.",
	.options = options,
	.count = ARRAY_SIZE(options),
	.examples = examples,
	.positional = 1,
	.arguments = "peak|gemm|kernels|comm",
};

enum { REPEATS_MIN = 5, REPEATS_MAX = 10000 };

struct timing bench_time(double seconds, void (*fn)(void *arg), void *arg)
{
	static double ms[REPEATS_MAX];
	struct timing t = {0};
	struct statistics stats;
	double start;

	fn(arg);
	start = clock_ms();
	while (t.repeats < REPEATS_MIN ||
	       (t.repeats < REPEATS_MAX && clock_ms() - start < seconds * 1e3)) {
		double at = clock_ms();

		fn(arg);
		ms[t.repeats++] = clock_ms() - at;
	}
	stats = statistics_of(ms, t.repeats);
	t.best_ms = stats.min;
	t.median_ms = stats.median;
	return t;
}

void bench_progress(const char *what, int done, int total)
{
	if (!isatty(STDERR_FILENO))
		return;
	if (done < total)
		fprintf(stderr, "\r%s: %d %%", what, 100 * done / total);
	else
		fprintf(stderr, "\r%*s\r", 40, "");
}

void bench_fill(struct device *dev, void *memory, enum dtype type, size_t n, uint64_t stream,
		float low, float high)
{
	enum { AT_ONCE = 4096 };
	float values[AT_ONCE];

	for (size_t i = 0; i < n; i += AT_ONCE) {
		size_t count = (size_t)min64(AT_ONCE, (int64_t)(n - i));

		rng_uniform(0, stream, i, count, low, high, values);
		device_write(dev, (char *)memory + i * dtype_size(type), type, count, values);
	}
}

void bench_wait(struct device *dev, void *memory)
{
	device_host_begin(dev, QUEUE_COMPUTE, memory, 1, HOST_READS);
	device_host_end(dev, QUEUE_COMPUTE, memory, 1, HOST_READS);
}

struct memory_run {
	struct device *dev;
	void *memory;	  /* of the device, read by one of its kernels */
	double *number;	  /* what that yields */
	float *from, *to; /* the host's views, for what its threads do */
	size_t n;
};

static void run_read(void *arg)
{
	struct memory_run *run = arg;

	device_sum_squares(run->dev, run->memory, DTYPE_F32, run->n, 1, run->number);
	bench_wait(run->dev, run->number);
}

static void copy_part(void *arg, int part, int parts)
{
	struct memory_run *run = arg;
	size_t a = (size_t)part_begin((int64_t)run->n, part, parts);
	size_t b = (size_t)part_begin((int64_t)run->n, part + 1, parts);

	memcpy(run->to + a, run->from + a, (b - a) * sizeof(float));
}

static void run_copy(void *arg)
{
	struct memory_run *run = arg;

	device_parallel(run->dev, copy_part, run);
}

static void change_part(void *arg, int part, int parts)
{
	struct memory_run *run = arg;
	int64_t end = part_begin((int64_t)run->n, part + 1, parts);

	for (int64_t i = part_begin((int64_t)run->n, part, parts); i < end; i++)
		run->to[i] += 1;
}

static void run_in_place(void *arg)
{
	struct memory_run *run = arg;

	device_parallel(run->dev, change_part, run);
}

enum status bench_memory(const struct bench *b, double rates[TRAFFIC_COUNT], struct error *err)
{
	static void (*const runs[TRAFFIC_COUNT])(void *) = {run_read, run_copy, run_in_place};
	enum status st;
	/* Far larger than any cache. */
	struct memory_run run = {.dev = b->dev, .n = 64 << 20};
	size_t size = run.n * sizeof(float);
	void *to = NULL;

	TRY(device_alloc(b->dev, MEMORY_WORKSPACE, size, "the benchmark's source", &run.memory,
			 err));
	TRY(device_alloc(b->dev, MEMORY_WORKSPACE, size, "the benchmark's target", &to, err));
	TRY(device_alloc(b->dev, MEMORY_WORKSPACE, sizeof(*run.number), "what kernels yield",
			 (void **)&run.number, err));
	run.from = device_host_begin(b->dev, QUEUE_COMPUTE, run.memory, size, HOST_READS);
	run.to = device_host_begin(b->dev, QUEUE_COMPUTE, to, size, HOST_READS_WRITES);
	for (int i = 0; i < TRAFFIC_COUNT; i++) {
		double moved = i == TRAFFIC_READ ? (double)size : 2 * (double)size;

		rates[i] = fmax(rates[i],
				moved / bench_time(b->seconds, runs[i], &run).best_ms * 1e-6);
	}
	device_host_end(b->dev, QUEUE_COMPUTE, to, size, HOST_READS_WRITES);
	device_host_end(b->dev, QUEUE_COMPUTE, run.memory, size, HOST_READS);
out:
	device_free(b->dev, run.number);
	device_free(b->dev, to);
	device_free(b->dev, run.memory);
	return st;
}

enum status bench_open(struct bench *b, int default_threads, struct error *err)
{
	struct device_options o = {.kernels = getenv("KOLM_CPU"),
				   .threads = b->threads ? b->threads : default_threads,
				   .pin = true};
	enum status st;

	device_close(b->dev);
	b->dev = NULL;
	TRY(device_open(&b->dev, "cpu", &o, err));
	TRY(device_reserve(b->dev, 1, 1, err));
out:
	return st;
}

static enum status run_one(struct bench *b, const char *what, struct error *err)
{
	if (!strcmp(what, "peak"))
		return bench_peak(b, err);
	if (!strcmp(what, "gemm"))
		return bench_gemm(b, err);
	if (!strcmp(what, "kernels"))
		return bench_kernels(b, err);
	if (!strcmp(what, "comm"))
		return bench_comm(b, err);
	FAIL(err, ERR_USAGE, "unknown benchmark '%.64s'", what);
	return HINT(err, "choose one of peak, gemm, kernels, comm");
}

enum status cmd_bench(int argc, char *const *argv, struct error *err)
{
	enum status st;
	struct bench b = {0};
	struct option_values values;
	struct launcher by;
	bool first;

	options_init(&values, &bench_table, &b);
	json_init(&b.json, true);
	TRY(options_parse(&values, argc, argv, err));
	if (values.help) {
		options_print_help(&bench_table, stdout);
		goto out;
	}
	if (!values.positionals) {
		st = FAIL(err, ERR_USAGE, "bench needs to know what to measure");
		HINT(err, "choose one of peak, gemm, kernels, comm");
		goto out;
	}
	if (b.ranks && strcmp(values.positional[0], "comm")) {
		st = FAIL(err, ERR_USAGE, "--ranks %d is only for bench comm", b.ranks);
		HINT(err, "leave it out");
		goto out;
	}
	if (b.rows && strcmp(values.positional[0], "gemm")) {
		st = FAIL(err, ERR_USAGE, "--rows %d is only for bench gemm", b.rows);
		HINT(err, "leave it out");
		goto out;
	}
	if (!b.rows && (options_source(&values, "out") != SOURCE_DEFAULT ||
			options_source(&values, "in") != SOURCE_DEFAULT)) {
		st = FAIL(err, ERR_USAGE, "--out and --in make a shape only with --rows");
		HINT(err, "add --rows 64");
		goto out;
	}
	/* Of ranks that mpirun has started, the first does what is not about communication,
	   and speaks for all. */
	first = !launcher_detect(&by) || by.rank == 0;
	if (!first && strcmp(values.positional[0], "comm"))
		goto out;
	if (b.as_json)
		json_begin_object(&b.json, NULL);
	TRY(run_one(&b, values.positional[0], err));
	if (b.as_json && first) {
		json_end_object(&b.json);
		fputs(b.json.text.data, stdout);
	}
out:
	json_release(&b.json);
	device_close(b.dev);
	return st;
}
