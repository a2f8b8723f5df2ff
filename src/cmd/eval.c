/* eval.c - kolm eval: how well a trained model does on a file whose targets are known. */
#include "cmd/cmd.h"
#include "base/util.h"
#include "cmd/trained.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* More classes than that make no table that anybody reads. */
enum { MATRIX_MAX = 20 };

struct options {
	char data[2 * PATH_MAX];
	int threads;
	bool as_json;
};

#define AT(member)	.offset = offsetof(struct options, member)
#define TEXT_AT(member) AT(member), .capacity = sizeof(((struct options *)0)->member)

/* clang-format off */
static const struct option options[] = {
	{"data", .group = "Data", .type = OPTION_STRING, TEXT_AT(data), .initial = "", .meta = "FILE",
	 .help = "samples with their labels or targets, in a file like the one that was trained with; text:PATH or tokens:FILE for a language model"},
	{"json", .group = "Output", .type = OPTION_FLAG, AT(as_json), .initial = "false",
	 .help = "print one JSON document instead of text"},
	{"threads", .group = "Machine", .type = OPTION_INT, AT(threads), .initial = "auto", .zero = "auto",
	 .meta = "N", .min = 1, .max = 256, .help = "auto: one per core"},
};
/* clang-format on */

static const char *const examples[] = {
	"kolm eval runs/mine --data test.csv",
	"kolm eval runs/mine/checkpoints/step-100 --data csv:test.csv --json",
	"kolm eval runs/gpt --data text:other.txt",
	NULL,
};

const struct option_table eval_table = {
	.command = "eval",
	.usage = "kolm eval RUN|DIR --data FILE [options]",
	.summary = "How well a trained model does on a file: accuracy, precision and recall of "
		   "each class and what was taken for what; or the errors of the targets; of a "
		   "language model loss, perplexity and bits per byte.",
	.options = options,
	.count = ARRAY_SIZE(options),
	.examples = examples,
	.positional = 1,
};

/* Sums over the samples, of one target in its own unit. */
struct errors {
	double absolute, squares; /* of what is predicted less what is true */
	double mean, spread;	  /* of what is true: mean, and squares around it */
};

struct score {
	struct trained *model;
	int n; /* classes or targets */
	int64_t samples;
	int64_t *matrix;       /* (n, n): of samples of a class, taken for another */
	struct errors *errors; /* (n) */
	struct evaluation evaluation;
};

/* ---- counting ---- */

static enum status add_rows(void *arg, int64_t first, int rows, const float *outputs,
			    struct error *err)
{
	struct score *s = arg;
	const struct table *t = &s->model->training->data.table;
	int n = s->n;

	(void)err;
	for (int64_t i = first; i < first + rows; i++, outputs += n) {
		s->samples++;
		if (t->labels)
			s->matrix[t->labels[i] * n + trained_class(outputs, n)]++;
		for (int k = 0; k < n && !t->labels; k++) {
			struct errors *e = &s->errors[k];
			double truth =
				trained_target(s->model, k, (double)t->targets[i * n + k]);
			double off = trained_target(s->model, k, (double)outputs[k]) - truth;
			double step = truth - e->mean;

			e->absolute += fabs(off);
			e->squares += off * off;
			e->mean += step / (double)s->samples; /* Welford */
			e->spread += step * (truth - e->mean);
		}
	}
	return OK;
}

static enum status score_init(struct score *s, struct trained *m, struct error *err)
{
	*s = (struct score){.model = m, .n = m->training->data.out};
	s->matrix = m->form.labelled ? calloc((size_t)s->n * (size_t)s->n, sizeof(*s->matrix))
				     : NULL;
	s->errors = calloc((size_t)s->n, sizeof(*s->errors));
	if ((m->form.labelled && !s->matrix) || !s->errors)
		return FAIL(err, ERR_MEMORY, "no memory for %d classes", s->n);
	return OK;
}

static void score_release(struct score *s)
{
	free(s->matrix);
	free(s->errors);
}

/* ---- what follows from it; NAN: there is nothing to say ---- */

static double share(int64_t part, int64_t whole)
{
	return whole ? (double)part / (double)whole : NAN;
}

