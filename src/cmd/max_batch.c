/*
 * max_batch.c - kolm max-batch: the largest batch that fits --device-memory, found by
 * prediction and confirmed by running it.
 */
#include "cmd/cmd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/units.h"
#include "base/util.h"
#include "cmd/training.h"

#include <stdlib.h>
#include <string.h>

struct max_batch {
	char compare[64];
	bool as_json;
	/* the options of kolm train */
	int argc;
	char **argv;
	struct error refused; /* why what should fit did not, if so */
};

struct row {
	int precision; /* enum dtype */
	int64_t batch;
	uint64_t bytes, limit; /* of the rank that takes most */
	bool confirmed;
	bool is_most; /* no batch can be larger, whatever fits */
};

/* clang-format off */
static const struct option options[] = {
	{"compare", .group = "Options", .type = OPTION_STRING, .meta = "A,B,...",
	 .offset = offsetof(struct max_batch, compare), .capacity = sizeof(((struct max_batch *)0)->compare),
	 .initial = "", .help = "several precisions: fp32, fp16, bf16"},
	{"json", .group = "Options", .type = OPTION_FLAG, .offset = offsetof(struct max_batch, as_json),
	 .initial = "false", .help = "print one JSON document instead of text"},
};

static const char *const examples[] = {
	"kolm max-batch --depth 16 --device-memory 512MiB --compare fp32,fp16",
	"kolm max-batch --dp 2 --pp 2 --micro-batches 4 --device-memory 100MB",
	NULL,
};
/* clang-format on */

const struct option_table max_batch_table = {
	.command = "max-batch",
	.usage = "kolm max-batch [options of kolm train] [options]",
	.summary =
		"The largest batch that fits --device-memory on the given grid, with the given schedule, "
		"precision and number of micro-batches. Found by prediction, confirmed by a step of it and "
		"by the refusal of the next size. A batch has at most 16777216 samples: where that many "
		"fit, it says so.",
	.options = options,
	.count = ARRAY_SIZE(options),
	.examples = examples,
	.passes_on = &config_table,
};

/* A run of so many samples per micro-batch, ready to be predicted or started. */
static enum status open_run(const struct max_batch *m, int precision, int64_t samples,
			    struct training *t, struct error *err)
{
	struct config *c = &t->config;
	enum status st;

	TRY(config_read(c, m->argc, m->argv, err));
	c->precision = precision >= 0 ? precision : c->precision;
	c->quiet = true;
	c->steps = 1;
	c->warmup = c->lr_warmup = c->eval_every = c->patience = 0;
	c->dump_check[0] = '\0';
	if (!c->device_memory) {
		FAIL(err, ERR_USAGE, "max-batch needs a limit");
		return HINT(err, "such as --device-memory 512MiB, per rank");
	}
	/* The batch follows from the others, whatever was said of it. */
	options_forget(&c->values, "batch");
	if (options_source(&c->values, "micro-batches") == SOURCE_DEFAULT)
		options_mark(&c->values, "micro-batches", SOURCE_FILE);
	options_mark(&c->values, "micro-batch-size", SOURCE_COMMAND_LINE);
	c->micro_batch_size = (int)samples;
out:
	return st;
}

/* Does it fit? Then *row is about it. *most is the largest size that makes a batch. */
static enum status predict(const struct max_batch *m, int precision, int64_t samples,
			   struct row *row, bool *fits, int64_t *most, struct error *err)
{
	struct training *t = training_new(m->argc, m->argv, err);
	uint64_t limit;
	enum status st;

	if (!t)
		return ERR_MEMORY;
	TRY(open_run(m, precision, samples, t, err));
	limit = t->config.device_memory;
	t->config.device_memory = 0; /* asked here, not refused */
	TRY(training_plan(t, err));
	TRY(training_prepare(t, err));
	*fits = t->memory.account.total <= limit;
	*most = config_batch_max(&t->config) / (t->config.batch / samples);
	if (*fits)
		*row = (struct row){.precision = t->config.precision,
				    .batch = t->config.batch,
				    .bytes = t->memory.account.total,
				    .limit = limit};
out:
	training_free(t);
	return st;
}

/* Run one step; went->code is how that ended. */
static enum status run_step(const struct max_batch *m, int precision, int64_t samples,
			    struct error *went, struct error *err)
{
	struct training *t = training_new(m->argc, m->argv, err);
	struct folder folder = {0};
	sigset_t signals;
	enum status st;

	if (!t)
		return ERR_MEMORY;
	signals_hold(&signals);
	TRY(folder_make_temporary(&folder, "max-batch", err));
	TRY(open_run(m, precision, samples, t, err));
	t->config.trace = 0;
	t->discarded = true;
	snprintf(t->config.run_dir, sizeof(t->config.run_dir), "%s", folder.path);
	if (training_run(t, went) != OK && went->code != ERR_MEMORY)
		st = error_copy(err, went);
out:
	training_free(t);
	folder_remove_temporary(&folder);
	signals_let_go(&signals);
	return st;
}

