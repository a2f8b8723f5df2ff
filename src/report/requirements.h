/* requirements.h - what users need to be shown, and which study shows it. */
#ifndef KOLM_REPORT_REQUIREMENTS_H
#define KOLM_REPORT_REQUIREMENTS_H

#include <stddef.h>

struct requirement {
	const char *id;	  /* "B3" */
	const char *what; /* in a few words */
	const char *how;  /* what to run to have it in a report */
};

extern const struct requirement requirements[];
extern const size_t requirement_count;

/* NULL: there is none of that id. */
const struct requirement *requirement_find(const char *id);

/* What all requirements with that first letter are about, or NULL. */
const char *requirement_group(char letter);

#endif
