/*
 * progress.h - the live screen that the supervisor draws on standard error.
 *
 * The ranks' standard error goes through a pipe meanwhile: what they say stands above the
 * screen, and at the end of the run below it. Every function takes NULL for no screen.
 */
#ifndef KOLM_LAUNCH_PROGRESS_H
#define KOLM_LAUNCH_PROGRESS_H

#include "comm/shm/shm.h"
#include "launch/launch.h"

struct progress; /* opaque */

/* NULL if l wants none. */
enum status progress_open(struct progress **out, const struct launch *l,
			  struct shm_memory *memory, struct error *err);
void progress_free(struct progress *p);

/* In a rank: what it says goes to the supervisor from now on. */
void progress_join(const struct progress *p);

/* Called often: draws if it is time to. */
void progress_update(struct progress *p);
/* The job was stopped and goes on: others have written on the terminal. */
void progress_resume(struct progress *p);
/* The last frame, and what ranks have said until now. Nothing is drawn after it. */
void progress_end(struct progress *p);

#endif
