/* machine_speed.c - see machine_speed.h */
#include "cmd/machine_speed.h"
#include "base/machine.h"
#include "base/util.h"

#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void become_bench(const char *const *words, int out)
{
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (length <= 0)
		_exit(127);
	path[length] = '\0';
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	dup2(out, STDOUT_FILENO);
	execv(path, (char *const *)(uintptr_t)words);
	_exit(127);
}

/* kolm bench with these words, as JSON. */
static enum status run_bench(const char *const *words, json_t **root, struct error *err)
{
	int ends[2], status = -1;
	FILE *in;
	pid_t pid;

	*root = NULL;
	if (pipe(ends))
		return FAIL(err, ERR_FAILED, "can't make a pipe");
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		become_bench(words, ends[1]);
	close(ends[1]);
	in = fdopen(ends[0], "r");
	if (pid > 0 && in)
		*root = json_loadf(in, 0, NULL);
	if (in)
		fclose(in);
	else
		close(ends[0]);
	if (pid > 0)
		waitpid(pid, &status, 0);
	if (!status && *root)
		return OK;
	json_decref(*root);
	*root = NULL;
	FAIL(err, ERR_FAILED, "'kolm bench %s' could not measure this machine", words[2]);
	return HINT(err, "try it by hand: kolm bench %s --json", words[2]);
}

static double number(const json_t *object, const char *name)
{
	return json_number_value(json_object_get(object, name));
}

static const char *string(const json_t *object, const char *name)
{
	const char *s = json_string_value(json_object_get(object, name));

	return s ? s : "";
}

static enum status measure_peak(struct machine_speed *s, const char *seconds, struct error *err)
{
	const char *words[] = {"kolm", "bench", "peak", "--json", "--seconds", seconds, NULL};
	json_t *root, *rows, *peak;
	size_t i;
	enum status st;

	TRY(run_bench(words, &root, err));
	rows = json_object_get(root, "rows");
	s->peak = number(json_array_get(rows, 0), "fma_gflops");
	json_array_foreach(json_object_get(json_array_get(rows, 0), "peaks"), i, peak)
	{
		if (!strcmp(string(peak, "dtype"), "bf16"))
			s->peak16 = number(peak, "gflops");
	}
	s->bandwidth = number(json_array_get(rows, 1), "in_place_gb_per_s") / s->cores;
	json_decref(root);
out:
	return st;
}

/* Of a layer's three products together. */
static enum status measure_products(double *gflops, const char *dtype, const char *seconds,
				    const struct speed_options *o, struct error *err)
{
	char rows[16], width[16];
	const char *words[] = {"kolm",	    "bench", "gemm",	"--json", "--seconds", seconds,
			       "--threads", "1",     "--dtype", dtype,	  "--rows",    rows,
			       "--out",	    width,   "--in",	width,	  NULL};
	json_t *root, *row;
	double time = 0;
	size_t i, n = 0;
	enum status st;

	snprintf(rows, sizeof(rows), "%d", o->rows);
	snprintf(width, sizeof(width), "%d", o->width);
	TRY(run_bench(words, &root, err));
	json_array_foreach(json_object_get(root, "rows"), i, row)
	{
		time += 1 / number(row, "gflops");
		n++;
	}
	*gflops = (double)n / time;
	json_decref(root);
out:
	return st;
}

/* Latency from the smallest, bandwidth from the largest of what is measured. */
static void read_comm(struct machine_speed *s, const json_t *rows, int ranks)
{
	double sum_small = 0, sum_large = 0, bytes = 0, small = 0, large = 0;
	double share = 2.0 * (ranks - 1) / ranks;
	const json_t *row;
	size_t i;

	json_array_foreach((json_t *)rows, i, row)
	{
		bool sum = !strcmp(string(row, "op"), "all-reduce");
		bool message = !strcmp(string(row, "op"), "message");
		double us = number(row, "us");

		if (sum && (!sum_small || us < sum_small))
			sum_small = us;
		if (message && (!small || us < small))
			small = us;
		if ((sum || message) && number(row, "bytes") >= bytes)
			bytes = number(row, "bytes");
		if (sum)
			sum_large = us;
		if (message)
			large = us;
	}
	s->message_us = small;
	s->message_gb_per_s = bytes / fmax(1e-3, large - small) * 1e-3;
	s->sums[s->sum_count].ranks = ranks;
	s->sums[s->sum_count].us = sum_small;
	s->sums[s->sum_count].gb_per_s =
		share * bytes / fmax(1e-3, sum_large - sum_small) * 1e-3;
	s->sum_count++;
}

static enum status measure_comm(struct machine_speed *s, const char *seconds, struct error *err)
{
	enum status st = OK;

	for (int ranks = 2; ranks <= s->cores && s->sum_count < SPEED_SUMS_MAX; ranks *= 2) {
		char n[16];
		const char *words[] = {"kolm",	    "bench", "comm",	    "--json",
				       "--seconds", seconds, "--transport", "shm",
				       "--ranks",   n,	     NULL};
		json_t *root;

		snprintf(n, sizeof(n), "%d", ranks);
		TRY(run_bench(words, &root, err));
		read_comm(s, json_object_get(root, "rows"), ranks);
		json_decref(root);
	}
out:
	return st;
}

enum status machine_speed_measure(struct machine_speed *s, const struct speed_options *o,
				  struct error *err)
{
	char seconds[32];
	enum status st;

	*s = (struct machine_speed){.cores = imax(1, machine_cores())};
	snprintf(seconds, sizeof(seconds), "%.9g", o->seconds);
	TRY(measure_peak(s, seconds, err));
	TRY(measure_products(&s->products, "fp32", seconds, o, err));
	TRY(measure_products(&s->products16, "bf16", seconds, o, err));
	TRY(measure_comm(s, seconds, err));
	if (!(s->peak > 0 && s->products > 0 && s->products16 > 0 && s->bandwidth > 0))
		st = FAIL(err, ERR_FAILED, "this machine could not be measured");
out:
	return st;
}
