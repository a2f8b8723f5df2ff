/* fuzz_study.c - a study's file; what is accepted can be made cases of, and tabulated. */
#include "fuzz.h"

#include "cmd/cmd.h"
#include "study/answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct study s;
	struct plan p;
	struct evidence e;
	struct columns c;
	struct tables t = {.study = &s, .plan = &p};
	struct error err = {0};

	if (study_load(&s, study_commands(), (const char *)data, size, "fuzz", &err) != OK)
		return 0;
	if (plan_init(&p, &s, &(struct plan_options){.cores = 2, .quick = size % 2}, &err) ==
	    OK) {
		const json_t *tables = json_object_get(s.root, "tables");
		struct text text;

		if (evidence_init(&e, &p, &err) != OK || columns_init(&c, &s, &err) != OK ||
		    results_init(&t.by_case, &c, &p, &e, false, &err) != OK ||
		    results_init(&t.by_rank, &c, &p, &e, true, &err) != OK)
			abort();
		observations_fill(&t.by_case);
		json_decref(answers_make(&t));
		text_init(&text);
		for (size_t i = 0; i < json_array_size(tables); i++)
			table_add_text(&t, json_array_get(tables, i), &text);
		text_release(&text);
		results_release(&t.by_case);
		results_release(&t.by_rank);
		columns_release(&c);
		evidence_release(&e);
		plan_release(&p);
	}
	study_unload(&s);
	return 0;
}
