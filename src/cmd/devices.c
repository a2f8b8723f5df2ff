/* devices.c - kolm devices: what there is to compute on. */
#include "base/json.h"
#include "base/machine.h"
#include "base/units.h"
#include "base/util.h"
#include "cmd/cmd.h"
#include "config/option.h"
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>

struct devices {
	bool as_json;
};

/* clang-format off */
static const struct option options[] = {
	{"json", .group = "Options", .type = OPTION_FLAG, .offset = offsetof(struct devices, as_json),
	 .initial = "false", .help = "print one JSON document instead of text"},
};
/* clang-format on */

const struct option_table devices_table = {
	.command = "devices",
	.usage = "kolm devices [--json]",
	.summary = "List what kolm can compute on here.",
	.options = options,
	.count = ARRAY_SIZE(options),
};

static void put_json(struct device *dev, uint64_t memory)
{
	struct json j;

	json_init(&j, true);
	json_begin_object(&j, NULL);
	json_begin_array(&j, "devices");
	json_begin_object(&j, NULL);
	json_put_string(&j, "name", "cpu");
	json_put_string(&j, "description", device_description(dev));
	json_put_int(&j, "cores", device_cores(dev));
	json_put_int(&j, "memory_bytes", (int64_t)memory);
	json_begin_array(&j, "multiplies");
	for (int k = 0; k < PRECISION_COUNT; k++)
		if (device_multiplies(dev, (enum dtype)k))
			json_put_string(&j, NULL, precision_names[k]);
	json_end_array(&j);
	json_end_object(&j);
	json_end_array(&j);
	json_end_object(&j);
	fputs(j.text.data, stdout);
	json_release(&j);
}

enum status cmd_devices(int argc, char *const *argv, struct error *err)
{
	struct device_options o = {.kernels = getenv("KOLM_CPU")};
	struct devices d = {0};
	struct option_values values;
	struct device *dev = NULL;
	uint64_t memory = machine_memory();
	char size[32];
	enum status st;

	options_init(&values, &devices_table, &d);
	TRY(options_parse(&values, argc, argv, err));
	if (values.help) {
		options_print_help(&devices_table, stdout);
		goto out;
	}
	TRY(device_open(&dev, "cpu", &o, err));
	units_format_size(memory, size, sizeof(size));
	if (d.as_json)
		put_json(dev, memory);
	else
		printf("cpu  %s, %s of memory\n", device_description(dev), size);
out:
	device_close(dev);
	return st;
}
