/* calibrate.c - see calibrate.h */
#include "study/calibrate.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/util.h"
#include "device/device.h"
#include "study/analysis.h"
#include "study/tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POINTS_MAX = 32, ROWS = 64 };

static const double LEAST = 1e-6, MOST = 1e9; /* of a speed */

/* Time for the same work by each of the three products, one after the other. */
double calibrate_gflops(const json_t *gemm)
{
	const json_t *rows = json_object_get(gemm, "rows");
	double per_flop = 0;
	size_t n = json_array_size(rows);

	for (size_t i = 0; i < n; i++)
		per_flop += 1 / json_number_value(
					json_object_get(json_array_get(rows, i), "gflops"));
	return n && isfinite(per_flop) ? (double)n / per_flop : NAN;
}

void calibrate_link(const json_t *comm, double *latency_us, double *gb_per_s)
{
	const json_t *rows = json_object_get(comm, "rows");
	double bytes[POINTS_MAX], us[POINTS_MAX];
	struct line_fit fit;
	int n = 0;

	*latency_us = *gb_per_s = NAN;
	for (size_t i = 0; i < json_array_size(rows) && n < POINTS_MAX; i++) {
		const json_t *row = json_array_get(rows, i);
		const char *op = json_string_value(json_object_get(row, "op"));

		if (!op || strcmp(op, "message"))
			continue;
		bytes[n] = json_number_value(json_object_get(row, "bytes"));
		us[n++] = json_number_value(json_object_get(row, "us"));
	}
	fit = fit_link(bytes, us, n);
	if (!fit.ok)
		return;
	*latency_us = fit.offset;
	*gb_per_s = 1e-3 / fit.slope;
}

static enum status bench(const char *const *argv, struct child_signals *s, json_t **document,
			 struct error *err)
{
	struct child_result r;
	enum status st;

	*document = NULL;
	st = child_run(argv, s, &r, err);
	if (st != OK)
		return st;
	if (r.ok)
		*document = json_loads(r.output.data, 0, NULL);
	if (!*document && !s->stopped)
		st = FAIL(err, ERR_FAILED, "kolm bench %s failed: %s", argv[1],
			  r.ok ? "its output is not JSON" : r.reason);
	child_result_release(&r);
	return st;
}

static enum status measure_link(json_t *known, bool quick, struct child_signals *s,
				struct error *err)
{
	char seconds[16];
	const char *argv[] = {"bench", "comm",	    "--transport", "shm",    "--ranks",
			      "2",     "--seconds", seconds,	   "--json", NULL};
	double latency, speed;
	json_t *comm = NULL;
	enum status st;

	snprintf(seconds, sizeof(seconds), "%g", quick ? 0.05 : 0.3);
	log_info("measuring how fast ranks of this machine exchange messages");
	TRY(bench(argv, s, &comm, err));
	if (s->stopped)
		goto out;
	calibrate_link(comm, &latency, &speed);
	if (isnan(latency)) {
		st = FAIL(err, ERR_FAILED, "kolm bench comm gave no times of messages");
		goto out;
	}
	json_object_set_new(known, "link_latency_us", json_real(latency));
	json_object_set_new(known, "link_gb_per_s", json_real(speed));
	json_object_set(known, "memory_gb_per_s", json_object_get(comm, "memory_gb_per_s"));
out:
	json_decref(comm);
	return st;
}

