/* result.h - what a study leaves in its folder: result.json, and every table as CSV and
   Markdown. kolm report reads it. */
#ifndef KOLM_STUDY_RESULT_H
#define KOLM_STUDY_RESULT_H

#include "study/answer.h"

struct result {
	const struct tables *tables;
	const json_t *answers; /* as answers_make made them */
	const char *folder;
	bool quick, complete;
};

enum status result_write(const struct result *r, struct error *err);
/* Tables and answers for a person. */
void result_print(const struct result *r);

#endif
