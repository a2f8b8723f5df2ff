/* file.c - see file.h */
#include "base/file.h"
#include "base/util.h"
#include "base/room.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RANDOM_DIGITS = 16, VANISHED_MAX = 100 };

static const char MARK[] = ".tmp.";

/* A name that nobody can foresee, and a file that nobody has made before. */
static int open_temporary(struct file *f)
{
	uint64_t number;
	int fd;

	do {
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return -1;
		snprintf(f->temporary, sizeof(f->temporary), "%s%s%0*" PRIx64, f->path, MARK,
			 RANDOM_DIGITS, number);
		fd = open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			  0666);
	} while (fd < 0 && errno == EEXIST);
	return fd;
}

bool file_is_temporary(const char *name)
{
	size_t n = strlen(name), tail = strlen(MARK) + RANDOM_DIGITS;

	return n > tail && !strncmp(name + n - tail, MARK, strlen(MARK)) &&
	       strspn(name + n - RANDOM_DIGITS, "0123456789abcdef") == RANDOM_DIGITS;
}

enum status file_create(struct file *f, const char *path, struct error *err)
{
	f->fd = -1;
	if (strlen(path) >= sizeof(f->path))
		return FAIL(err, ERR_USAGE, "path of %zu characters is too long", strlen(path));
	snprintf(f->path, sizeof(f->path), "%s", path);
	f->fd = open_temporary(f);
	if (f->fd < 0) {
		FAIL(err, ERR_FAILED, "can't write %s: %s", path, strerror(errno));
		return HINT(err, "check that the folder exists and is writable");
	}
	return OK;
}

static enum status write_error(const char *path, struct error *err)
{
	int code = errno;

	FAIL(err, ERR_FAILED, "can't write %s: %s", path, strerror(code));
	if (code == ENOSPC || code == EDQUOT)
		return HINT(err, "free some space, or choose another place");
	if (code == EFBIG)
		return HINT(err, "%s", room_of(ROOM_FILE).why);
	return ERR_FAILED;
}

enum status file_write_fd(int fd, const char *path, const void *data, size_t size,
			  struct error *err)
{
	const char *p = data;

	while (size) {
		ssize_t n = write(fd, p, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return write_error(path, err);
		p += n;
		size -= (size_t)n;
	}
	return OK;
}

enum status file_write(struct file *f, const void *data, size_t size, struct error *err)
{
	return file_write_fd(f->fd, f->path, data, size, err);
}

enum status file_path(char path[PATH_MAX], const char *folder, const char *name,
		      struct error *err)
{
	/* Room for the suffix of a temporary name as well. */
	if (snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX - 32)
		return OK;
	FAIL(err, ERR_USAGE, "the path %.60s.../%s is too long", folder, name);
	return HINT(err, "choose a shorter name for the folder");
}

bool file_is_same(const char *a, const char *b)
{
	struct stat one, other;

	return !stat(a, &one) && !stat(b, &other) && one.st_dev == other.st_dev &&
	       one.st_ino == other.st_ino;
}

enum status file_check_below(const char *path, const char *folder, struct error *err)
{
	char part[PATH_MAX];
	size_t n = strlen(folder) + 1;
	struct stat found;

	assert(!strncmp(path, folder, n - 1));
	do {
		n += strcspn(path + n, "/");
		snprintf(part, sizeof(part), "%.*s", (int)n, path);
		if (!lstat(part, &found) && S_ISLNK(found.st_mode)) {
			FAIL(err, ERR_USAGE, "%.400s is a symbolic link", part);
			return HINT(err, "nothing is written through it; remove it");
		}
	} while (path[n++]);
	return OK;
}

static _Atomic bool hurried;

void file_hurry(void)
{
	hurried = true;
}

/* Make the new name itself survive a power cut. Failing here loses nothing. */
static void sync_folder(const char *path)
{
	char copy[PATH_MAX];
	int fd;

	snprintf(copy, sizeof(copy), "%s", path);
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)!fsync(fd);
	close(fd);
}

enum status file_commit(struct file *f, struct error *err)
{
	enum status st = OK;
	int fd = f->fd;

	f->fd = -1;
	if (!hurried && fsync(fd) && errno != EINVAL)
		st = write_error(f->path, err);
	if (close(fd) && st == OK)
		st = write_error(f->path, err);
	if (st == OK && rename(f->temporary, f->path))
		st = write_error(f->path, err);
	if (st == OK && !hurried)
		sync_folder(f->path);
	else if (st != OK)
		unlink(f->temporary);
	return st;
}

void file_abort(struct file *f)
{
	if (f->fd < 0)
		return;
	close(f->fd);
	f->fd = -1;
	unlink(f->temporary);
}

enum status file_write_whole(const char *path, const void *data, size_t size, struct error *err)
{
	enum status st;
	struct file f;

	TRY(file_create(&f, path, err));
	TRY(file_write(&f, data, size, err));
	TRY(file_commit(&f, err));
out:
	file_abort(&f);
	return st;
}

