/* fuzz_options.c - a command line: words separated by zero bytes. */
#include "fuzz.h"

#include "config/config.h"
#include "device/device.h"
#include "engine/inject.h"

/* The words that describe a virtual device. */
static void open_virtual(const char *spec, int ranks)
{
	struct device_options o = {.ranks = ranks};
	struct device *dev = NULL;
	struct error err = {0};

	if (!strncmp(spec, "virtual:", 8) && device_open(&dev, spec, &o, &err) == OK &&
	    !device_is_virtual(dev))
		abort();
	device_close(dev);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct config c;
	char *text = malloc(size + 1), *argv[64];
	struct error err = {0};
	int argc = 0;

	memcpy(text, data, size);
	text[size] = '\0';
	for (size_t at = 0; at < size && argc < 64; at += strlen(text + at) + 1) {
		argv[argc++] = text + at;
		/* Reading files is another fuzzer's work. */
		if (!strncmp(text + at, "--config", 8))
			goto out;
	}
	if (config_read(&c, argc, argv, &err) == OK && !c.values.help) {
		struct inject_limits limits;
		struct inject_plan plan;

		c.dp = c.dp ? c.dp : 2;
		if (c.dim < 1 || c.depth < 1 || c.steps < 1 || c.warmup >= c.steps)
			abort();
		if (config_resolve_batch(&c, &err) == OK &&
		    (int64_t)c.dp * c.micro_batches * c.micro_batch_size != c.batch)
			abort();
		limits = (struct inject_limits){c.dp, c.steps, c.micro_batches};
		inject_parse(&plan, c.inject, &limits, &err);
		open_virtual(c.device, c.dp);
	}
out:
	free(text);
	return 0;
}
