/*
 * logits.c - what a language model says of the tokens of a text, for tests/huggingface/compare:
 *
 *	logits RUN|DIR text:FILE OUT
 *
 * OUT gets fp32 numbers: a row of the vocabulary for every token of every window of the text.
 */
#include "base/file.h"
#include "cmd/trained.h"

#include <stdio.h>

static void fill(void *arg, int64_t first, int rows, const struct batch *b)
{
	data_held_out(arg, first, rows, b);
}

struct out {
	struct file file;
	size_t columns;
};

static enum status take(void *arg, int64_t first, int rows, const float *outputs,
			struct error *err)
{
	struct out *o = arg;

	(void)first;
	return file_write(&o->file, outputs, (size_t)rows * o->columns * sizeof(*outputs), err);
}

int main(int argc, char **argv)
{
	struct error err = {0};
	struct evaluation e;
	struct trained m = {0};
	struct data *d;
	struct out o = {.file.fd = -1};
	enum status st;

	if (argc != 4)
		return 2;
	TRY(trained_open(&m, argv[1], argv[2], true, 0, &err));
	d = &m.training->data;
	o.columns = (size_t)m.training->model.out;
	TRY(file_create(&o.file, argv[3], &err));
	TRY(engine_outputs(m.training->engine, d->held_out * d->sequence, fill, d, take, &o, &e,
			   &err));
	TRY(file_commit(&o.file, &err));
out:
	file_abort(&o.file);
	trained_close(&m);
	if (st != OK)
		error_print(&err);
	return error_exit_code(st);
}