static enum status read_all(int fd, const char *path, char *data, size_t size,
			    struct error *err)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = read(fd, data + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return FAIL(err, ERR_USAGE, "can't read %s: %s", path, strerror(errno));
		if (n == 0)
			return FAIL(err, ERR_USAGE, "%s got shorter while it was read", path);
		done += (size_t)n;
	}
	return OK;
}

enum status file_read(const char *path, size_t limit, char **data, size_t *size,
		      struct error *err)
{
	enum status st;
	struct stat info;
	char *buf = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not hang us */

	if (fd < 0 || fstat(fd, &info)) {
		st = FAIL(err, ERR_USAGE, "can't read %s: %s", path, strerror(errno));
		HINT(err, "check the name and that you may read it");
		goto out;
	}
	if (!S_ISREG(info.st_mode)) {
		st = FAIL(err, ERR_USAGE, "can't read %s: not a regular file", path);
		HINT(err, "give the name of a file, not of a folder, device or pipe");
		goto out;
	}
	if ((size_t)info.st_size > limit) {
		st = FAIL(err, ERR_USAGE, "%s has %lld bytes, at most %zu are read", path,
			  (long long)info.st_size, limit);
		goto out;
	}
	buf = malloc((size_t)info.st_size + 1);
	if (!buf) {
		st = FAIL(err, ERR_MEMORY, "no memory for the %lld bytes of %s",
			  (long long)info.st_size, path);
		goto out;
	}
	TRY(read_all(fd, path, buf, (size_t)info.st_size, err));
	buf[info.st_size] = '\0';
	*data = buf;
	*size = (size_t)info.st_size;
	buf = NULL; /* the caller's now */
out:
	free(buf);
	if (fd >= 0)
		close(fd);
	return st;
}

/* A folder can't be had, and errno says why. */
static enum status no_folder(const char *path, const char *what, const char *hint,
			     struct error *err)
{
	int code = errno;

	FAIL(err, ERR_USAGE, "can't %s the folder %s: %s", what, path, strerror(code));
	HINT(err, "%s", hint);
	errno = code;
	return ERR_USAGE;
}

/* Make the folders of path one after the other; *made counts those that are new. */
static enum status make_each(char *path, int *made, struct error *err)
{
	for (char *p = path + 1;; p++) {
		char saved = *p;
		enum status st = OK;

		if (saved != '/' && saved != '\0')
			continue;
		*p = '\0';
		if (mkdir(path, 0777) == 0)
			++*made;
		else if (errno != EEXIST)
			st = no_folder(path, "create", "choose a folder that you may write to",
				       err);
		*p = saved;
		if (!saved || st != OK)
			return st;
	}
}

static enum status check_folder(const char *path, struct error *err)
{
	struct stat info;

	if (stat(path, &info))
		return no_folder(path, "find", "choose another name", err);
	if (!S_ISDIR(info.st_mode)) {
		FAIL(err, ERR_USAGE, "%s exists and is not a folder", path);
		HINT(err, "choose another name");
		errno = ENOTDIR;
		return ERR_USAGE;
	}
	if (access(path, W_OK | X_OK))
		return no_folder(path, "write to", "choose a folder that you may write to",
				 err);
	return OK;
}

void file_remove_folders(const char *path, int made)
{
	char copy[PATH_MAX];

	snprintf(copy, sizeof(copy), "%s", path);
	while (made > 0) {
		char *slash = strrchr(copy, '/');

		if (!rmdir(copy))
			made--; /* otherwise it was never made: those are further up */
		else if (errno == ENOTEMPTY && strcmp(slash ? slash + 1 : copy, ".."))
			break; /* in use, and by that name */
		if (!slash)
			break;
		*slash = '\0';
	}
}

enum status file_make_folders(const char *path, int *made, struct error *err)
{
	enum status st = OK;
	struct error why = {0};
	char copy[PATH_MAX];

	*made = 0;
	if (!*path || strlen(path) >= sizeof(copy) - 64) {
		FAIL(err, ERR_USAGE, "'%.60s' can't be the name of a folder", path);
		return HINT(err, *path ? "choose a shorter one" : "give it a name");
	}
	snprintf(copy, sizeof(copy), "%s", path);
	/* Whoever has made one of them in vain may remove it just now: then once more. */
	for (int tries = 0; tries < VANISHED_MAX; tries++) {
		int new = 0;

		error_clear(&why);
		st = make_each(copy, &new, &why);
		*made = imax(*made, new);
		if (st == OK)
			st = check_folder(path, &why);
		if (st == OK || errno != ENOENT)
			break;
	}
	if (st == OK)
		return OK;
	file_remove_folders(path, *made); /* leave nothing behind */
	return error_copy(err, &why);
}

enum status file_make_folder(const char *path, struct error *err)
{
	int made;

	return file_make_folders(path, &made, err);
}
