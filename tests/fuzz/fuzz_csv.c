/* fuzz_csv.c - a table that is accepted holds finite numbers and valid labels. */
#include "fuzz.h"

#include "data/table.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct table t;
	struct error err = {0};
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	if (table_parse_csv(&t, text, size, "fuzz", &err) == OK) {
		for (int64_t i = 0; i < t.samples * t.features; i++)
			if (!isfinite(t.values[i]))
				abort();
		for (int64_t i = 0; i < t.samples && t.classes; i++)
			if (t.labels[i] < 0 || t.labels[i] >= t.classes)
				abort();
		if (table_as_regression(&t, &err) != OK)
			abort();
		table_release(&t);
	}
	free(text);
	return 0;
}
