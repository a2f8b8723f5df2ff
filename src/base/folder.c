/* folder.c - see folder.h */
#include "base/folder.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* An owner may be writing down who it is, or be dying; what a dead one has forked dies with
   it, but a large process takes its time. */
enum { PAUSE_MS = 20, PATIENCE_MS = 1000, PATIENCE_DEAD_MS = 10000 };

static const char TEMPORARY[] = "kolm-tmp-";

struct owner {
	int pid; /* 0: not known */
	char host[128];
};

static void host_name(char host[128])
{
	memset(host, 0, 128);
	gethostname(host, 127);
}

static bool is_here(const struct owner *o)
{
	char host[128];

	host_name(host);
	return !strcmp(o->host, host);
}

static void write_owner(int fd)
{
	char host[128];

	host_name(host);
	if (!ftruncate(fd, 0)) /* on a full disk it has no name */
		dprintf(fd, "%d %s\n", (int)getpid(), host);
}

static void read_owner(int fd, struct owner *o)
{
	char text[256] = "";

	*o = (struct owner){.pid = 0};
	if (pread(fd, text, sizeof(text) - 1, 0) <= 0 ||
	    sscanf(text, "%9d %127[-_.A-Za-z0-9]", &o->pid, o->host) != 2 || o->pid < 0)
		o->pid = 0;
}

static double patience_ms(const struct owner *o)
{
	bool dead = o->pid && is_here(o) && kill(o->pid, 0) && errno == ESRCH;

	return dead ? PATIENCE_DEAD_MS : PATIENCE_MS;
}

static enum status in_use(const char *path, const struct owner *o, struct error *err)
{
	if (!o->pid)
		FAIL(err, ERR_FAILED, "%.300s is in use by another process", path);
	else
		FAIL(err, ERR_FAILED, "%.300s is in use by process %d%s%s", path, o->pid,
		     is_here(o) ? "" : " on ", is_here(o) ? "" : o->host);
	return HINT(err, "wait for its end, or choose another folder");
}

/* Is it still this file that the name stands for? */
static bool is_same(int fd, const char *path)
{
	struct stat ours, there;

	return !fstat(fd, &ours) && !lstat(path, &there) && ours.st_dev == there.st_dev &&
	       ours.st_ino == there.st_ino;
}

/* Whoever else may write to the folder must not have us write to a file elsewhere. */
static int open_lock(const char *file, int create)
{
	int fd = open(file, O_RDWR | create | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
	struct stat info;

	if (fd < 0 || (!fstat(fd, &info) && S_ISREG(info.st_mode) && info.st_nlink <= 1))
		return fd;
	close(fd);
	errno = ELOOP;
	return -1;
}

enum attempt { TAKEN, BUSY, GONE, REFUSED, IMPOSSIBLE };

static enum attempt try_lock(struct folder *f, const char *file, int create, struct owner *o)
{
	enum attempt result;

	f->fd = open_lock(file, create);
	if (f->fd < 0)
		return errno == ENOENT ? GONE : REFUSED;
	if (!flock(f->fd, LOCK_EX | LOCK_NB)) {
		if (is_same(f->fd, file))
			return TAKEN;
		result = GONE; /* an owner removes it before it lets go */
	} else {
		result = errno == EWOULDBLOCK ? BUSY : IMPOSSIBLE;
	}
	if (result == BUSY)
		read_owner(f->fd, o);
	if (result == IMPOSSIBLE) {
		log_warn("can't lock %s: %s; nothing keeps a second run out of this folder",
			 file, strerror(errno));
		unlink(file);
	}
	close(f->fd);
	f->fd = -1;
	return result;
}

static enum status make_and_lock(struct folder *f, const char *path, const char *file,
				 struct error *err)
{
	struct timespec pause = {.tv_nsec = PAUSE_MS * 1000 * 1000};
	double start = clock_ms();
	struct owner o = {.pid = 0};
	enum status st;

	for (;; nanosleep(&pause, NULL)) {
		enum attempt attempt;
		int made = 0;

		TRY(file_make_folders(path, &made, err));
		f->made = imax(f->made, made);
		attempt = try_lock(f, file, O_CREAT, &o);
		if (attempt == TAKEN || attempt == IMPOSSIBLE)
			break;
		if (attempt == REFUSED) {
			FAIL(err, ERR_USAGE, "can't lock %s: %s", file,
			     errno == ELOOP ? "this is no file of kolm" : strerror(errno));
			return HINT(err, "remove it, or choose another folder");
		}
		if (clock_ms() - start > patience_ms(&o))
			return in_use(path, &o, err);
	}
out:
	return st;
}

/* What was being written when its writer was killed. */
static void sweep(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (file_is_temporary(entry->d_name))
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
}

static void become_owner(struct folder *f, const char *path)
{
	snprintf(f->path, sizeof(f->path), "%s", path);
	f->owner = getpid();
	if (f->fd < 0)
		return;
	write_owner(f->fd);
	sweep(path);
}

enum status folder_claim(struct folder *f, const char *path, struct error *err)
{
	char file[PATH_MAX];
	enum status st;

	*f = (struct folder){.fd = -1};
	TRY(file_path(file, path, ".lock", err));
	TRY(make_and_lock(f, path, file, err));
	become_owner(f, path);
out:
	if (st != OK)
		file_remove_folders(path, f->made);
	return st;
}

bool folder_inherit(struct folder *f, const char *path)
{
	char file[PATH_MAX];
	struct owner o;

	*f = (struct folder){.fd = -1};
	if (file_path(file, path, ".lock", NULL) != OK || try_lock(f, file, 0, &o) != TAKEN)
		return false;
	become_owner(f, path);
	return true;
}

bool folder_is_used(const char *path)
{
	char file[PATH_MAX];
	bool used = false;
	int fd = -1;

	if (file_path(file, path, ".lock", NULL) == OK)
		fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0) {
		used = flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
		close(fd);
	}
	return used;
}

