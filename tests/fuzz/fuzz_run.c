/* fuzz_run.c - the summary of a run, and behind a line of dashes its metrics. */
#include "fuzz.h"

#include "report/html.h"
#include "report/run_result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *metrics;
	struct run_result r;
	struct document d;
	struct error err = {0};
	struct text out;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	metrics = strstr(text, "\n---\n");
	if (run_result_parse(&r, text, metrics ? (size_t)(metrics - text) : strlen(text),
			     metrics ? metrics + 5 : "", "fuzz", &err) == OK) {
		document_init(&d);
		text_init(&out);
		run_result_add(&r, &d, NULL);
		document_table(&d, run_result_compare(&r, 1, &d));
		html_format(&d, &out);
		text_release(&out);
		document_release(&d);
		run_result_release(&r);
	}
	free(text);
	return 0;
}
