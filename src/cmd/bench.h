/* bench.h - what the parts of kolm bench share. */
#ifndef KOLM_CMD_BENCH_H
#define KOLM_CMD_BENCH_H

#include "base/error.h"
#include "base/json.h"
#include "device/device.h"

struct bench {
	/* options */
	int threads;	   /* 0: what the benchmark wants by default */
	int rows, out, in; /* gemm: this shape only, if rows > 0 */
	int dtype;	   /* gemm, kernels of language models: enum dtype */
	int ranks;	   /* comm: only so many, if > 0 */
	int transport;	   /* comm: 0: beside MPI where it is built in; 1: without it */
	double seconds;	   /* per figure */
	bool as_json;
	/* state */
	struct device *dev;
	struct json json; /* the document, if as_json */
};

/* Repeat fn(arg) for a while after one warm-up call. */
struct timing {
	double best_ms, median_ms;
	int repeats;
};
struct timing bench_time(double seconds, void (*fn)(void *arg), void *arg);

/* bench_peak.c: the best that was ever seen of the device's rate of multiply-adds of a type, in
   GFLOP/s; call it again between measurements so that it sees the same weather as they do. */
double bench_fma_peak(const struct bench *b, enum dtype type, double best_so_far);
/* That of every type that one can train in; those that are multiplied as fp32 have its peak. */
void bench_fma_peaks(const struct bench *b, double peaks[PRECISION_COUNT]);
/* "peaks": [{"dtype", "gflops", "peak_dtype"}, ...] */
void bench_put_peaks(struct json *j, struct device *dev, const double peaks[PRECISION_COUNT]);
/* Memory traffic of all threads in GB/s, both directions counted, by what is done:
   reading, copying, changing in place. They differ, since reads and writes have paths
   of their own; each kernel is held against the one that it resembles. */
enum traffic { TRAFFIC_READ, TRAFFIC_COPY, TRAFFIC_IN_PLACE, TRAFFIC_COUNT };
/* Raises rates[] to what is measured now. */
enum status bench_memory(const struct bench *b, double rates[TRAFFIC_COUNT], struct error *err);

/* A line of bench kernels: a matrix of that size and type took so long, which is so many GB/s.
 */
struct bench_kernel {
	const char *name;
	int rows, columns;
	enum dtype type;
	double ms, rate;
	enum traffic traffic;
};
void bench_put_kernel(struct bench *b, const struct bench_kernel *k,
		      const double memory[TRAFFIC_COUNT]);
/* bench_tokens.c: those of language models; measured first, then put. */
enum status bench_tokens(struct bench *b, struct error *err);
void bench_put_tokens(struct bench *b, const double memory[TRAFFIC_COUNT]);

/* Random numbers in [low, high) to device memory, of which stream. */
void bench_fill(struct device *dev, void *memory, enum dtype type, size_t n, uint64_t stream,
		float low, float high);
/* What was put into the device's queue is done: for who takes the time. */
void bench_wait(struct device *dev, void *memory);

/* How far it is, on a terminal. */
void bench_progress(const char *what, int done, int total);

enum status bench_open(struct bench *b, int default_threads, struct error *err);

enum status bench_peak(struct bench *b, struct error *err);
enum status bench_gemm(struct bench *b, struct error *err);
enum status bench_kernels(struct bench *b, struct error *err);
/* bench_attention.c: the part of bench_kernels that is bound by multiply-adds. */
enum status bench_attention(struct bench *b, struct error *err);
enum status bench_comm(struct bench *b, struct error *err);

#endif
