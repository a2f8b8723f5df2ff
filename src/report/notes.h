/* notes.h - what is said below many tables, said once instead. */
#ifndef KOLM_REPORT_NOTES_H
#define KOLM_REPORT_NOTES_H

#include "base/text.h"
#include "report/sources.h"

/* Take the sentences that three tables or more have below them out of their notes, and put
   each into out once. What is in brackets may differ, and is left out. */
void notes_collect(struct sources *s, struct text *out);

#endif
