/*
 * file.h - files that are written whole or not at all, and read with a limit.
 */
#ifndef KOLM_BASE_FILE_H
#define KOLM_BASE_FILE_H

#include "base/error.h"

#include <limits.h>
#include <stddef.h>

/*
 * A file under construction: a temporary name beside the final one. Either
 * file_commit puts it in place (flushed to disk, renamed) or file_abort removes it. What
 * others have put in the way, a link above all, is replaced, never written to.
 */
struct file {
	int fd; /* -1 when closed */
	char path[PATH_MAX];
	char temporary[PATH_MAX + 32];
};

enum status file_create(struct file *f, const char *path, struct error *err);
enum status file_write(struct file *f, const void *data, size_t size, struct error *err);
enum status file_commit(struct file *f, struct error *err);
/* Does nothing after file_commit or a failed file_create. */
void file_abort(struct file *f);
/* This process is about to be killed: from now on nothing waits for the disk. */
void file_hurry(void);
/* Is this the name of one that is under construction, or of one whose writer was killed? */
bool file_is_temporary(const char *name);

/* The four calls above in one. */
enum status file_write_whole(const char *path, const void *data, size_t size,
			     struct error *err);

/* Write all of it to an open file; path names it in messages. */
enum status file_write_fd(int fd, const char *path, const void *data, size_t size,
			  struct error *err);

/* folder/name, if that is not too long. */
enum status file_path(char path[PATH_MAX], const char *folder, const char *name,
		      struct error *err);

/* Do two names stand for the same file or folder, which is there? */
bool file_is_same(const char *a, const char *b);

/* Refuse a path below folder that a symbolic link leads out of it; what is not there yet is
   fine. */
enum status file_check_below(const char *path, const char *folder, struct error *err);

/* Read a file of at most limit bytes; *data is the caller's, with a '\0' behind it. */
enum status file_read(const char *path, size_t limit, char **data, size_t *size,
		      struct error *err);

/* Create a folder and the folders above it. One that exists is fine. */
enum status file_make_folder(const char *path, struct error *err);

/* The same; *made says how many of them are new. file_remove_folders takes these back, if
   they are empty. */
enum status file_make_folders(const char *path, int *made, struct error *err);
void file_remove_folders(const char *path, int made);

#endif
