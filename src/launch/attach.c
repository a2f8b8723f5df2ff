/* attach.c - see attach.h */
#include "launch/attach.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/json.h"
#include "base/version.h"
#include "launch/board.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_LIMIT = 1 << 16 };

static const char NAME[] = "job.json";
static const char SCHEMA[] = "kolm.job/1";

/* What must be the same in who writes the board and who reads it. */
static int64_t layout(void)
{
	return (int64_t)(shm_layout() ^ sizeof(struct board_rank) << 8 ^
			 offsetof(struct board_rank, pulse) << 4);
}

static void host_name(char *buf, size_t size)
{
	memset(buf, 0, size);
	gethostname(buf, size - 1);
}

enum status attach_publish(const struct rank *r, const struct grid *grid, const char *folder,
			   struct error *err)
{
	char path[PATH_MAX], host[128], token[32];
	struct json j;
	enum status st;

	host_name(host, sizeof(host));
	snprintf(token, sizeof(token), "%016" PRIx64, shm_token(r->memory));
	json_init(&j, true);
	json_begin_object(&j, NULL);
	json_put_string(&j, "schema", SCHEMA);
	json_put_string(&j, "version", KOLM_VERSION);
	json_put_string(&j, "host", host);
	json_put_int(&j, "pid", getpid());
	json_put_int(&j, "fd", shm_fd(r->memory));
	json_put_string(&j, "token", token);
	json_put_int(&j, "layout", layout());
	json_put_int(&j, "ranks_here", r->locals);
	json_begin_object(&j, "grid");
	json_put_int(&j, "dp", grid->dp);
	json_put_int(&j, "pp", grid->pp);
	json_put_int(&j, "mp", grid->mp);
	json_end_object(&j);
	json_end_object(&j);
	TRY(file_path(path, folder, NAME, err));
	TRY(json_write_file(&j, path, err));
out:
	json_release(&j);
	return st;
}

void attach_withdraw(const char *folder)
{
	char path[PATH_MAX];

	if (*folder && file_path(path, folder, NAME, NULL) == OK)
		unlink(path);
}

/* A whole number within bounds. */
static bool read_int(const json_t *object, const char *name, int min, int max, int *out)
{
	const json_t *value = json_object_get(object, name);
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value) || number < min || number > max)
		return false;
	*out = (int)number;
	return true;
}

static bool read_token(const json_t *object, uint64_t *out)
{
	const char *text = json_string_value(json_object_get(object, "token"));
	char *end;

	if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
		return false;
	*out = strtoull(text, &end, 16);
	return true;
}

static bool read_grid(const json_t *root, struct attachment *a)
{
	const json_t *grid = json_object_get(root, "grid");

	return read_int(grid, "dp", 1, RANKS_MAX, &a->grid.dp) &&
	       read_int(grid, "pp", 1, RANKS_MAX / a->grid.dp, &a->grid.pp) &&
	       read_int(grid, "mp", 1, RANKS_MAX / a->grid.dp / a->grid.pp, &a->grid.mp) &&
	       read_int(root, "ranks_here", 1, RANKS_MAX, &a->locals) &&
	       a->locals <= grid_size(&a->grid);
}

/* Before the first step there are trials of it, and behind the last what is measured is
 * written.
 */
static enum status not_yet(const char *folder, struct error *err)
{
	FAIL(err, ERR_FAILED, "%.400s has not come to its steps yet, or is through with them",
	     folder);
	return HINT(err, "try again in a moment");
}

static enum status not_running(const char *folder, struct error *err)
{
	FAIL(err, ERR_FAILED, "%.400s is not running (any more)", folder);
	return HINT(err, "what it has measured is in its metrics.jsonl and summary.json");
}

static enum status forbidden(struct attachment *a, struct error *err)
{
	a->forbidden = true;
	FAIL(err, ERR_FAILED, "%.400s is a run of another user: %s", a->folder,
	     strerror(EACCES));
	return HINT(err, "start kolm top as that user");
}

/* Does the process that can't be looked at belong to who has written job.json? Otherwise
   somebody else has got its number. */
static bool is_theirs(const struct attachment *a, int code)
{
	char path[PATH_MAX];
	struct stat file, process;

	if (code != EACCES && code != EPERM && !(kill(a->pid, 0) && errno == EPERM))
		return false;
	if (file_path(path, a->folder, NAME, NULL) != OK || stat(path, &file))
		return false;
	snprintf(path, sizeof(path), "/proc/%d", a->pid);
	return stat(path, &process) || process.st_uid == file.st_uid;
}

static enum status unreadable(struct attachment *a, int code, struct error *err)
{
	if (is_theirs(a, code))
		return forbidden(a, err);
	if (code != ENODATA)
		return not_running(a->folder, err);
	FAIL(err, ERR_FAILED, "the status board of %.400s is cut short", a->folder);
	return HINT(err, "something has truncated the memory of process %d", a->pid);
}