static int64_t of_class(const struct score *s, int k)
{
	int64_t sum = 0;

	for (int i = 0; i < s->n; i++)
		sum += s->matrix[k * s->n + i];
	return sum;
}

static int64_t taken_for(const struct score *s, int k)
{
	int64_t sum = 0;

	for (int i = 0; i < s->n; i++)
		sum += s->matrix[i * s->n + k];
	return sum;
}

static double recall(const struct score *s, int k)
{
	return share(s->matrix[k * s->n + k], of_class(s, k));
}

static double precision(const struct score *s, int k)
{
	return share(s->matrix[k * s->n + k], taken_for(s, k));
}

static double r_squared(const struct errors *e)
{
	return e->spread > 0 ? 1 - e->squares / e->spread : NAN;
}

static const char *target_name(const struct score *s, int k, char buf[32])
{
	if (s->model->form.named)
		return s->model->form.targets[k].name;
	snprintf(buf, 32, "target %d", k + 1);
	return buf;
}

/* ---- for people ---- */

static void print_share(double value)
{
	if (isnan(value))
		printf(" %10s", "-");
	else
		printf(" %9.2f%%", 100 * value);
}

static void print_classes(const struct score *s)
{
	char **names = s->model->form.classes;

	printf("accuracy %.2f %%, loss %.6g\n\n%-20s %10s %10s %10s\n",
	       100 * s->evaluation.accuracy, s->evaluation.loss, "class", "samples",
	       "precision", "recall");
	for (int k = 0; k < s->n; k++) {
		printf("%-20.40s %10lld", names[k], (long long)of_class(s, k));
		print_share(precision(s, k));
		print_share(recall(s, k));
		printf("\n");
	}
	if (s->n > MATRIX_MAX) {
		printf("\nwhat was taken for what: see --json, %d classes are too many here\n",
		       s->n);
		return;
	}
	printf("\nsamples of the class on the left, taken for that above\n%-20s", "");
	for (int k = 0; k < s->n; k++)
		printf(" %10.10s", names[k]);
	for (int i = 0; i < s->n; i++) {
		printf("\n%-20.40s", names[i]);
		for (int k = 0; k < s->n; k++)
			printf(" %10lld", (long long)s->matrix[i * s->n + k]);
	}
	printf("\n");
}

static void print_targets(const struct score *s)
{
	double n = (double)s->samples;
	char name[32];

	printf("loss %.6g\n\n%-20s %12s %12s %12s\n", s->evaluation.loss, "target", "R2",
	       "mean abs.", "root m. sq.");
	for (int k = 0; k < s->n; k++) {
		const struct errors *e = &s->errors[k];

		printf("%-20.40s", target_name(s, k, name));
		if (isnan(r_squared(e)))
			printf(" %12s", "-");
		else
			printf(" %12.6g", r_squared(e));
		printf(" %12.6g %12.6g\n", e->absolute / n, sqrt(e->squares / n));
	}
}

/* ---- for programs ---- */

static void put_classes(const struct score *s, struct json *j)
{
	json_put_double(j, "accuracy", s->evaluation.accuracy);
	json_begin_array(j, "classes");
	for (int k = 0; k < s->n; k++) {
		json_begin_object(j, NULL);
		json_put_string(j, "name", s->model->form.classes[k]);
		json_put_int(j, "samples", of_class(s, k));
		json_put_double(j, "precision", precision(s, k));
		json_put_double(j, "recall", recall(s, k));
		json_end_object(j);
	}
	json_end_array(j);
	json_begin_array(j, "confusion");
	for (int i = 0; i < s->n; i++) {
		json_begin_array(j, NULL);
		for (int k = 0; k < s->n; k++)
			json_put_int(j, NULL, s->matrix[i * s->n + k]);
		json_end_array(j);
	}
	json_end_array(j);
}

static void put_targets(const struct score *s, struct json *j)
{
	double n = (double)s->samples;
	char name[32];

	json_begin_array(j, "targets");
	for (int k = 0; k < s->n; k++) {
		json_begin_object(j, NULL);
		json_put_string(j, "name", target_name(s, k, name));
		json_put_double(j, "r2", r_squared(&s->errors[k]));
		json_put_double(j, "mean_absolute_error", s->errors[k].absolute / n);
		json_put_double(j, "root_mean_square_error", sqrt(s->errors[k].squares / n));
		json_end_object(j);
	}
	json_end_array(j);
}

