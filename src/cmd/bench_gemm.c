/*
 * bench_gemm.c - the matrix products of a linear layer against the peak of multiply-adds of
 * their type in the same run, and against OpenBLAS where its library is installed (loaded when
 * asked for, so that training never starts its threads).
 */
#include "cmd/bench.h"
#include "base/util.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>

enum { FORWARD, DINPUT, DWEIGHT, OP_COUNT };

/* All shapes in turn, several times: a bad moment of the machine spoils one round only. */
enum { ROUNDS = 3 };

static const char *const op_names[OP_COUNT] = {"forward", "dinput", "dweight"};

struct shape {
	int rows, out, in;
};

/* The course's shapes, and some that no tile divides. */
static const struct shape shapes[] = {
	{64, 1024, 1024},  {32, 1024, 1024}, {16, 1024, 1024}, {8, 1024, 1024},
	{64, 8192, 8192},  {32, 8192, 8192}, {16, 8192, 8192}, {8, 8192, 8192},
	{256, 2048, 2048}, {63, 1021, 1019}, {50, 1000, 1000}, {17, 1000, 1000},
};

typedef void sgemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha,
		      const float *a, int lda, const float *b, int ldb, float beta, float *c,
		      int ldc);

struct gemm {
	struct bench *bench;
	struct shape shape;
	int op;
	enum dtype type;
	void *x, *y, *w, *dw;			   /* memory of the device, of that type */
	sgemm_fn *sgemm;			   /* NULL: no OpenBLAS here */
	float *host_x, *host_y, *host_w, *host_dw; /* its views of them */
};

static void run_kolm(void *arg)
{
	struct gemm *g = arg;
	struct linear l = {
		.rows = g->shape.rows,
		.out = g->shape.out,
		.in = g->shape.in,
		.type = g->type,
		.weight = g->op == DWEIGHT ? g->dw : g->w,
		.x = {g->x, (size_t)g->shape.in, g->type},
		.y = {g->y, (size_t)g->shape.out, g->type},
		.act = ACT_NONE,
		.accumulate = true,
	};

	if (g->op == FORWARD)
		device_forward(g->bench->dev, &l);
	else if (g->op == DINPUT)
		device_backward_input(g->bench->dev, &l);
	else
		device_backward_weight(g->bench->dev, &l);
	bench_wait(g->bench->dev, g->y);
}

static void run_openblas(void *arg)
{
	enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };
	struct gemm *g = arg;
	int rows = g->shape.rows, out = g->shape.out, in = g->shape.in;

	if (g->op == FORWARD)
		g->sgemm(ROW_MAJOR, PLAIN, TRANSPOSED, rows, out, in, 1, g->host_x, in,
			 g->host_w, in, 0, g->host_y, out);
	else if (g->op == DINPUT)
		g->sgemm(ROW_MAJOR, PLAIN, PLAIN, rows, in, out, 1, g->host_y, out, g->host_w,
			 in, 0, g->host_x, in);
	else
		g->sgemm(ROW_MAJOR, TRANSPOSED, PLAIN, out, in, rows, 1, g->host_y, out,
			 g->host_x, in, 1, g->host_dw, in);
}

struct openblas {
	sgemm_fn *sgemm; /* NULL: not installed */
	void (*set_threads)(int);
};

/* Its threads start now: load it before this thread is pinned, or they all inherit that. */
static struct openblas load_openblas(void)
{
	struct openblas b = {0};
	void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return b;
	/* dlsym gives an object pointer; POSIX has it hold a function's all the same. */
	*(void **)&b.set_threads = dlsym(library, "openblas_set_num_threads");
	*(void **)&b.sgemm = dlsym(library, "cblas_sgemm");
	return b;
}

struct row {
	int op;
	struct shape shape;
	double best, median, openblas; /* GFLOP/s; openblas: 0 if it is not there */
};

/* OpenBLAS takes matrices as they come, which all hold more than it needs. */
static void host_views(struct gemm *g, bool begin)
{
	size_t rows = (size_t)g->shape.rows, out = (size_t)g->shape.out,
	       in = (size_t)g->shape.in;
	struct {
		void *memory;
		float **host;
		size_t elements;
	} views[] = {{g->x, &g->host_x, rows * in},
		     {g->y, &g->host_y, rows * out},
		     {g->w, &g->host_w, out * in},
		     {g->dw, &g->host_dw, out * in}};

	for (size_t i = 0; i < ARRAY_SIZE(views); i++)
		if (begin)
			*views[i].host = device_host_begin(
				g->bench->dev, QUEUE_COMPUTE, views[i].memory,
				views[i].elements * sizeof(float), HOST_READS_WRITES);
		else
			device_host_end(g->bench->dev, QUEUE_COMPUTE, views[i].memory,
					views[i].elements * sizeof(float), HOST_READS_WRITES);
}

/* Improve row by another round of repeats. */
static void measure(struct gemm *g, struct row *row)
{
	double flops = 2.0 * g->shape.rows * g->shape.out * g->shape.in;
	struct timing t = bench_time(g->bench->seconds / ROUNDS, run_kolm, g);

	row->op = g->op;
	row->shape = g->shape;
	row->best = fmax(row->best, flops / t.best_ms * 1e-6);
	row->median = fmax(row->median, flops / t.median_ms * 1e-6);
	if (!g->sgemm)
		return;
	host_views(g, true);
	t = bench_time(g->bench->seconds / ROUNDS, run_openblas, g);
	host_views(g, false);
	row->openblas = fmax(row->openblas, flops / t.best_ms * 1e-6);
}

