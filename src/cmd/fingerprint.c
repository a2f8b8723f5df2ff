/* fingerprint.c - see fingerprint.h */
#include "cmd/fingerprint.h"
#include "base/file.h"
#include "base/half.h"
#include "base/sha256.h"
#include "engine/collect.h"
#include "engine/sketch.h"

#include <math.h>
#include <string.h>

void fingerprint_init(struct fingerprint *f)
{
	f->on = true;
	text_init(&f->lines);
}

void fingerprint_release(struct fingerprint *f)
{
	if (f->on)
		text_release(&f->lines);
	f->on = false;
}

/* On the way through the tensors. */
struct reading {
	struct fingerprint *to;
	const struct model *model;
	const char *what; /* stands before the name of a tensor */
	int step;
	int64_t at; /* the next element of the tensor */
	struct sha256 sum;
};

/* One NaN is as good as another: which one it is is nobody's business. */
static void add_values(struct sha256 *sum, const float *values, size_t count)
{
	enum { BLOCK = 1024 };
	uint32_t bits[BLOCK];

	for (size_t i = 0, n; i < count; i += n) {
		n = count - i < BLOCK ? count - i : BLOCK;
		for (size_t k = 0; k < n; k++)
			bits[k] = isnan(values[i + k]) ? 0x7fc00000 : float_bits(values[i + k]);
		sha256_add(sum, bits, n * sizeof(*bits));
	}
}

static enum status take(void *arg, int tensor, const float *values, size_t count,
			struct error *err)
{
	struct reading *r = arg;
	const struct tensor *t = &r->model->tensors[tensor];
	char text[SHA256_TEXT];
	enum status st = OK;

	if (r->at == 0)
		TRY(sha256_begin(&r->sum, err));
	add_values(&r->sum, values, count);
	r->at += (int64_t)count;
	if (r->at < tensor_elements(t))
		return OK;
	sha256_end(&r->sum, text);
	text_addf(&r->to->lines, "%d\t%s%s\t%s\n", r->step, r->what, t->name, text);
	r->at = 0;
out:
	return st;
}

static void add_number(struct fingerprint *f, int step, const char *name, double value)
{
	text_addf(&f->lines, isnan(value) ? "%d\t%s\tnan\n" : "%d\t%s\t%a\n", step, name,
		  value);
}

enum status fingerprint_add(struct fingerprint *f, struct engine *e, const struct model *m,
			    int step, const struct step_result *result, struct error *err)
{
	struct reading r = {.to = f, .model = m, .step = step, .what = "gradient of "};
	int copy = sketch_copy(e, step);
	enum status st;

	add_number(f, step, "loss", result->loss);
	TRY(collect_gradients(e, copy, take, &r, err));
	add_number(f, step, "gradient norm", result->grad_norm);
	add_number(f, step, "loss scale", result->loss_scale);
	add_number(f, step, "skipped", result->skipped);
	r.what = "";
	TRY(collect_masters(e, copy, take, &r, err));
out:
	sha256_drop(&r.sum);
	return st;
}

enum status fingerprint_write(const struct fingerprint *f, const char *folder,
			      struct error *err)
{
	char path[PATH_MAX];
	enum status st;

	TRY(file_path(path, folder, FINGERPRINT_FILE, err));
	if (f->lines.failed)
		return FAIL(err, ERR_MEMORY, "no memory for what a run leaves");
	TRY(file_write_whole(path, f->lines.data, f->lines.len, err));
out:
	return st;
}
