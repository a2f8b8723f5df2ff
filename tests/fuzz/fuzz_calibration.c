/* fuzz_calibration.c - calibration.json; what is accepted are speeds that a device can have. */
#include "fuzz.h"

#include "study/calibrate.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = {0};
	json_t *known, *value;
	const char *name;

	if (calibrate_parse((const char *)data, size, "fuzz", &known, &err) != OK) {
		if (known || !*err.msg || !*err.hint)
			abort();
		return 0;
	}
	json_object_foreach(known, name, value)
	{
		if (!json_is_number(value) || !isfinite(json_number_value(value)) ||
		    json_number_value(value) < 0)
			abort();
	}
	json_decref(known);
	return 0;
}
