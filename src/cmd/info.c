/* info.c - kolm info: what is in a checkpoint, whether it is whole, and whether two are the
 * same. */
#include "cmd/cmd.h"
#include "base/file.h"
#include "base/safetensors.h"
#include "base/units.h"
#include "base/util.h"
#include "checkpoint/checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct options {
	bool as_json;
};

/* clang-format off */
static const struct option options[] = {
	{"json", .group = "Output", .type = OPTION_FLAG, .offset = offsetof(struct options, as_json), .initial = "false",
	 .help = "print one JSON document instead of text"},
};
/* clang-format on */

static const char *const examples[] = {
	"kolm info runs/mine                    # its newest good checkpoint",
	"kolm info runs/mine/checkpoints/step-100",
	"kolm info runs/mine runs/other         # are their weights the same?",
	NULL,
};

const struct option_table info_table = {
	.command = "info",
	.usage = "kolm info RUN|DIR [RUN|DIR] [options]",
	.summary =
		"Show what is in a checkpoint and check its sums; or compare the weights of two.",
	.options = options,
	.count = ARRAY_SIZE(options),
	.examples = examples,
	.positional = 2,
	.arguments = "RUN|DIR",
};

static enum status open_one(struct checkpoint *c, struct safetensors *model, const char *place,
			    struct error *err)
{
	char path[PATH_MAX];
	enum status st;

	TRY(checkpoint_need(c, place, err));
	TRY(file_path(path, c->folder, checkpoint_file_names[PART_MODEL], err));
	TRY(safetensors_map(model, path, err));
out:
	return st;
}

static int64_t elements(const struct safetensors_entry *e)
{
	int64_t n = 1;

	for (int d = 0; d < e->dims; d++)
		n *= e->shape[d];
	return n;
}

static const char *text_at(const json_t *object, const char *a, const char *b)
{
	const char *text = json_string_value(json_object_get(json_object_get(object, a), b));

	return text ? text : "?";
}

static void print_tensors(const struct safetensors *s)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct safetensors_entry *e = &s->entries[i];
		char shape[96] = "";

		for (int d = 0; d < e->dims && strlen(shape) < 64; d++)
			snprintf(shape + strlen(shape), sizeof(shape) - strlen(shape), "%s%lld",
				 d ? ", " : "", (long long)e->shape[d]);
		printf("  %-32s %-4s [%s]\n", e->name, dtype_name(e->dtype), shape);
	}
}

static void print_training(const struct checkpoint *c)
{
	const json_t *optimizer = json_object_get(c->state, "optimizer");
	const char *from = json_string_value(json_object_get(c->state, "imported"));

	if (c->weights_only)
		printf("weights only%s%s\n", from ? ", imported: " : "", from ? from : "");
	else
		printf("optimizer %s, %lld updates; trained in %s\n",
		       text_at(c->state, "optimizer", "kind"),
		       (long long)json_integer_value(json_object_get(optimizer, "updates")),
		       text_at(c->state, "options", "precision"));
}

static void print_text(const struct checkpoint *c, const struct safetensors *model)
{
	char size[32], count[32];
	int64_t parameters = 0;

	for (size_t i = 0; i < model->count; i++)
		parameters += elements(&model->entries[i]);
	units_format_count(parameters, count, sizeof(count));
	printf("%s: whole, all sums are right\n", c->folder);
	printf("after %lld steps, %lld samples; written by kolm %s\n", (long long)c->step,
	       (long long)json_integer_value(json_object_get(c->state, "samples")),
	       json_string_value(json_object_get(c->state, "version")));
	printf("%zu tensors, %s parameters; ", model->count, count);
	print_training(c);
	print_tensors(model);
	for (int i = 0; i < CHECKPOINT_FILES; i++) {
		if (!c->files[i].there)
			continue;
		units_format_size(c->files[i].size, size, sizeof(size));
		printf("%-22s %10s  sha256 %s\n", checkpoint_file_names[i], size,
		       c->files[i].sha256);
	}
	printf("%-22s %10s  sha256 %s\n", "weights", "",
	       json_string_value(json_object_get(c->state, "weights_sha256")));
}

/* state.json as it is, with the tensors. */
static enum status print_json(const struct checkpoint *c, const struct safetensors *model,
			      struct error *err)
{
	json_t *tensors = json_array();
	enum status st = OK;

	for (size_t i = 0; i < model->count; i++) {
		const struct safetensors_entry *e = &model->entries[i];
		json_t *shape = json_array();

		for (int d = 0; d < e->dims; d++)
			json_array_append_new(shape, json_integer(e->shape[d]));
		json_array_append_new(tensors,
				      json_pack("{s:s, s:s, s:o}", "name", e->name, "dtype",
						dtype_name(e->dtype), "shape", shape));
	}
	json_object_set_new(c->state, "tensors", tensors);
	json_object_set_new(c->state, "folder", json_string(c->folder));
	if (json_dumpf(c->state, stdout, JSON_INDENT(2)) || putchar('\n') == EOF)
		st = FAIL(err, ERR_FAILED, "can't write the document");
	return st;
}

/* Numbers that floats have in their order: neighbours differ by one. */
static int64_t place_of(float f)
{
	int32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits < 0 ? (int64_t)INT32_MIN - bits : bits;
}

/* How many floats there are from one to the other; -1: one is no number. */
static int64_t floats_between(float a, float b)
{
	if (isnan(a) || isnan(b))
		return -1;
	return place_of(a) > place_of(b) ? place_of(a) - place_of(b)
					 : place_of(b) - place_of(a);
}

