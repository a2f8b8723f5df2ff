/*
 * folder.h - folders that belong to one process at a time, and temporary ones.
 *
 * Both are locked by whoever claimed or made them. The lock is the kernel's: it ends with
 * the process and those that it has forked, however they end. So a folder that can be
 * locked is in nobody's use, and half-written files in it are of somebody who was killed.
 */
#ifndef KOLM_BASE_FOLDER_H
#define KOLM_BASE_FOLDER_H

#include "base/error.h"

#include <limits.h>
#include <sys/types.h>

struct folder {
	char path[PATH_MAX]; /* "": none is ours */
	int fd;		     /* what is locked, if path is not ""; -1: locks are not possible */
	pid_t owner;	     /* a fork is not the owner */
	int made;	     /* so many folders at the end of the path are new */
};

/*
 * Make a folder ours; if it is not there, make it. The file .lock in it says who we are.
 * One that is in use is refused with the owner's process number; an owner that is about to
 * end has a moment for it. f is empty, and stays so on failure.
 */
enum status folder_claim(struct folder *f, const char *path, struct error *err);
/* Claim what an owner that was killed has left. False: it was left in order, or is in use. */
bool folder_inherit(struct folder *f, const char *path);
/* Has somebody claimed it? */
bool folder_is_used(const char *path);
/* Remove half-written files, and folders that were made in vain. Does nothing in who is not
   the owner, or if f is empty. */
void folder_release(struct folder *f);

/* A new folder of ours below TMPDIR, or /tmp. Those that killed processes of this user have
   left there go away. */
enum status folder_make_temporary(struct folder *f, const char *purpose, struct error *err);
/* With its files. */
void folder_remove_temporary(struct folder *f);

#endif
