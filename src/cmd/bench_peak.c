/* bench_peak.c - kolm bench peak: multiply-adds of each type, and traffic of memory. */
#include "cmd/bench.h"

#include <math.h>
#include <stdio.h>

struct fma_run {
	struct device *dev;
	enum dtype type;
	double flops;
};

static void run_fma(void *arg)
{
	struct fma_run *run = arg;

	run->flops = device_fma_rounds(run->dev, run->type, 100000);
}

double bench_fma_peak(const struct bench *b, enum dtype type, double best_so_far)
{
	struct fma_run run = {.dev = b->dev, .type = type};
	struct timing t = bench_time(fmin(b->seconds, 0.2), run_fma, &run);

	return fmax(best_so_far, run.flops / t.best_ms * 1e-6);
}

void bench_fma_peaks(const struct bench *b, double peaks[PRECISION_COUNT])
{
	for (int k = 0; k < PRECISION_COUNT; k++)
		peaks[k] = device_multiplies(b->dev, (enum dtype)k)
				   ? bench_fma_peak(b, (enum dtype)k, 0)
				   : peaks[DTYPE_F32];
}

void bench_put_peaks(struct json *j, struct device *dev, const double peaks[PRECISION_COUNT])
{
	json_begin_array(j, "peaks");
	for (int k = 0; k < PRECISION_COUNT; k++) {
		json_begin_object(j, NULL);
		json_put_string(j, "dtype", precision_names[k]);
		json_put_double(j, "gflops", peaks[k]);
		json_put_string(j, "peak_dtype",
				precision_names[device_peak_type(dev, (enum dtype)k)]);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_row(struct bench *b, const char *name, const double peaks[PRECISION_COUNT],
		    const double memory[TRAFFIC_COUNT])
{
	if (b->as_json) {
		json_begin_object(&b->json, NULL);
		json_put_string(&b->json, "name", name);
		json_put_int(&b->json, "threads", device_threads(b->dev));
		json_put_double(&b->json, "fma_gflops", peaks[DTYPE_F32]);
		bench_put_peaks(&b->json, b->dev, peaks);
		json_put_double(&b->json, "read_gb_per_s", memory[TRAFFIC_READ]);
		json_put_double(&b->json, "copy_gb_per_s", memory[TRAFFIC_COPY]);
		json_put_double(&b->json, "in_place_gb_per_s", memory[TRAFFIC_IN_PLACE]);
		json_end_object(&b->json);
		return;
	}
	printf("%-10s %8d", name, device_threads(b->dev));
	for (int k = 0; k < PRECISION_COUNT; k++)
		if (device_multiplies(b->dev, (enum dtype)k))
			printf(" %12.1f", peaks[k]);
		else
			printf(" %12s", "as fp32");
	printf(" %12.1f %12.1f %14.1f\n", memory[TRAFFIC_READ], memory[TRAFFIC_COPY],
	       memory[TRAFFIC_IN_PLACE]);
}

static void put_heading(struct bench *b)
{
	if (b->as_json) {
		json_begin_array(&b->json, "rows");
		return;
	}
	printf("%-10s %8s", "", "threads");
	for (int k = 0; k < PRECISION_COUNT; k++)
		printf(" %4s GFLOP/s", precision_names[k]);
	printf(" %12s %12s %14s\n", "read GB/s", "copy GB/s", "in place GB/s");
}

static void put_end(struct bench *b)
{
	if (b->as_json) {
		json_end_array(&b->json);
		json_put_string(&b->json, "device", device_description(b->dev));
		return;
	}
	printf("%s\n", device_description(b->dev));
	for (int k = 0; k < PRECISION_COUNT; k++)
		if (!device_multiplies(b->dev, (enum dtype)k))
			printf("%s as fp32: no instruction, converted and multiplied in fp32\n",
			       precision_names[k]);
}

enum status bench_peak(struct bench *b, struct error *err)
{
	static const char *const names[] = {"one core", "all cores"};
	enum status st = OK;

	put_heading(b);
	for (int i = 0; i < (b->threads ? 1 : 2); i++) {
		double memory[TRAFFIC_COUNT] = {0}, peaks[PRECISION_COUNT];

		TRY(bench_open(b, i == 0 ? 1 : 0, err));
		TRY(bench_memory(b, memory, err));
		bench_fma_peaks(b, peaks);
		put_row(b, b->threads ? "as asked" : names[i], peaks, memory);
	}
	put_end(b);
out:
	return st;
}