static enum status measure_gemm(json_t *known, const char *key, int dim, const char *type,
				bool quick, struct child_signals *s, struct error *err)
{
	char seconds[16], width[16], rows[16];
	const char *argv[] = {"bench",	   "gemm",  "--rows", rows,	 "--out",
			      width,	   "--in",  width,    "--dtype", type,
			      "--seconds", seconds, "--json", NULL};
	json_t *gemm = NULL;
	double gflops;
	enum status st;

	snprintf(seconds, sizeof(seconds), "%g", quick ? 0.2 : 0.5);
	snprintf(width, sizeof(width), "%d", dim);
	snprintf(rows, sizeof(rows), "%d", ROWS);
	log_info("measuring how fast one core multiplies: %d x %d x %d, %s", ROWS, dim, dim,
		 type);
	TRY(bench(argv, s, &gemm, err));
	if (s->stopped)
		goto out;
	gflops = calibrate_gflops(gemm);
	if (isnan(gflops)) {
		st = FAIL(err, ERR_FAILED, "kolm bench gemm gave no speeds");
		goto out;
	}
	json_object_set_new(known, key, json_real(gflops));
out:
	json_decref(gemm);
	return st;
}

static int case_dim(const struct run_case *c)
{
	const json_t *dim = json_object_get(c->options, "dim");
	const char *model = json_string_value(json_object_get(c->options, "model"));

	if (json_is_integer(dim))
		return (int)json_integer_value(dim);
	return model && strcmp(model, "mlp") ? 128 : 1024; /* as kolm train has it */
}

static const char *case_type(const struct run_case *c)
{
	const char *precision = json_string_value(json_object_get(c->options, "precision"));

	if (json_is_true(json_object_get(c->options, "amp")))
		return "fp16";
	return precision ? precision : "fp32";
}

/* What the CPU does with a type, in GFLOP/s, measured unless it is known. */
static enum status find_speed(json_t *known, int dim, const char *type, bool quick,
			      struct child_signals *s, double *gflops, struct error *err)
{
	char key[64];
	enum status st = OK;

	snprintf(key, sizeof(key), "gflops_%s_%d", type, dim);
	if (!json_is_number(json_object_get(known, key)))
		TRY(measure_gemm(known, key, dim, type, quick, s, err));
	*gflops = json_number_value(json_object_get(known, key));
out:
	return st;
}

/* Would --precision auto take bf16 here? */
static enum status ask_cpu(bool *multiplies, struct error *err)
{
	struct device_options o = {.kernels = getenv("KOLM_CPU"), .threads = 1};
	struct device *dev = NULL;
	enum status st;

	TRY(device_open(&dev, "cpu", &o, err));
	*multiplies = device_multiplies(dev, DTYPE_BF16);
out:
	device_close(dev);
	return st;
}

static enum status give_device(struct run_case *c, json_t *known, bool quick,
			       struct child_signals *s, struct error *err)
{
	const char *type = case_type(c);
	bool is_auto = !strcmp(type, "auto"), multiplies = false;
	char more[32] = "";
	double speed16;
	enum status st = OK;

	TRY(find_speed(known, case_dim(c), is_auto ? "fp32" : type, quick, s, &c->gflops, err));
	if (is_auto)
		TRY(ask_cpu(&multiplies, err));
	if (multiplies && !s->stopped) {
		TRY(find_speed(known, case_dim(c), "bf16", quick, s, &speed16, err));
		snprintf(more, sizeof(more), ",gflops16=%.4g", speed16);
	}
	if (s->stopped)
		goto out;
	c->memory_gb_per_s = json_number_value(json_object_get(known, "memory_gb_per_s"));
	snprintf(c->device, sizeof(c->device),
		 "virtual:gflops=%.4g%s,bandwidth=%.4gGB/s,link=%.4gGB/s,latency=%.4gus",
		 c->gflops, more, c->memory_gb_per_s,
		 json_number_value(json_object_get(known, "link_gb_per_s")),
		 json_number_value(json_object_get(known, "link_latency_us")));
out:
	return st;
}

static const char *const link_names[] = {"link_latency_us", "link_gb_per_s", "memory_gb_per_s"};

/* One member: a name that we write, and a speed that something can have. */
static bool is_sensible(const char *name, const json_t *value)
{
	bool latency = !strcmp(name, link_names[0]), known = !strncmp(name, "gflops_", 7);
	double number = json_number_value(value);

	for (size_t i = 0; i < ARRAY_SIZE(link_names); i++)
		known = known || !strcmp(name, link_names[i]);
	return known && json_is_number(value) && number >= (latency ? 0 : LEAST) &&
	       number <= MOST;
}