static enum status print_json(const struct score *s, struct error *err)
{
	struct json j;
	enum status st = OK;

	json_init(&j, true);
	json_begin_object(&j, NULL);
	json_put_string(&j, "checkpoint", s->model->training->from.folder);
	json_put_int(&j, "step", s->model->training->from.step);
	json_put_int(&j, "samples", s->samples);
	json_put_double(&j, "loss", s->evaluation.loss);
	if (s->matrix)
		put_classes(s, &j);
	else
		put_targets(s, &j);
	json_end_object(&j);
	if (j.text.failed)
		st = FAIL(err, ERR_MEMORY, "no memory for the results");
	else
		fputs(j.text.data, stdout);
	json_release(&j);
	return st;
}

/* ---- language models ---- */

static enum status print_text_json(const struct trained *m, const struct evaluation *e,
				   int64_t tokens, int64_t bytes, struct error *err)
{
	struct json j;
	enum status st = OK;

	json_init(&j, true);
	json_begin_object(&j, NULL);
	json_put_string(&j, "checkpoint", m->training->from.folder);
	json_put_int(&j, "step", m->training->from.step);
	json_put_int(&j, "samples", e->samples);
	json_put_int(&j, "tokens", tokens);
	if (bytes)
		json_put_int(&j, "bytes", bytes);
	json_put_double(&j, "loss", e->loss);
	json_put_double(&j, "perplexity", e->perplexity);
	if (e->bits_per_byte > 0)
		json_put_double(&j, "bits_per_byte", e->bits_per_byte);
	json_put_double(&j, "accuracy", e->accuracy);
	json_end_object(&j);
	if (j.text.failed)
		st = FAIL(err, ERR_MEMORY, "no memory for the results");
	else
		fputs(j.text.data, stdout);
	json_release(&j);
	return st;
}

static enum status evaluate_text(struct trained *m, const struct options *o, struct error *err)
{
	struct evaluation e = {0};
	int64_t tokens, bytes;
	char text[80];
	enum status st;

	TRY(trained_evaluate(m, &e, err));
	TRY(data_held_out_size(&m->training->data, &tokens, &bytes, err));
	if (o->as_json)
		return print_text_json(m, &e, tokens, bytes, err);
	printf("%lld tokens, loss %.6g%s, accuracy %.2f %%\n", (long long)tokens, e.loss,
	       training_format_text(&e, ", ", text, sizeof(text)), 100 * e.accuracy);
out:
	return st;
}

static enum status evaluate(struct trained *m, const struct options *o, struct error *err)
{
	struct score s = {0};
	enum status st;

	if (m->training->data.language)
		return evaluate_text(m, o, err);
	if (!m->training->data.has_targets) {
		FAIL(err, ERR_USAGE, "%.300s has no column of labels or targets", o->data);
		return HINT(err, "kolm predict needs none");
	}
	TRY(score_init(&s, m, err));
	TRY(trained_run(m, add_rows, &s, &s.evaluation, err));
	if (o->as_json) {
		TRY(print_json(&s, err));
	} else {
		printf("%lld samples, ", (long long)s.samples);
		if (s.matrix)
			print_classes(&s);
		else
			print_targets(&s);
	}
out:
	score_release(&s);
	return st;
}

enum status cmd_eval(int argc, char *const *argv, struct error *err)
{
	struct options o = {.threads = 0};
	struct option_values values;
	struct trained model = {0};
	enum status st;

	options_init(&values, &eval_table, &o);
	TRY(options_parse(&values, argc, argv, err));
	if (values.help) {
		options_print_help(&eval_table, stdout);
		goto out;
	}
	if (values.positionals != 1 || !*o.data) {
		FAIL(err, ERR_USAGE, "eval needs a run or a checkpoint, and --data FILE");
		return HINT(err, "such as kolm eval runs/mine --data test.csv");
	}
	TRY(trained_open(&model, values.positional[0], o.data, true, o.threads, err));
	TRY(evaluate(&model, &o, err));
out:
	trained_close(&model);
	return st;
}
