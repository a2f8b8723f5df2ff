/* column.c - see column.h */
#include "study/column.h"
#include "base/units.h"
#include "base/util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS_MAX = 16, OWN_MAX = 128 };

const char *const column_kinds[] = {NAMES_OF(COLUMN_KINDS)};

/* clang-format off */
#define TEXT(key, label, from)		{key, label, "", KIND_TEXT, 0, from, NULL, NULL, false, false}
#define FLAG(key, label, from)		{key, label, "", KIND_FLAG, 0, from, NULL, NULL, false, false}
#define COUNT(key, label, from)		{key, label, "", KIND_INTEGER, 0, from, NULL, NULL, false, false}
#define BYTES(key, label, from)		{key, label, "", KIND_BYTES, 0, from, NULL, NULL, false, false}
#define NUMBER(key, label, digits, from) {key, label, "", KIND_NUMBER, digits, from, NULL, NULL, false, false}
#define MS(key, label, from)		{key, label, "ms", KIND_NUMBER, 3, from, NULL, NULL, false, true}
#define PERCENT(key, label, from)	{key, label, "", KIND_PERCENT, 0, from, NULL, NULL, false, true}
#define RATE(key, label, unit, digits, from) {key, label, unit, KIND_NUMBER, digits, from, NULL, NULL, false, true}

/* What every study has. In a table per rank, what lies in per_rank is that rank's. */
static const struct column known[] = {
	TEXT("case", "case", NULL),
	TEXT("group", "group", NULL),
	TEXT("device", "device", NULL),
	FLAG("oversubscribed", "more ranks than cores", "oversubscribed"),
	COUNT("rank", "rank", "per_rank.rank"),
	COUNT("ranks", "ranks", "ranks"),
	COUNT("cores", "cores", "cores"),
	COUNT("batch", "batch", "batch"),
	COUNT("micro_batches", "micro-batches", "micro_batches"),
	COUNT("parameters", "parameters", "parameters"),
	MS("step_ms", "step", "step_ms.median"),
	MS("step_mean_ms", "mean step", "step_ms.mean"),
	MS("step_stdev_ms", "deviation of steps", "step_ms.stdev"),
	MS("first_step_ms", "first step", "first_step.step_ms"),
	RATE("samples_per_s", "throughput", "samples/s", 0, "samples_per_s"),
	RATE("tokens_per_s", "throughput", "tokens/s", 0, "tokens_per_s"),
	RATE("gflops", "speed", "GFLOP/s", 1, "gflops"),
	RATE("peak_gflops", "peak", "GFLOP/s", 1, "peak_gflops"),
	TEXT("peak_dtype", "peak of", "peak_dtype"),
	TEXT("grad_dtype", "gradients in", "grad_dtype"),
	PERCENT("bubble", "bubble", "bubble"),
	MS("compute_ms", "compute", "mean per_rank.breakdown_ms.compute"),
	MS("comm_ms", "exposed communication", "mean per_rank.breakdown_ms.comm_exposed"),
	MS("bubble_ms", "bubble", "mean per_rank.breakdown_ms.bubble"),
	MS("imbalance_ms", "waiting for slower ranks", "mean per_rank.breakdown_ms.imbalance"),
	MS("other_ms", "other", "mean per_rank.breakdown_ms.other"),
	/* what calibration has found of this machine, where virtual devices take part */
	RATE("link_gb_per_s", "link", "GB/s", 1, NULL),
	MS("predicted_ms", "step, predicted", "predicted_ms"),
	PERCENT("predicted_bubble", "bubble, predicted", "predicted_bubble"),
	PERCENT("utilization", "busy", "mean per_rank.utilization"),
	PERCENT("utilization_min", "least busy rank", "min per_rank.utilization"),
	PERCENT("utilization_max", "busiest rank", "max per_rank.utilization"),
	PERCENT("utilization_0", "rank 0 busy", "per_rank.0.utilization"),
	PERCENT("utilization_1", "rank 1 busy", "per_rank.1.utilization"),
	RATE("busy_devices", "devices busy at once", "", 2, "sum per_rank.utilization"),
	BYTES("peak_bytes", "memory", "max per_rank.peak_bytes"),
	BYTES("peak_bytes_min", "least memory of a rank", "min per_rank.peak_bytes"),
	BYTES("peak_bytes_0", "memory of rank 0", "per_rank.0.peak_bytes"),
	BYTES("params_bytes", "parameters", "max per_rank.params_bytes"),
	BYTES("grads_bytes", "gradients", "max per_rank.grads_bytes"),
	BYTES("optimizer_bytes", "optimizer", "max per_rank.optimizer_bytes"),
	BYTES("activations_bytes", "activations", "max per_rank.activations_bytes"),
	BYTES("comm_bytes", "communication", "max per_rank.comm_bytes"),
	BYTES("workspace_bytes", "workspace", "max per_rank.workspace_bytes"),
	COUNT("transfers", "transfers per forward", "transfers_per_forward.messages"),
	BYTES("transfer_bytes", "moved per forward", "transfers_per_forward.bytes"),
	COUNT("p2p_messages", "messages of a rank", "max per_rank.p2p_messages"),
	COUNT("messages", "messages of all ranks", "sum per_rank.p2p_messages"),
	BYTES("p2p_bytes", "sent by a rank", "max per_rank.p2p_bytes"),
	BYTES("collective_bytes", "summed by a rank", "max per_rank.collective_bytes"),
	TEXT("layers", "layers of each device", "ranges per_rank.layers"),
	TEXT("memory_each", "memory of each rank", "list per_rank.peak_bytes"),
	COUNT("steps", "steps", "steps"),
	NUMBER("first_loss", "first loss", 5, "first_loss"),
	NUMBER("final_loss", "final loss", 5, "final_loss"),
	COUNT("skipped_steps", "skipped steps", "skipped_steps"),
	COUNT("nonfinite_losses", "NaN or Inf", "nonfinite_losses"),
	NUMBER("first_scale", "first loss scale", 0, "first_step.loss_scale"),
	NUMBER("loss_scale", "loss scale", 0, "last_step.loss_scale"),
	NUMBER("grad_norm", "last gradient norm", -1, "last_step.grad_norm"),
	/* kolm max-batch and kolm schedule */
	COUNT("max_batch", "largest batch", "rows.0.batch"),
	BYTES("max_batch_bytes", "memory it takes", "rows.0.bytes"),
	BYTES("limit_bytes", "limit", "rows.0.limit"),
	FLAG("confirmed", "confirmed by running", "rows.0.confirmed"),
	COUNT("activations", "activations alive", "max stages.activations"),
	NUMBER("makespan_ms", "makespan", 3, "makespan_ms"),
};
/* clang-format on */