/* How many differ, the first of them, and the largest difference: in units in the last place,
   that is so many floats apart, and relative to the largest value of the tensor in the first.
 */
static void compare_values(const struct safetensors *a, const struct safetensors_entry *x,
			   const struct safetensors *b, const struct safetensors_entry *y)
{
	const float *p = safetensors_data(a, x), *q = safetensors_data(b, y);
	double largest = 0, most = 0;
	int64_t first = -1, differ = 0, apart = 0;

	for (int64_t i = 0; i < elements(x); i++) {
		largest = fmax(largest, fabs((double)p[i]));
		if (!memcmp(&p[i], &q[i], sizeof(*p)))
			continue;
		first = differ++ ? first : i;
		most = fmax(most, fabs((double)p[i] - (double)q[i]));
		if (floats_between(p[i], q[i]) > apart)
			apart = floats_between(p[i], q[i]);
	}
	if (differ)
		printf("  %-32s %lld of %lld differ, first element %lld: %.9g and %.9g; at most "
		       "%lld ulp, %.3g of the largest\n",
		       x->name, (long long)differ, (long long)elements(x), (long long)first,
		       (double)p[first], (double)q[first], (long long)apart,
		       largest > 0 ? most / largest : most);
}

static bool alike(const struct safetensors_entry *x, const struct safetensors_entry *y)
{
	return y && x->dtype == DTYPE_F32 && y->dtype == DTYPE_F32 && x->dims == y->dims &&
	       !memcmp(x->shape, y->shape, (size_t)x->dims * sizeof(*x->shape));
}

static enum status compare(const struct checkpoint *c, const struct safetensors *s,
			   struct error *err)
{
	const char *one = json_string_value(json_object_get(c[0].state, "weights_sha256"));
	const char *other = json_string_value(json_object_get(c[1].state, "weights_sha256"));

	if (one && other && !strcmp(one, other)) {
		printf("the same weights, bit by bit: sha256 %s\n", one);
		return OK;
	}
	for (size_t i = 0; i < s[0].count; i++) {
		const struct safetensors_entry *x = &s[0].entries[i];
		const struct safetensors_entry *y = safetensors_find(&s[1], x->name);

		if (alike(x, y))
			compare_values(&s[0], x, &s[1], y);
		else
			printf("  %-32s %s\n", x->name,
			       y ? "has another shape" : "is in the first alone");
	}
	for (size_t i = 0; i < s[1].count; i++)
		if (!safetensors_find(&s[0], s[1].entries[i].name))
			printf("  %-32s is in the second alone\n", s[1].entries[i].name);
	return FAIL(err, ERR_FAILED, "the weights of %.200s and %.200s differ", c[0].folder,
		    c[1].folder);
}

/* What a run that saved nothing says of its weights, or "". */
static void sum_of_run(const char *place, char sha256[SHA256_TEXT])
{
	char path[PATH_MAX];
	struct error ignored = {0};
	json_t *summary;
	const char *sum;

	*sha256 = '\0';
	if (file_path(path, place, "summary.json", &ignored) != OK)
		return;
	summary = json_load_file(path, 0, NULL);
	sum = json_string_value(json_object_get(summary, "weights_sha256"));
	if (sum)
		snprintf(sha256, SHA256_TEXT, "%s", sum);
	json_decref(summary);
}

/* Two runs of which at least one has no checkpoint: their sums are all there is. *done: both
   have one. */
static enum status compare_runs(const char *const *places, bool *done, struct error *err)
{
	char sums[2][SHA256_TEXT];
	struct checkpoint c = {0};
	bool missing = false;

	*done = false;
	for (int i = 0; i < 2; i++) {
		bool found = false;
		struct error ignored = {0};

		sum_of_run(places[i], sums[i]);
		if (!*sums[i])
			return OK;
		missing |=
			checkpoint_find(&c, places[i], false, &found, &ignored) == OK && !found;
		checkpoint_close(&c);
		c = (struct checkpoint){0};
	}
	if (!missing)
		return OK;
	*done = true;
	if (strcmp(sums[0], sums[1])) {
		FAIL(err, ERR_FAILED, "the weights of %.200s and %.200s differ", places[0],
		     places[1]);
		return HINT(err, "run both with --save to see where");
	}
	printf("the same weights, bit by bit: sha256 %s\n", sums[0]);
	return OK;
}

enum status cmd_info(int argc, char *const *argv, struct error *err)
{
	struct options o = {0};
	struct option_values v;
	struct checkpoint c[2] = {0};
	struct safetensors s[2] = {0};
	bool done = false;
	enum status st;

	options_init(&v, &info_table, &o);
	TRY(options_parse(&v, argc, argv, err));
	if (v.help) {
		options_print_help(&info_table, stdout);
		return OK;
	}
	if (!v.positionals) {
		FAIL(err, ERR_USAGE, "kolm info: which checkpoint?");
		return HINT(err, "give a run, or a folder step-N of its checkpoints");
	}
	if (v.positionals == 2)
		TRY(compare_runs(v.positional, &done, err));
	if (done)
		goto out;
	for (int i = 0; i < v.positionals; i++)
		TRY(open_one(&c[i], &s[i], v.positional[i], err));
	if (v.positionals == 2) {
		TRY(compare(c, s, err));
	} else if (o.as_json) {
		TRY(print_json(&c[0], &s[0], err));
	} else {
		print_text(&c[0], &s[0]);
	}
out:
	for (int i = 0; i < 2; i++) {
		safetensors_release(&s[i]);
		checkpoint_close(&c[i]);
	}
	return st;
}
