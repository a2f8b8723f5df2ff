/* commands.h - the commands of all studies of a report: what to run to have every number. */
#ifndef KOLM_REPORT_COMMANDS_H
#define KOLM_REPORT_COMMANDS_H

#include "base/text.h"
#include "report/sources.h"

/* Every command of a study once, with how often it was run; folders are relative. */
void commands_add(const struct study *s, struct text *out);
/* Of all studies, as a script for a shell. */
void commands_add_all(const struct sources *s, struct text *out);

#endif
