/* fuzz_idx.c - two files from one input; the first byte says where to cut. */
#include "fuzz.h"

#include "data/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct table t;
	struct error err = {0};
	size_t cut;

	if (size < 1)
		return 0;
	cut = data[0];
	data++;
	size--;
	cut = cut > size ? size : cut;
	if (table_parse_idx(&t, data, cut, data + cut, size - cut, "fuzz", &err) != OK)
		return 0;
	for (int64_t i = 0; i < t.samples; i++)
		if (t.labels[i] < 0 || t.labels[i] >= t.outputs)
			abort();
	for (int64_t i = 0; i < t.samples * t.features; i++)
		if (!(t.values[i] >= 0 && t.values[i] <= 1))
			abort();
	table_release(&t);
	return 0;
}
