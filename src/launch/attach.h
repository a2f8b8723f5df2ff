/*
 * attach.h - watching the ranks of a run from another process of the same machine.
 *
 * Rank 0 says in RUN/job.json where the status board of its machine is. Nothing in that
 * file is trusted: it may be left over from a run that was killed, and its process number
 * may be somebody else's by now. A random number in the memory itself tells.
 */
#ifndef KOLM_LAUNCH_ATTACH_H
#define KOLM_LAUNCH_ATTACH_H

#include "launch/launch.h"
#include "launch/survey.h"

#include <limits.h>

/* In rank 0: let others watch, from now until attach_withdraw. */
enum status attach_publish(const struct rank *r, const struct grid *grid, const char *folder,
			   struct error *err);
void attach_withdraw(const char *folder);

struct attachment {
	char folder[PATH_MAX]; /* of the run */
	struct grid grid;
	int locals; /* ranks on its machine, which is this one */
	int pid, fd;
	struct shm_memory *memory; /* a copy: attach_look brings it up to date */
	bool forbidden;		   /* attach_open failed because it is another user's */
};

enum status attach_open(struct attachment *a, const char *folder, struct error *err);
/* The run below a folder that was started last, of those that are running. */
enum status attach_newest(struct attachment *a, const char *runs, struct error *err);
/* Look again. */
enum status attach_look(struct attachment *a, struct error *err);
/* Has it not ended yet? */
bool attach_alive(const struct attachment *a);
void attach_close(struct attachment *a);

#endif
