/* predict.c - kolm predict: what a trained model says of every sample of a file, as CSV. */
#include "cmd/cmd.h"
#include "base/file.h"
#include "base/util.h"
#include "cmd/trained.h"

#include <math.h>
#include <stdio.h>

struct options {
	char data[2 * PATH_MAX], out[PATH_MAX];
	int threads;
};

#define AT(member)	.offset = offsetof(struct options, member)
#define TEXT_AT(member) AT(member), .capacity = sizeof(((struct options *)0)->member)

/* clang-format off */
static const struct option options[] = {
	{"data", .group = "Data", .type = OPTION_STRING, TEXT_AT(data), .initial = "", .meta = "FILE",
	 .help = "samples, in a file like the one that was trained with; it may lack the targets"},
	{"out", .group = "Output", .type = OPTION_STRING, TEXT_AT(out), .initial = "", .meta = "FILE",
	 .reserved = true, .help = "write to this file instead of standard output"},
	{"threads", .group = "Machine", .type = OPTION_INT, AT(threads), .initial = "auto", .zero = "auto",
	 .meta = "N", .min = 1, .max = 256, .help = "auto: one per core"},
};
/* clang-format on */

static const char *const examples[] = {
	"kolm predict runs/mine --data new.csv --out predictions.csv",
	"kolm predict runs/mine/checkpoints/step-100 --data csv:new.csv.gz",
	NULL,
};

const struct option_table predict_table = {
	.command = "predict",
	.usage = "kolm predict RUN|DIR --data FILE [options]",
	.summary = "What a trained model says of every sample of a file: the class and the "
		   "probability of each, or the targets.",
	.options = options,
	.count = ARRAY_SIZE(options),
	.examples = examples,
	.positional = 1,
};

struct job {
	struct trained *model;
	struct text text;
};

static void add_heading(struct job *j)
{
	const struct data_form *f = &j->model->form;
	char name[128];

	text_add(&j->text, f->labelled ? "label" : "");
	for (int k = 0; k < f->n_classes; k++) {
		snprintf(name, sizeof(name), "p(%.100s)", f->classes[k]);
		text_add(&j->text, ",");
		text_add_csv(&j->text, name);
	}
	for (int k = 0; k < f->n_targets && !f->labelled; k++) {
		snprintf(name, sizeof(name), "target %d", k + 1);
		text_add(&j->text, k ? "," : "");
		text_add_csv(&j->text, f->named ? f->targets[k].name : name);
	}
	text_add(&j->text, "\n");
}

static void add_classes(struct job *j, const float *outputs)
{
	const struct data_form *f = &j->model->form;
	int best = trained_class(outputs, f->n_classes);
	double sum = 0;

	for (int k = 0; k < f->n_classes; k++)
		sum += exp((double)outputs[k] - (double)outputs[best]);
	text_add_csv(&j->text, f->classes[best]);
	for (int k = 0; k < f->n_classes; k++)
		text_addf(&j->text, ",%.9g",
			  exp((double)outputs[k] - (double)outputs[best]) / sum);
	text_add(&j->text, "\n");
}

static enum status add_rows(void *arg, int64_t first, int rows, const float *outputs,
			    struct error *err)
{
	struct job *j = arg;
	const struct data_form *f = &j->model->form;
	int n = f->labelled ? f->n_classes : f->n_targets;

	(void)first;
	for (int r = 0; r < rows; r++, outputs += n) {
		if (f->labelled)
			add_classes(j, outputs);
		for (int k = 0; k < n && !f->labelled; k++)
			text_addf(&j->text, "%.9g%c",
				  trained_target(j->model, k, (double)outputs[k]),
				  k + 1 < n ? ',' : '\n');
	}
	if (j->text.failed)
		return FAIL(err, ERR_MEMORY, "no memory for the predictions");
	return OK;
}

static enum status predict(struct trained *m, const char *path, struct error *err)
{
	struct job j = {.model = m};
	struct evaluation unused;
	enum status st;

	text_init(&j.text);
	add_heading(&j);
	TRY(trained_run(m, add_rows, &j, &unused, err));
	if (*path)
		TRY(file_write_whole(path, j.text.data, j.text.len, err));
	else
		fputs(j.text.data, stdout);
out:
	text_release(&j.text);
	return st;
}

enum status cmd_predict(int argc, char *const *argv, struct error *err)
{
	struct options o = {.threads = 0};
	struct option_values values;
	struct trained model = {0};
	enum status st;

	options_init(&values, &predict_table, &o);
	TRY(options_parse(&values, argc, argv, err));
	if (values.help) {
		options_print_help(&predict_table, stdout);
		goto out;
	}
	if (values.positionals != 1 || !*o.data) {
		FAIL(err, ERR_USAGE, "predict needs a run or a checkpoint, and --data FILE");
		return HINT(err, "such as kolm predict runs/mine --data new.csv");
	}
	TRY(trained_open(&model, values.positional[0], o.data, false, o.threads, err));
	TRY(predict(&model, o.out, err));
out:
	trained_close(&model);
	return st;
}
