/* fuzz_timeline.c - a timeline.json that is accepted can be compared and drawn. */
#include "fuzz.h"

#include "trace/compare.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace t;
	struct comparison c;
	struct error err = {0};
	struct text out;

	if (trace_parse(&t, (const char *)data, size, "fuzz", &err) != OK)
		return 0;
	text_init(&out);
	for (int all = 0; all < 2; all++)
		if (compare_step(&c, &t, t.last_step, all, &err) == OK) {
			comparison_draw_text(&c, 40, &out);
			comparison_draw_svg(&c, &t, &out);
			comparison_release(&c);
		}
	text_release(&out);
	trace_release(&t);
	return 0;
}