static enum status allocate(struct gemm *g, struct error *err)
{
	struct device *dev = g->bench->dev;
	const struct shape *s = &g->shape;
	size_t weights = device_matrix_size(dev, s->out, s->in);
	size_t x = (size_t)s->rows * (size_t)s->in, y = (size_t)s->rows * (size_t)s->out;
	enum status st;

	TRY(device_reserve(dev, s->rows, imax(s->out, s->in), err));
	TRY(device_alloc(dev, MEMORY_PARAMS, weights * 4, "the weights", &g->w, err));
	TRY(device_alloc(dev, MEMORY_GRADS, weights * 4, "their gradient", &g->dw, err));
	TRY(device_alloc(dev, MEMORY_ACTIVATIONS, x * 4, "the input", &g->x, err));
	TRY(device_alloc(dev, MEMORY_ACTIVATIONS, y * 4, "the output", &g->y, err));
	bench_fill(dev, g->w, g->type, weights, 1, -1e-3f, 1e-3f);
	bench_fill(dev, g->x, g->type, x, 2, -1, 1);
	bench_fill(dev, g->y, g->type, y, 3, -1, 1);
out:
	return st;
}

static void release(struct gemm *g)
{
	device_free(g->bench->dev, g->y);
	device_free(g->bench->dev, g->x);
	device_free(g->bench->dev, g->dw);
	device_free(g->bench->dev, g->w);
	g->x = g->y = g->w = g->dw = NULL;
}

static void put_rows(struct bench *b, const struct row *rows, int n, double peak)
{
	enum dtype type = (enum dtype)b->dtype, peak_type = device_peak_type(b->dev, type);

	if (!b->as_json) {
		printf("%s; %s peak in this run: %.1f GFLOP/s%s; %s\n\n", precision_names[type],
		       precision_names[peak_type], peak,
		       type == peak_type ? "" : ", since it is multiplied as fp32",
		       device_description(b->dev));
		if (!rows[0].openblas && b->dtype == DTYPE_F32)
			printf("(OpenBLAS is not installed: libopenblas0-pthread would fill its column)\n");
		printf("%-8s %5s %5s %5s %9s %6s %7s %9s\n", "op", "rows", "out", "in",
		       "GFLOP/s", "share", "median", "OpenBLAS");
	} else {
		json_put_double(&b->json, "peak_gflops", peak);
		json_put_string(&b->json, "peak_dtype", precision_names[peak_type]);
		json_put_int(&b->json, "threads", device_threads(b->dev));
		json_begin_array(&b->json, "rows");
	}
	for (int i = 0; i < n; i++) {
		const struct row *r = &rows[i];

		if (!b->as_json) {
			printf("%-8s %5d %5d %5d %9.1f %6.3f %7.3f ", op_names[r->op],
			       r->shape.rows, r->shape.out, r->shape.in, r->best,
			       r->best / peak, r->median / peak);
			if (!(r->openblas > 0))
				printf("%9s\n", "-");
			else
				printf("%9.3f\n", r->openblas / peak);
			continue;
		}
		json_begin_object(&b->json, NULL);
		json_put_string(&b->json, "op", op_names[r->op]);
		json_put_string(&b->json, "dtype", precision_names[b->dtype]);
		json_put_int(&b->json, "rows", r->shape.rows);
		json_put_int(&b->json, "out", r->shape.out);
		json_put_int(&b->json, "in", r->shape.in);
		json_put_double(&b->json, "gflops", r->best);
		json_put_double(&b->json, "share", r->best / peak);
		json_put_double(&b->json, "median_share", r->median / peak);
		if (r->openblas > 0)
			json_put_double(&b->json, "openblas_share", r->openblas / peak);
		json_end_object(&b->json);
	}
	if (b->as_json)
		json_end_array(&b->json);
}

/* All three products of one shape. */
static enum status measure_shape(struct gemm *g, struct row *rows, double *peak,
				 struct error *err)
{
	enum status st;

	TRY(allocate(g, err));
	for (g->op = 0; g->op < OP_COUNT; g->op++) {
		measure(g, &rows[g->op]);
		*peak = bench_fma_peak(g->bench, g->type, *peak);
	}
out:
	release(g);
	return st;
}

enum status bench_gemm(struct bench *b, struct error *err)
{
	enum status st;
	struct row rows[ARRAY_SIZE(shapes) * OP_COUNT] = {{0}};
	struct shape asked = {b->rows, b->out, b->in};
	const struct shape *list = b->rows ? &asked : shapes;
	int count = b->rows ? 1 : (int)ARRAY_SIZE(shapes);
	struct gemm g = {.bench = b, .type = (enum dtype)b->dtype};
	struct openblas openblas = load_openblas();
	double peak;

	TRY(bench_open(b, 1, err));
	g.sgemm = b->dtype == DTYPE_F32 ? openblas.sgemm : NULL;
	if (openblas.set_threads)
		openblas.set_threads(device_threads(b->dev));
	peak = bench_fma_peak(b, g.type, 0);
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < count; i++) {
			bench_progress("gemm", round * count + i, ROUNDS * count);
			g.shape = list[i];
			TRY(measure_shape(&g, rows + i * OP_COUNT, &peak, err));
		}
	bench_progress("gemm", ROUNDS * count, ROUNDS * count);
	put_rows(b, rows, count * OP_COUNT, peak);
out:
	return st;
}
