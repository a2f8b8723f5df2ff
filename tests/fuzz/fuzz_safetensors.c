/* fuzz_safetensors.c - whatever the reader accepts, its tensors lie inside the file. */
#include "fuzz.h"

#include "base/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct safetensors s;
	struct error err = {0};
	volatile char sum = 0;

	if (safetensors_parse(&s, data, size, &err) != OK)
		return 0;
	for (size_t i = 0; i < s.count; i++) {
		const struct safetensors_entry *e = &s.entries[i];
		const char *bytes = safetensors_data(&s, e);

		for (uint64_t b = 0; b < e->end - e->begin; b++)
			sum = (char)(sum + bytes[b]);
		if (safetensors_find(&s, e->name) != e)
			abort();
	}
	safetensors_release(&s);
	return 0;
}