enum status calibrate_parse(const char *bytes, size_t size, const char *where, json_t **out,
			    struct error *err)
{
	json_t *known = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL), *value;
	size_t links = 0;
	const char *name;
	enum status st = OK;

	*out = NULL;
	if (!json_is_object(known))
		st = FAIL(err, ERR_USAGE, "%s is not a JSON object", where);
	json_object_foreach(known, name, value)
	{
		if (st == OK && !is_sensible(name, value))
			st = FAIL(err, ERR_USAGE,
				  "%s: '%.60s' is not a speed that was measured: a number from "
				  "%g to %g",
				  where, name, LEAST, MOST);
	}
	for (size_t i = 0; i < ARRAY_SIZE(link_names); i++)
		links += json_object_get(known, link_names[i]) != NULL;
	if (st == OK && links && links < ARRAY_SIZE(link_names))
		st = FAIL(err, ERR_USAGE, "%s lacks one of %s, %s and %s", where, link_names[0],
			  link_names[1], link_names[2]);
	if (st != OK) {
		json_decref(known);
		return HINT(err, "delete it, and the speeds are measured again");
	}
	*out = known;
	return OK;
}

static enum status read_known(const char *path, json_t **known, struct error *err)
{
	char *bytes = NULL;
	size_t size;
	enum status st;

	if (access(path, F_OK)) {
		*known = json_object();
		return *known ? OK : FAIL(err, ERR_MEMORY, "no memory for the calibration");
	}
	TRY(file_read(path, STUDY_FILE_MAX, &bytes, &size, err));
	TRY(calibrate_parse(bytes, size, path, known, err));
out:
	free(bytes);
	return st;
}

enum status calibrate(struct plan *p, const char *folder, bool quick, struct child_signals *s,
		      struct error *err)
{
	char path[PATH_MAX];
	json_t *known = NULL;
	size_t before;
	enum status st = OK;

	TRY(file_path(path, folder, "calibration.json", err));
	TRY(read_known(path, &known, err));
	before = json_object_size(known);
	for (int i = 0; i < p->count && !s->stopped; i++) {
		if (p->cases[i].place != PLACE_VIRTUAL)
			continue;
		if (!json_is_number(json_object_get(known, "link_gb_per_s")))
			TRY(measure_link(known, quick, s, err));
		if (!s->stopped)
			TRY(give_device(&p->cases[i], known, quick, s, err));
	}
	if (json_object_size(known) != before)
		TRY(tree_write_file(known, path, err));
out:
	json_decref(known);
	return st;
}

/* The device of the first virtual case, or NULL. */
static const char *virtual_device(const struct plan *p)
{
	for (int i = 0; i < p->count; i++)
		if (p->cases[i].place == PLACE_VIRTUAL && *p->cases[i].device)
			return p->cases[i].device;
	return NULL;
}

double calibrate_speed(const struct plan *p, const char *what)
{
	const char *device = virtual_device(p), *at = device ? strstr(device, what) : NULL;

	return at && at[strlen(what)] == '=' ? strtod(at + strlen(what) + 1, NULL) : NAN;
}

void calibrate_describe(const struct plan *p, struct text *out)
{
	double gflops = calibrate_speed(p, "gflops"), memory = calibrate_speed(p, "bandwidth");
	double link = calibrate_speed(p, "link"), latency = calibrate_speed(p, "latency");

	if (!isnan(gflops + memory + link + latency))
		text_addf(
			out,
			" Simulated devices compute nothing; they take the time that an "
			"operation costs, the same in every run: products at %.0f GFLOP/s, memory at %.1f GB/s, "
			"messages at %.1f GB/s and %.2f µs each.",
			gflops, memory, link, latency);
}
