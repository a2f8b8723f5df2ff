/*
 * fuzz_csv.c - a table that is accepted holds numbers and valid labels, whatever it was asked
 * for, and can be read again as its own form says. The first byte is what is asked for.
 */
#include "fuzz.h"

#include "data/table.h"

#include <math.h>

static void check(const struct table *t, enum data_missing rule)
{
	for (int64_t i = 0; i < t->samples * t->features; i++)
		if (!isfinite(t->values[i]) &&
		    !(isnan(t->values[i]) && rule == MISSING_IS_MEAN))
			abort();
	for (int64_t i = 0; i < t->samples && t->labels; i++)
		if (t->labels[i] < 0 || t->labels[i] >= t->outputs)
			abort();
	for (int64_t i = 0; i < t->samples * t->outputs && t->targets; i++)
		if (!isfinite(t->targets[i]))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const columns[] = {"", "1", "-2", "a", "a,2", "b,1"};
	struct table t, again;
	struct data_form f;
	struct error err = {0};
	struct table_options o = {0};
	char *text;

	if (!size)
		return 0;
	o.task = (enum data_task)(data[0] % 3);
	o.missing = (enum data_missing)(data[0] / 3 % 3);
	o.target = columns[data[0] / 9 % 6];
	o.ignore = columns[data[0] / 54 % 4];
	text = malloc(size);
	memcpy(text, data + 1, size - 1);
	text[--size] = '\0';
	if (table_parse_csv(&t, &f, text, size, "fuzz", &o, &err) == OK) {
		check(&t, o.missing);
		if (table_parse_csv_like(&again, &f, text, size, "fuzz", &err) != OK ||
		    again.samples != t.samples)
			abort();
		check(&again, o.missing);
		if (t.labels &&
		    memcmp(t.labels, again.labels, (size_t)t.samples * sizeof(*t.labels)) != 0)
			abort();
		table_release(&again);
		table_release(&t);
		data_form_release(&f);
	}
	free(text);
	return 0;
}
