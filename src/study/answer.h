/*
 * answer.h - the questions of a study, answered by claims about what was found.
 *
 * A question has an id, a verdict (a claim whose sentence is short), and claims that give
 * the reason and the numbers. It is answered once for this machine and once for simulated
 * devices, never both in one sentence, from the row that "at" chooses among those whose
 * ranks had a core each. docs/studies.md shows the form.
 */
#ifndef KOLM_STUDY_ANSWER_H
#define KOLM_STUDY_ANSWER_H

#include "study/claim.h"
#include "study/table.h"

/* Is every question right? */
enum status questions_check(const struct study *s, const char *where, struct error *err);

/*
 * All answers, an array the caller's: {id, question, verdict, supported, table, figures,
 * rows, parts: [{device, supported, verdict, sentences, claims}]}. NULL: no memory.
 */
json_t *answers_make(const struct tables *t);

/* Columns whose text is an observation ("observe": claims about their row). */
void observations_fill(struct results *r);

#endif
