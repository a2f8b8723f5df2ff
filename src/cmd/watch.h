/* watch.h - work on a text that may take long: how far it is, and Ctrl-C. */
#ifndef KOLM_CMD_WATCH_H
#define KOLM_CMD_WATCH_H

#include "text/tokenizer.h"

/* Shows how far it is, on a terminal, and has Ctrl-C stop it. */
struct text_watch watch_text(const char *what);
/* The line of it goes away. */
void watch_text_end(void);

#endif
