/* keep.c - which checkpoints stay, and what points to them; see store.h */
#include "checkpoint/store.h"
#include "base/file.h"
#include "checkpoint/impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder of plain files, with them. */
static void remove_folder(int place, const char *name)
{
	int fd = openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		unlinkat(fd, entry->d_name, 0);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	unlinkat(place, name, AT_REMOVEDIR);
}

/* What is no longer whole must not be called step-N. */
static void remove_checkpoint(int place, int64_t step)
{
	char name[32], temporary[64];

	snprintf(name, sizeof(name), "step-%lld", (long long)step);
	snprintf(temporary, sizeof(temporary), "step-%lld.tmp.%016llx", (long long)step,
		 (unsigned long long)step);
	remove_folder(place, temporary);
	if (!renameat(place, name, place, temporary))
		remove_folder(place, temporary);
}

void store_abort(const struct store *s)
{
	remove_folder(AT_FDCWD, s->temporary);
}

enum status store_point_to(const char *place, int64_t step, struct error *err)
{
	char path[PATH_MAX], line[64];
	enum status st;

	TRY(file_path(path, place, "latest", err));
	snprintf(line, sizeof(line), "step-%lld\n", (long long)step);
	TRY(file_write_whole(path, line, strlen(line), err));
out:
	return st;
}

enum status store_mark_best(const struct store *s, int64_t step, struct error *err)
{
	char path[PATH_MAX], temporary[PATH_MAX], name[32];
	enum status st;

	snprintf(name, sizeof(name), "step-%lld", (long long)step);
	TRY(file_path(path, s->place, "best", err));
	TRY(file_path(temporary, s->place, "best.tmp.0000000000000000", err));
	unlink(temporary);
	if (symlink(name, temporary) || rename(temporary, path))
		st = FAIL(err, ERR_FAILED, "can't write %.300s: %s", path, strerror(errno));
out:
	return st;
}

/* The number of checkpoints that are newer. */
static int count_newer(DIR *dir, int64_t step)
{
	struct dirent *entry;
	int n = 0;

	for (rewinddir(dir); (entry = readdir(dir));)
		n += checkpoint_step_of(entry->d_name) > step;
	return n;
}

/* One of those that are beyond the first keep and not the best, or -1. */
static int64_t find_old(DIR *dir, int keep, int64_t best)
{
	struct dirent *entry;
	int64_t oldest = -1;

	for (rewinddir(dir); (entry = readdir(dir));) {
		int64_t step = checkpoint_step_of(entry->d_name);

		if (step >= 0 && step != best && (oldest < 0 || step < oldest))
			oldest = step;
	}
	return oldest >= 0 && count_newer(dir, oldest) >= keep ? oldest : -1;
}

void store_prune(const char *place, int keep)
{
	DIR *dir = keep ? opendir(place) : NULL;
	char name[64] = "";
	int64_t step, best;

	if (!dir)
		return;
	(void)!readlinkat(dirfd(dir), "best", name, sizeof(name) - 1);
	best = checkpoint_step_of(name);
	while ((step = find_old(dir, keep, best)) >= 0) {
		remove_checkpoint(dirfd(dir), step);
		snprintf(name, sizeof(name), "step-%lld", (long long)step);
		if (!faccessat(dirfd(dir), name, F_OK, AT_SYMLINK_NOFOLLOW))
			break; /* it can't be removed */
	}
	closedir(dir);
}

static DIR *open_place(const char *run)
{
	char path[PATH_MAX];

	return file_path(path, run, CHECKPOINTS, NULL) == OK ? opendir(path) : NULL;
}

void store_tidy(const char *run)
{
	DIR *dir = open_place(run);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (!file_is_temporary(entry->d_name))
			continue;
		remove_folder(dirfd(dir), entry->d_name);
		unlinkat(dirfd(dir), entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
}

bool store_has_any(const char *run)
{
	DIR *dir = open_place(run);
	struct dirent *entry;
	bool any = false;

	while (dir && !any && (entry = readdir(dir)))
		any = checkpoint_step_of(entry->d_name) >= 0;
	if (dir)
		closedir(dir);
	return any;
}

void store_remove_all(const char *run)
{
	DIR *dir = open_place(run);
	struct dirent *entry;

	if (!dir)
		return;
	unlinkat(dirfd(dir), "latest", 0);
	unlinkat(dirfd(dir), "best", 0);
	while ((entry = readdir(dir)))
		if (checkpoint_step_of(entry->d_name) >= 0)
			remove_checkpoint(dirfd(dir), checkpoint_step_of(entry->d_name));
	closedir(dir);
}