int columns_find(const struct columns *c, const char *key)
{
	for (int i = 0; i < c->count; i++)
		if (!strcmp(c->list[i].key, key))
			return i;
	return -1;
}

static const char *text_or(const json_t *object, const char *name, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : otherwise;
}

/* Whole numbers only, in every list of values? */
static enum column_kind axis_kind(const json_t *axis)
{
	static const char *const lists[] = {"values", "quick"};

	for (size_t k = 0; k < ARRAY_SIZE(lists); k++) {
		const json_t *list = json_object_get(axis, lists[k]);

		for (size_t i = 0; i < json_array_size(list); i++)
			if (!json_is_integer(json_array_get(list, i)))
				return KIND_TEXT;
	}
	return KIND_INTEGER;
}

static void add_axes(struct columns *c, const json_t *axes)
{
	for (size_t i = 0; i < json_array_size(axes); i++) {
		const json_t *axis = json_array_get(axes, i);
		const char *key = text_or(axis, "name", "");
		int old = columns_find(c, key);
		struct column new = {.key = key,
				     .label = text_or(axis, "label", key),
				     .unit = text_or(axis, "unit", ""),
				     .kind = axis_kind(axis),
				     .axis = true};

		/* An axis may have the name of what is measured anyway, such as batch. */
		if (old < 0) {
			old = c->count++;
		} else {
			new.from = c->list[old].from;
			if (c->list[old].axis && c->list[old].kind == KIND_TEXT)
				new.kind = KIND_TEXT;
		}
		c->list[old] = new;
	}
}