enum status attach_look(struct attachment *a, struct error *err)
{
	return shm_look_again(a->memory) ? OK : unreadable(a, errno, err);
}

/* On which machine, and can we read what it has there? */
static enum status check_place(const json_t *root, const char *folder, struct error *err)
{
	const char *host = json_string_value(json_object_get(root, "host"));
	const json_t *theirs = json_object_get(root, "layout");
	char here[128];

	host_name(here, sizeof(here));
	if (host && strcmp(host, here)) {
		FAIL(err, ERR_FAILED, "%.300s was started on %.100s, and this is %s", folder,
		     host, here);
		return HINT(err, "start kolm top there");
	}
	if (!json_is_integer(theirs) || json_integer_value(theirs) != layout()) {
		FAIL(err, ERR_FAILED, "%.400s was started by another build of kolm", folder);
		return HINT(err, "watch it with the kolm that runs it");
	}
	return OK;
}

static enum status reach(struct attachment *a, const json_t *root, struct error *err)
{
	enum status st;
	uint64_t token;
	const char *schema = json_string_value(json_object_get(root, "schema"));

	if (!schema || strcmp(schema, SCHEMA) || !read_grid(root, a) ||
	    !read_token(root, &token) || !read_int(root, "pid", 1, INT_MAX, &a->pid) ||
	    !read_int(root, "fd", 0, INT_MAX, &a->fd)) {
		FAIL(err, ERR_USAGE, "%.300s/%s does not say where a run is", a->folder, NAME);
		return HINT(err, "a run writes it when it starts and removes it at its end");
	}
	TRY(check_place(root, a->folder, err));
	if (!shm_look(&a->memory, a->locals, a->pid, a->fd, token))
		st = unreadable(a, errno, err);
out:
	return st;
}

enum status attach_open(struct attachment *a, const char *folder, struct error *err)
{
	char path[PATH_MAX], *bytes = NULL;
	size_t size;
	struct stat found;
	json_t *root = NULL;
	enum status st;

	*a = (struct attachment){.memory = NULL};
	snprintf(a->folder, sizeof(a->folder), "%s", folder);
	TRY(file_path(path, folder, NAME, err));
	if (access(path, R_OK) && errno == EACCES) {
		st = forbidden(a, err);
		goto out;
	}
	if (stat(folder, &found) || !S_ISDIR(found.st_mode)) {
		FAIL(err, ERR_USAGE, "%.400s is not the folder of a run", folder);
		st = HINT(err, "give the folder that kolm train prints, such as runs/...");
		goto out;
	}
	if (access(path, F_OK)) {
		st = folder_is_used(folder) ? not_yet(folder, err) : not_running(folder, err);
		goto out;
	}
	TRY(file_read(path, FILE_LIMIT, &bytes, &size, err));
	root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
	TRY(reach(a, root, err));
out:
	json_decref(root);
	free(bytes);
	return st;
}

bool attach_alive(const struct attachment *a)
{
	return shm_still_there(a->memory, a->pid, a->fd);
}

void attach_close(struct attachment *a)
{
	shm_release(a->memory);
	a->memory = NULL;
}

/* Is the file of a newer run than the one that we have? */
static bool is_newer(const char *folder, struct timespec *newest)
{
	char path[PATH_MAX];
	struct stat st;

	if (file_path(path, folder, NAME, NULL) != OK || stat(path, &st))
		return false;
	if (st.st_mtim.tv_sec < newest->tv_sec ||
	    (st.st_mtim.tv_sec == newest->tv_sec && st.st_mtim.tv_nsec <= newest->tv_nsec))
		return false;
	*newest = st.st_mtim;
	return true;
}

enum status attach_newest(struct attachment *a, const char *runs, struct error *err)
{
	DIR *dir = opendir(runs);
	struct dirent *entry;
	struct timespec newest = {0};
	struct error refused = {.code = OK};

	*a = (struct attachment){.memory = NULL};
	while (dir && (entry = readdir(dir))) {
		struct attachment other;
		struct error why = {0};
		struct timespec when = newest;
		char folder[PATH_MAX];

		if (entry->d_name[0] == '.' ||
		    file_path(folder, runs, entry->d_name, NULL) != OK ||
		    !is_newer(folder, &when))
			continue;
		if (attach_open(&other, folder, &why) != OK) {
			if (other.forbidden)
				refused = why;
			continue;
		}
		attach_close(a);
		*a = other;
		newest = when;
	}
	if (dir)
		closedir(dir);
	if (a->memory)
		return OK;
	if (refused.code != OK)
		return error_copy(err, &refused);
	FAIL(err, ERR_FAILED, "no run below %s/ is running", runs);
	return HINT(err, "name its folder: kolm top RUN");
}
