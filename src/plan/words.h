/* words.h - what tables of others call a schedule, or what is computed again. Only for plan/.
 */
#ifndef KOLM_PLAN_WORDS_H
#define KOLM_PLAN_WORDS_H

#include "plan/setup.h"

/* In any case of letters; -1: it is none. */
int words_schedule(const char *text);
int words_recompute(const char *text);
/* 0 or 1. */
int words_flag(const char *text);

#endif