void folder_release(struct folder *f)
{
	char file[PATH_MAX];

	if (!*f->path || f->owner != getpid())
		return;
	if (f->fd >= 0) {
		sweep(f->path);
		if (file_path(file, f->path, ".lock", NULL) == OK)
			unlink(file);
		close(f->fd);
	}
	file_remove_folders(f->path, f->made);
	*f = (struct folder){.fd = -1};
}

/* ---- temporary folders: the folder itself is locked ---- */

static void empty(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		unlinkat(fd, entry->d_name, 0);
	if (dir)
		closedir(dir);
	else if (copy >= 0)
		close(copy);
}

static void remove_dead(const char *tmp)
{
	DIR *dir = opendir(tmp);
	struct dirent *entry;
	struct stat info;

	while (dir && (entry = readdir(dir))) {
		int fd = -1;

		if (!strncmp(entry->d_name, TEMPORARY, strlen(TEMPORARY)))
			fd = openat(dirfd(dir), entry->d_name,
				    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!fstat(fd, &info) && info.st_uid == geteuid() &&
		    !flock(fd, LOCK_EX | LOCK_NB)) {
			empty(fd);
			unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
		}
		close(fd);
	}
	if (dir)
		closedir(dir);
}

enum status folder_make_temporary(struct folder *f, const char *purpose, struct error *err)
{
	const char *tmp = getenv("TMPDIR");
	char name[64];
	enum status st;

	*f = (struct folder){.fd = -1, .owner = getpid()};
	tmp = tmp && *tmp ? tmp : "/tmp";
	remove_dead(tmp);
	snprintf(name, sizeof(name), "%s%s-XXXXXX", TEMPORARY, purpose);
	for (;;) {
		TRY(file_path(f->path, tmp, name, err));
		if (!mkdtemp(f->path)) {
			FAIL(err, ERR_FAILED, "can't make a folder in %.200s: %s", tmp,
			     strerror(errno));
			st = HINT(err, "set TMPDIR to a folder that you may write to");
			goto out;
		}
		f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		/* Before it was locked, somebody may have taken it for a dead one's. */
		if (f->fd >= 0 && (!flock(f->fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK) &&
		    is_same(f->fd, f->path))
			break;
		if (f->fd >= 0)
			close(f->fd);
	}
out:
	if (st != OK)
		f->path[0] = '\0';
	return st;
}

void folder_remove_temporary(struct folder *f)
{
	if (!*f->path || f->owner != getpid())
		return;
	empty(f->fd);
	rmdir(f->path);
	close(f->fd);
	*f = (struct folder){.fd = -1};
}
