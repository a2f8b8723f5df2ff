/* fuzz_checkpoint.c - state.json of a checkpoint: as it is, and with a sum that is right, so
   that what stands in it is read too. */
#include "fuzz.h"

#include "checkpoint/checkpoint.h"

#include <stdio.h>

static void read_one(const char *bytes, size_t size)
{
	struct checkpoint c;

	if (checkpoint_parse(&c, bytes, size, "state.json", &(struct error){0}) != OK)
		return;
	if (c.step < 0 || !c.files[PART_MODEL].there || !c.state)
		abort();
	checkpoint_close(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char sum[SHA256_TEXT], *text = malloc(size + 128);
	int n;

	read_one((const char *)data, size);
	memcpy(text, data, size);
	if (sha256_of(data, size, sum, &(struct error){0}) != OK)
		abort();
	n = snprintf(text + size, 128, ",\n  \"sha256\": \"%s\"\n}\n", sum);
	read_one(text, size + (size_t)n);
	free(text);
	return 0;
}
