/* requirements.h - the chapters that requirements belong to. */
#ifndef KOLM_REPORT_REQUIREMENTS_H
#define KOLM_REPORT_REQUIREMENTS_H

/* What all requirements with that first letter are about, or NULL. */
const char *requirement_group(char letter);

#endif
