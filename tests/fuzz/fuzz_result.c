/* fuzz_result.c - a study's result: refused with a message, or a report that can be written. */
#include "fuzz.h"

#include "report/html.h"
#include "report/study_result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bottleneck b;
	struct document d;
	struct study s;
	struct error err = {0};
	struct text out;
	int rows, failed;

	if (study_parse(&s, (const char *)data, size, "fuzz", &err) != OK)
		return 0;
	document_init(&d);
	text_init(&out);
	document_table(&d, study_machine(&s, &d));
	for (size_t i = 0; study_bottleneck(&s, i, &b); i++)
		document_item(&d, b.what, b.where, NULL);
	study_count(&s, &rows, &failed);
	if (study_add(&s, &d, NULL, &err) == OK) {
		html_format(&d, &out);
		/* However it began, it ends. */
		if (!strstr(out.data, "</html>"))
			abort();
	}
	text_release(&out);
	document_release(&d);
	study_release(&s);
	return 0;
}
