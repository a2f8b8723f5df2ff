/* sources.c - see sources.h */
#include "report/sources.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PLAN_FILE_MAX = 1 << 24 };

static bool holds(const char *folder, const char *name)
{
	char path[PATH_MAX];

	return file_path(path, folder, name, NULL) == OK && !access(path, F_OK);
}

static enum status no_memory(struct error *err)
{
	return FAIL(err, ERR_MEMORY, "no memory for what the report is made from");
}

static enum status add_study(struct sources *s, const char *folder, struct error *err)
{
	struct study *studies =
		realloc(s->studies, (size_t)(s->study_count + 1) * sizeof(*studies));
	enum status st;

	if (!studies)
		return no_memory(err);
	s->studies = studies;
	TRY(study_read(&studies[s->study_count], folder, err));
	s->study_count++;
out:
	return st;
}

static enum status add_run(struct sources *s, const char *folder, struct error *err)
{
	struct run_result *runs = realloc(s->runs, (size_t)(s->run_count + 1) * sizeof(*runs));
	enum status st;

	if (!runs)
		return no_memory(err);
	s->runs = runs;
	TRY(run_result_read(&runs[s->run_count], folder, err));
	s->run_count++;
out:
	return st;
}

/* Planned again from what it says. */
static enum status add_plan(struct sources *s, const char *folder, struct error *err)
{
	struct plan **plans = realloc(s->plans, (size_t)(s->plan_count + 1) * sizeof(*plans));
	char path[PATH_MAX], *bytes = NULL;
	size_t size;
	enum status st;

	if (!plans)
		return no_memory(err);
	s->plans = plans;
	TRY(file_path(path, folder, "plan.json", err));
	TRY(file_read(path, PLAN_FILE_MAX, &bytes, &size, err));
	TRY(plan_read(&plans[s->plan_count], bytes, size, path, err));
	s->plan_count++;
out:
	free(bytes);
	return st;
}

/* The folder itself, if it is one of a study, a run or a plan; *found says so. */
static enum status add_one(struct sources *s, const char *folder, bool *found,
			   struct error *err)
{
	enum status st = OK;

	if (holds(folder, "result.json")) {
		*found = true;
		TRY(add_study(s, folder, err));
	} else if (holds(folder, "summary.json")) {
		*found = true;
		TRY(add_run(s, folder, err));
	} else if (holds(folder, "plan.json")) {
		*found = true;
		TRY(add_plan(s, folder, err));
	}
out:
	return st;
}

static enum status add_inner(struct sources *s, const char *folder, bool *found,
			     struct error *err)
{
	struct dirent **names = NULL;
	int n = scandir(folder, &names, NULL, alphasort);
	enum status st = OK;
	char path[PATH_MAX];

	for (int i = 0; i < n && st == OK; i++) {
		if (names[i]->d_name[0] == '.')
			continue;
		st = file_path(path, folder, names[i]->d_name, err);
		if (st == OK)
			st = add_one(s, path, found, err);
	}
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
	return st;
}

enum status sources_add(struct sources *s, const char *folder, struct error *err)
{
	struct stat info;
	bool found = false;
	enum status st;

	errno = 0;
	if (stat(folder, &info) || !S_ISDIR(info.st_mode)) {
		FAIL(err, ERR_USAGE, "%.400s is not a folder%s%s", folder, errno ? ": " : "",
		     errno ? strerror(errno) : "");
		return HINT(
			err,
			"give the folder of a study, of a run, of a plan, or of several of them");
	}
	TRY(add_one(s, folder, &found, err));
	if (!found)
		TRY(add_inner(s, folder, &found, err));
	if (!found) {
		st = FAIL(err, ERR_USAGE, "%.400s holds no study, no run and no plan", folder);
		HINT(err,
		     "'kolm study NAME --out DIR', 'kolm train --run-dir DIR' and 'kolm plan --out "
		     "DIR' make some");
	}
out:
	return st;
}

static int by_requirement(const void *a, const void *b)
{
	const struct study *x = a, *y = b;
	const char *first = study_requirement(x, 0), *second = study_requirement(y, 0);
	int order = strcmp(first ? first : "~", second ? second : "~");

	return order ? order : strcmp(x->name, y->name);
}

void sources_sort(struct sources *s)
{
	if (s->study_count)
		qsort(s->studies, (size_t)s->study_count, sizeof(*s->studies), by_requirement);
}

void sources_release(struct sources *s)
{
	for (int i = 0; i < s->study_count; i++)
		study_release(&s->studies[i]);
	for (int i = 0; i < s->run_count; i++)
		run_result_release(&s->runs[i]);
	for (int i = 0; i < s->plan_count; i++)
		plan_free(s->plans[i]);
	free(s->plans);
	free(s->studies);
	free(s->runs);
	*s = (struct sources){.studies = NULL};
}