/* Double while it fits, or halve the gap where that is less. */
static enum status search(struct max_batch *m, int precision, struct row *row,
			  struct error *err)
{
	int64_t good = 0, bad = 2, most = 0, size = 1;
	struct error first = {0}, second = {0};
	enum status st;
	bool fits;

	while (bad - good > 1) {
		TRY(predict(m, precision, size, row, &fits, &most, err));
		if (!good && size == 1)
			bad = most + 1;
		good = fits ? size : good;
		bad = fits ? bad : size;
		size = min64(2 * size, (good + bad) / 2);
	}
	if (!good) {
		struct training *t = training_new(m->argc, m->argv, err);

		if (!t)
			return ERR_MEMORY;
		st = open_run(m, precision, 1, t, err);
		if (st == OK && (st = training_plan(t, err)) == OK)
			st = training_prepare(t, err); /* refuses, with the table */
		training_free(t);
		return st;
	}
	TRY(run_step(m, precision, good, &first, err));
	row->confirmed = first.code == OK;
	if (!row->confirmed)
		m->refused = first;
	row->is_most = good == most;
	if (row->is_most)
		goto out;
	TRY(run_step(m, precision, good + 1, &second, err));
	row->confirmed = row->confirmed && second.code == ERR_MEMORY;
out:
	return st;
}

static enum status read_precisions(const char *text, int *list, int *n, struct error *err)
{
	char copy[64], *rest = copy, *word;

	if (!*text) {
		list[(*n)++] = -1; /* as --precision says */
		return OK;
	}
	snprintf(copy, sizeof(copy), "%s", text);
	while ((word = strsep(&rest, ","))) {
		int k = 0;

		while (k < PRECISION_COUNT && strcmp(word, precision_names[k]))
			k++;
		if (k == PRECISION_COUNT || *n == PRECISION_COUNT) {
			FAIL(err, ERR_USAGE,
			     "--compare %s: '%s' is no precision, or one too many", text, word);
			return HINT(err, "such as fp32,fp16,bf16");
		}
		list[(*n)++] = k;
	}
	return OK;
}

static void put_rows(const struct max_batch *m, const struct row *rows, int n)
{
	struct json j;

	json_init(&j, true);
	json_begin_object(&j, NULL);
	json_begin_array(&j, "rows");
	if (!m->as_json)
		printf("%-9s %10s %14s %14s  %s\n", "precision", "batch", "bytes", "limit",
		       "confirmed by running");
	for (int i = 0; i < n; i++) {
		const struct row *r = &rows[i];

		json_begin_object(&j, NULL);
		json_put_string(&j, "precision", precision_names[r->precision]);
		json_put_int(&j, "batch", r->batch);
		json_put_int(&j, "bytes", (int64_t)r->bytes);
		json_put_int(&j, "limit", (int64_t)r->limit);
		json_put_bool(&j, "confirmed", r->confirmed);
		json_put_bool(&j, "largest_possible", r->is_most);
		json_end_object(&j);
		if (!m->as_json)
			printf("%-9s %10lld %14llu %14llu  %s%s\n",
			       precision_names[r->precision], (long long)r->batch,
			       (unsigned long long)r->bytes, (unsigned long long)r->limit,
			       r->confirmed ? "yes" : "NO",
			       r->is_most ? ", and no batch can be larger" : "");
	}
	json_end_array(&j);
	json_end_object(&j);
	if (m->as_json)
		fputs(j.text.data, stdout);
	else if (n > 1)
		printf("\n%s has %.2f times the batch of %s\n",
		       precision_names[rows[1].precision],
		       (double)rows[1].batch / (double)rows[0].batch,
		       precision_names[rows[0].precision]);
	json_release(&j);
}

enum status cmd_max_batch(int argc, char *const *argv, struct error *err)
{
	struct max_batch m = {0};
	struct option_values own;
	struct row rows[PRECISION_COUNT] = {{0}};
	int list[PRECISION_COUNT], n = 0;
	bool confirmed = true;
	enum status st;

	m.argv = calloc((size_t)argc + 1, sizeof(*m.argv));
	if (!m.argv)
		return FAIL(err, ERR_MEMORY, "no memory to start");
	options_init(&own, &max_batch_table, &m);
	TRY(options_split(&own, argc, argv, m.argv, &m.argc, err));
	if (own.help) {
		options_print_help(&max_batch_table, stdout);
		goto out;
	}
	log_set_level(LOG_QUIET);
	TRY(read_precisions(m.compare, list, &n, err));
	for (int i = 0; i < n; i++) {
		TRY(search(&m, list[i], &rows[i], err));
		confirmed = confirmed && rows[i].confirmed;
	}
	put_rows(&m, rows, n);
	if (!confirmed) {
		bool why = m.refused.code != OK && !m.refused.reported;

		st = FAIL(err, ERR_FAILED, "running did not confirm the prediction%s%.400s",
			  why ? ": " : "", why ? m.refused.msg : "");
		if (why)
			HINT(err, "%s", m.refused.hint);
	}
out:
	free(m.argv);
	return st;
}
