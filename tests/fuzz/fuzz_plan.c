/* fuzz_plan.c - a cluster's file, or a table of setups; what is accepted has a forecast. */
#include "fuzz.h"

#include "plan/forecast.h"
#include "plan/setups.h"

#include <math.h>

enum { STAGES_MAX = 64 }; /* of rows that are forecast: more only take longer */

static void forecast_rows(const struct setups *t, const struct cluster *c)
{
	for (int i = 0; i < t->count; i++) {
		struct error err = {0};
		struct forecast f;

		if (*t->rows[i].problem || t->rows[i].setup.pp > STAGES_MAX)
			continue;
		if (forecast_make(&f, &t->rows[i].setup, c, &err) != OK)
			abort();
		if (!(isfinite(f.step) && f.step > 0 && isfinite(f.memory) && f.memory > 0))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct setup setup = {.layers = 8,
					   .hidden = 64,
					   .heads = 4,
					   .context = 16,
					   .vocab = 99,
					   .gpus = 8,
					   .dp = 2,
					   .tp = 2,
					   .pp = 2,
					   .micro_batch = 1,
					   .global_batch = 8,
					   .chunks = 1,
					   .schedule = SCHEDULE_1F1B};
	struct cluster c;
	struct setups t;
	struct forecast f;
	struct error err = {0};

	if (size && *data == '{') {
		if (cluster_read(&c, (const char *)data, size, "fuzz", &err) != OK)
			return 0;
		if (forecast_make(&f, &setup, &c, &err) != OK)
			abort();
		if (!(isfinite(f.step) && f.step > 0))
			abort();
		return 0;
	}
	if (setups_read(&t, (const char *)data, size, "fuzz", &err) != OK)
		return 0;
	if (cluster_find(&c, "a100-80g-selene", &err) != OK)
		abort();
	forecast_rows(&t, &c);
	setups_release(&t);
	return 0;
}