static enum status add_own(struct columns *c, const json_t *own, struct error *err)
{
	const char *key = text_or(own, "key", ""), *kind = text_or(own, "kind", "number");
	const json_t *digits = json_object_get(own, "digits");
	struct column new = {.key = key,
			     .label = text_or(own, "label", key),
			     .unit = text_or(own, "unit", ""),
			     .digits = digits ? (int)json_integer_value(digits) : 2,
			     .from = text_or(own, "from", NULL),
			     .formula = text_or(own, "formula", NULL),
			     .observe = json_object_get(own, "observe")};
	int k = 0;

	while (column_kinds[k] && strcmp(column_kinds[k], kind))
		k++;
	if (!column_kinds[k]) {
		FAIL(err, ERR_USAGE, "column '%.40s': kind '%.40s'", key, kind);
		return HINT(err, "integer, number, percent, bytes, text or flag");
	}
	if ((new.from != NULL) + (new.formula != NULL) + (new.observe != NULL) != 1) {
		FAIL(err, ERR_USAGE, "column '%.40s' needs a formula or a place it is from",
		     key);
		return HINT(err,
			    "\"formula\": \"step_ms / ranks\", or \"from\": \"step_ms.max\"");
	}
	if (columns_find(c, key) >= 0)
		return FAIL(err, ERR_USAGE, "there is a column '%.40s' already", key);
	new.kind = (enum column_kind)k;
	new.timed = new.from && (!strcmp(new.unit, "ms") || !strcmp(new.unit, "s"));
	c->list[c->count++] = new;
	return OK;
}

enum status columns_init(struct columns *c, const struct study *s, struct error *err)
{
	const json_t *groups = json_object_get(s->root, "groups");
	const json_t *own = json_object_get(s->root, "columns");
	size_t most = ARRAY_SIZE(known) + json_array_size(own) +
		      (json_array_size(groups) + 1) * STUDY_AXES_MAX;
	enum status st = OK;

	if (json_array_size(groups) > GROUPS_MAX || json_array_size(own) > OWN_MAX)
		return FAIL(err, ERR_USAGE, "%s has more than %d groups or %d columns", s->name,
			    GROUPS_MAX, OWN_MAX);
	*c = (struct columns){.list = calloc(most, sizeof(*c->list))};
	if (!c->list)
		return FAIL(err, ERR_MEMORY, "no memory for the columns of %s", s->name);
	memcpy(c->list, known, sizeof(known));
	c->count = ARRAY_SIZE(known);
	for (size_t i = 0; i < json_array_size(groups); i++)
		add_axes(c, json_object_get(json_array_get(groups, i), "axes"));
	add_axes(c, json_object_get(s->root, "axes"));
	for (size_t i = 0; i < json_array_size(own); i++)
		TRY(add_own(c, json_array_get(own, i), err));
out:
	if (st != OK)
		columns_release(c);
	return st;
}

void columns_release(struct columns *c)
{
	free(c->list);
	*c = (struct columns){0};
}

void number_text(double value, int digits, char *buf, size_t size)
{
	char plain[400];
	size_t sign, whole, n = 0;

	if (digits < 0 && fabs(value) < 1000)
		snprintf(plain, sizeof(plain), "%.3g", value);
	else
		snprintf(plain, sizeof(plain), "%.*f", imax(digits, 0), value);
	sign = plain[0] == '-';
	whole = sign + strspn(plain + sign, "0123456789");
	for (size_t i = 0; plain[i] && n + 2 < size; i++) {
		if (i > sign && i < whole && whole - sign > 4 && (whole - i) % 3 == 0)
			buf[n++] = ',';
		buf[n++] = plain[i];
	}
	buf[n] = '\0';
}

void column_text(const struct column *c, double value, char *buf, size_t size)
{
	if (isnan(value)) {
		snprintf(buf, size, "-");
		return;
	}
	switch (c->kind) {
	case KIND_PERCENT:
		snprintf(buf, size, "%.*f %%", c->digits, 100 * value);
		break;
	case KIND_BYTES:
		if (value < 0)
			snprintf(buf, size, "%.0f", value);
		else
			units_format_size((uint64_t)value, buf, size);
		break;
	case KIND_FLAG:
		snprintf(buf, size, "%s", value != 0 ? "yes" : "");
		break;
	case KIND_INTEGER:
		number_text(value, 0, buf, size);
		break;
	case KIND_NUMBER:
	case KIND_TEXT:
		number_text(value, c->digits, buf, size);
		break;
	}
}
