/* run_folder.c - whose the folder of a run is, and its first files; see run.h */
#include "base/clock.h"
#include "base/file.h"
#include "base/util.h"
#include "checkpoint/store.h"
#include "launch/attach.h"
#include "trace/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[] = {"config.json", "command.txt", "metrics.jsonl",
				    "summary.json", "timeline.json"};

/* Of a run that was killed: what is of no use to anybody goes. */
static void clear(struct folder *dead)
{
	attach_withdraw(dead->path);
	store_tidy(dead->path);
	folder_release(dead);
}

void run_tidy(const char *folder)
{
	struct folder dead;
	char path[PATH_MAX];

	if (file_path(path, folder, ".lock", NULL) == OK && !access(path, F_OK) &&
	    folder_claim(&dead, folder, NULL) == OK)
		clear(&dead);
}

static void tidy_all(const char *runs)
{
	DIR *dir = opendir(runs);
	struct dirent *entry;
	char path[PATH_MAX];
	struct folder dead;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && entry->d_type != DT_LNK &&
		    file_path(path, runs, entry->d_name, NULL) == OK &&
		    folder_inherit(&dead, path)) /* those in use are not waited for */
			clear(&dead);
	if (dir)
		closedir(dir);
}

/* A name that is new, also among runs of this second in other containers and machines. */
static enum status claim_new(struct run *r, struct error *err)
{
	char stamp[32], path[128];
	enum status st;
	int made;

	tidy_all("runs");
	clock_stamp(stamp, sizeof(stamp));
	for (int n = 1;; n++) {
		snprintf(path, sizeof(path), n > 1 ? "runs/%s-%d-%d" : "runs/%s-%d", stamp,
			 (int)getpid(), n);
		TRY(file_make_folders("runs", &made, err));
		if (!mkdir(path, 0777))
			break;
		if (errno != EEXIST) {
			st = FAIL(err, ERR_USAGE, "can't create the folder %s: %s", path,
				  strerror(errno));
			goto out;
		}
	}
	made++;
	st = folder_claim(&r->claim, path, err);
	if (st == OK)
		r->claim.made = made;
	else
		file_remove_folders(path, made);
out:
	return st;
}

static enum status check_unused(const char *folder, struct error *err)
{
	char path[PATH_MAX];
	enum status st = OK;
	struct stat found;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		TRY(file_path(path, folder, names[i], err));
		if (lstat(path, &found))
			continue;
		FAIL(err, ERR_USAGE, "%.300s holds the %s of another run", folder, names[i]);
		return HINT(err, "add --overwrite to replace that run, or choose another "
				 "folder");
	}
	if (events_has_any(folder)) {
		FAIL(err, ERR_USAGE, "%.300s holds the event files of another run", folder);
		return HINT(err, "add --overwrite to replace them, or choose another folder");
	}
	if (store_has_any(folder)) {
		FAIL(err, ERR_USAGE, "%.300s holds the checkpoints of another run", folder);
		return HINT(err, "--resume %.100s goes on with it, --overwrite replaces it",
			    folder);
	}
out:
	return st;
}

enum status run_claim(struct run *r, const char *folder, enum run_claims how, struct error *err)
{
	enum status st;

	TRY(*folder ? folder_claim(&r->claim, folder, err) : claim_new(r, err));
	snprintf(r->folder, sizeof(r->folder), "%s", r->claim.path);
	if (r->claim.fd >= 0)
		attach_withdraw(r->folder); /* of a run that was killed */
	store_tidy(r->folder);
	if (how == RUN_IS_NEW)
		TRY(check_unused(r->folder, err));
out:
	if (st != OK)
		run_release(r);
	return st;
}

void run_release(struct run *r)
{
	if (*r->claim.path && r->claim.owner == getpid()) {
		attach_withdraw(r->folder); /* rank 0 may not have come to it */
		store_tidy(r->folder);
	}
	folder_release(&r->claim);
}

static enum status open_metrics(struct run *r, int flags, struct error *err)
{
	json_init(&r->line, false);
	r->fd = open(r->metrics, O_WRONLY | O_CREAT | flags | O_NOFOLLOW | O_APPEND | O_CLOEXEC,
		     0666);
	if (r->fd >= 0)
		return OK;
	FAIL(err, ERR_USAGE, "can't write %s: %s", r->metrics, strerror(errno));
	HINT(err, "choose another place with --run-dir");
	run_close(r);
	return ERR_USAGE;
}

/* What an earlier run, or an earlier part of this one, has left must not be taken for its own.
 */
static enum status remove_files(const struct run *r, const char *but, struct error *err)
{
	char path[PATH_MAX];
	enum status st = OK;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (but && !strcmp(names[i], but))
			continue;
		TRY(file_path(path, r->folder, names[i], err));
		unlink(path);
	}
out:
	return st;
}

/* Cut metrics.jsonl behind the lines of the first steps. */
static void cut_metrics(const struct run *r, int64_t steps, double *first_loss)
{
	char *text = NULL, *line, *end;
	size_t size;

	*first_loss = NAN;
	if (file_read(r->metrics, SIZE_MAX / 8, &text, &size, NULL) != OK)
		return;
	for (line = text; (end = strchr(line, '\n')); line = end + 1) {
		json_t *object = json_loadb(line, (size_t)(end - line), 0, NULL);
		json_t *step = json_object_get(object, "step");
		bool stays = json_is_integer(step) && json_integer_value(step) < steps;

		if (line == text && stays && json_integer_value(step) == 0)
			*first_loss = json_number_value(json_object_get(object, "loss"));
		json_decref(object);
		if (!stays)
			break;
	}
	(void)!truncate(r->metrics, line - text);
	free(text);
}

enum status run_continue(struct run *r, int64_t steps, double *first_loss, struct error *err)
{
	enum status st;

	TRY(file_path(r->metrics, r->folder, "metrics.jsonl", err));
	cut_metrics(r, steps, first_loss);
	TRY(remove_files(r, "metrics.jsonl", err));
	TRY(open_metrics(r, 0, err));
out:
	return st;
}

enum status run_create(struct run *r, struct error *err)
{
	enum status st;

	TRY(remove_files(r, NULL, err));
	store_remove_all(r->folder);
	events_remove_all(r->folder);
	TRY(file_path(r->metrics, r->folder, "metrics.jsonl", err));
	TRY(open_metrics(r, O_EXCL, err));
out:
	return st;
}
void run_close(struct run *r)
{
	if (r->fd >= 0) {
		(void)!fsync(r->fd);
		close(r->fd);
	}
	r->fd = -1;
	events_close(&r->events);
	json_release(&r->line);
}
