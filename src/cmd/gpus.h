/* gpus.h - GPUs for commands: which --device is meant, and where what is built for them is
   kept. */
#ifndef KOLM_CMD_GPUS_H
#define KOLM_CMD_GPUS_H

#include "base/error.h"

#include <stddef.h>

/* Make "auto" the name of what is best here, and refuse a GPU that is not there: in one line,
   before anything is started. will_fork: by this process, after it. */
enum status gpus_resolve(char *device, size_t size, bool will_fork, struct error *err);

/* How many ranks "auto" means with that --device: as many as it has GPUs; 0: it has none. */
int gpus_count(const char *device);

/* What a device does, as kolm devices finds it: tried in a child of this process, which can
   fork then as before. */
struct gpu_speed {
	double gflops, gb_per_s; /* products of fp32; copies */
};
enum status gpus_measure(const char *name, struct gpu_speed *speed, struct error *err);

/* Below XDG_CACHE_HOME, or in the home folder; NULL if there is neither. */
const char *gpus_cache(void);

#endif
