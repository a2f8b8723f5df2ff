/* gpus.h - GPUs for commands: which --device is meant, and where what is built for them is
   kept. */
#ifndef KOLM_CMD_GPUS_H
#define KOLM_CMD_GPUS_H

#include "base/error.h"

#include <stddef.h>

/* Make "auto" the name of what is best here, and refuse a GPU that is not there: in one line,
   before anything is started. will_fork: by this process, after it. */
enum status gpus_resolve(char *device, size_t size, bool will_fork, struct error *err);

/* Below XDG_CACHE_HOME, or in the home folder; NULL if there is neither. */
const char *gpus_cache(void);

#endif
