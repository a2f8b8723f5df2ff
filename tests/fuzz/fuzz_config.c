/* fuzz_config.c - a JSON configuration; what is accepted is written and read back the same. */
#include "fuzz.h"

#include "config/config.h"

static void write_all(struct option_values *v, struct json *j)
{
	json_init(j, true);
	json_begin_object(j, NULL);
	options_write_json(v, j);
	json_end_object(j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct config a, b;
	struct json first, second;
	struct error err = {0};

	options_init(&a.values, &config_table, &a);
	if (options_read_json(&a.values, (const char *)data, size, "fuzz", &err) != OK)
		return 0;
	write_all(&a.values, &first);
	options_init(&b.values, &config_table, &b);
	if (options_read_json(&b.values, first.text.data, first.text.len, "again", &err) != OK)
		abort();
	write_all(&b.values, &second);
	if (strcmp(first.text.data, second.text.data))
		abort();
	json_release(&first);
	json_release(&second);
	return 0;
}
