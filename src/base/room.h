/*
 * room.h - how much memory this process may still take, and who says so: limits of the
 * process (ulimit), of its container (cgroup), of the machine. (ulimit -m does nothing on
 * Linux.)
 */
#ifndef KOLM_BASE_ROOM_H
#define KOLM_BASE_ROOM_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum room_kind {
	ROOM_ADDRESSES, /* what it maps: ulimit -v */
	ROOM_OWN,	/* what it maps for itself alone: ulimit -d */
	ROOM_FILE,	/* the size of one file, or of shared memory: ulimit -f */
	ROOM_MEMORY,	/* free memory here, for all processes together */
};

struct room {
	uint64_t free; /* bytes; UINT64_MAX: as many as you like */
	char why[256]; /* "'ulimit -v 4000000' allows 3.8 GiB, of which 95.1 MiB are in use" */
};

struct room room_of(enum room_kind kind);

/* Fails if so many bytes more don't fit there: "WHAT needs 5.1 GiB, but ..." */
enum status room_check(enum room_kind kind, uint64_t bytes, const char *what,
		       struct error *err);

/* The limit of the process that next to nothing is left of: why some small thing could not
   be had. "" if there is none. */
void room_tightest(char *buf, size_t size);

/* The rest is for tests: what the cgroups of a process leave, below a folder like
   /sys/fs/cgroup and as told by a file like /proc/self/cgroup. */
struct room room_of_cgroups(const char *mount, const char *list);

#endif
