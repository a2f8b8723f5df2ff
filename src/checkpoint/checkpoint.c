/* checkpoint.c - reading; see checkpoint.h */
#include "checkpoint/checkpoint.h"
#include "base/file.h"
#include "base/log.h"
#include "base/units.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { STATE_LIMIT = 64 << 20 };

const char *const checkpoint_file_names[CHECKPOINT_FILES] = {
	"model.safetensors", "optimizer.safetensors", "tokenizer.json"};

int64_t checkpoint_step_of(const char *name)
{
	int64_t step;

	if (strncmp(name, "step-", 5) || name[5] < '0' || name[5] > '9' ||
	    !units_parse_int(name + 5, &step))
		return -1;
	return step;
}

static enum status bad(const char *where, const char *what, struct error *err)
{
	FAIL(err, ERR_USAGE, "%.300s: %s", where, what);
	return HINT(err, "it was changed after it was written, or is no checkpoint of kolm");
}

/* The sum is that of everything before its own line, which is the last one. */
static enum status check_own_sum(const char *bytes, size_t size, const char *where,
				 struct error *err)
{
	static const char before[] = ",\n  \"sha256\": \"", behind[] = "\"\n}\n";
	size_t tail = strlen(before) + SHA256_TEXT - 1 + strlen(behind);
	char sum[SHA256_TEXT];
	const char *end;
	enum status st;

	if (size < tail)
		return bad(where, "it is cut", err);
	end = bytes + size - tail;
	if (memcmp(end, before, strlen(before)) ||
	    memcmp(bytes + size - strlen(behind), behind, strlen(behind)))
		return bad(where, "it does not end with its SHA-256", err);
	TRY(sha256_of(bytes, size - tail, sum, err));
	if (memcmp(end + strlen(before), sum, SHA256_TEXT - 1))
		return bad(where, "its SHA-256 is not what it says", err);
out:
	return st;
}

static enum status read_file_entry(struct checkpoint *c, const json_t *entry, const char *where,
				   struct error *err)
{
	const char *name = json_string_value(json_object_get(entry, "name"));
	const char *sum = json_string_value(json_object_get(entry, "sha256"));
	const json_t *size = json_object_get(entry, "size");

	for (int i = 0; name && i < CHECKPOINT_FILES; i++)
		if (!strcmp(name, checkpoint_file_names[i])) {
			if (c->files[i].there || !sum || strlen(sum) != SHA256_TEXT - 1 ||
			    !json_is_integer(size) || json_integer_value(size) < 0)
				break;
			c->files[i].there = true;
			c->files[i].size = (uint64_t)json_integer_value(size);
			memcpy(c->files[i].sha256, sum, SHA256_TEXT);
			return OK;
		}
	return bad(where, "an entry of its files is wrong", err);
}

enum status checkpoint_parse(struct checkpoint *c, const char *bytes, size_t size,
			     const char *where, struct error *err)
{
	const json_t *step, *files, *entry;
	const char *schema;
	json_error_t problem;
	enum status st;
	size_t i;

	*c = (struct checkpoint){0};
	TRY(check_own_sum(bytes, size, where, err));
	c->state = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &problem);
	if (!c->state) {
		st = bad(where, problem.text, err);
		goto out;
	}
	schema = json_string_value(json_object_get(c->state, "schema"));
	if (!schema || strcmp(schema, CHECKPOINT_SCHEMA)) {
		st = FAIL(err, ERR_USAGE, "%.300s has the schema '%.60s', this kolm reads %s",
			  where, schema ? schema : "none", CHECKPOINT_SCHEMA);
		HINT(err, "use the version of kolm that has written it");
		goto out;
	}
	step = json_object_get(c->state, "step");
	if (!json_is_integer(step) || json_integer_value(step) < 0) {
		st = bad(where, "it has no step", err);
		goto out;
	}
	c->step = json_integer_value(step);
	c->weights_only = !json_object_get(c->state, "optimizer");
	files = json_object_get(c->state, "files");
	json_array_foreach(files, i, entry) TRY(read_file_entry(c, entry, where, err));
	if (!c->files[PART_MODEL].there)
		st = bad(where, "it names no model.safetensors", err);
out:
	if (st != OK)
		checkpoint_close(c);
	return st;
}

static enum status check_sizes(const struct checkpoint *c, struct error *err)
{
	char path[PATH_MAX];
	struct stat info;
	enum status st = OK;

	for (int i = 0; i < CHECKPOINT_FILES; i++) {
		if (!c->files[i].there)
			continue;
		TRY(file_path(path, c->folder, checkpoint_file_names[i], err));
		if (stat(path, &info))
			return bad(path, "it is missing", err);
		if ((uint64_t)info.st_size != c->files[i].size) {
			FAIL(err, ERR_USAGE, "%.300s has %lld bytes, state.json says %llu",
			     path, (long long)info.st_size,
			     (unsigned long long)c->files[i].size);
			return HINT(err, "it was changed after it was written");
		}
	}
out:
	return st;
}

enum status checkpoint_open(struct checkpoint *c, const char *folder, struct error *err)
{
	char path[PATH_MAX], *bytes = NULL;
	size_t size;
	enum status st;

	*c = (struct checkpoint){0};
	TRY(file_path(path, folder, "state.json", err));
	TRY(file_read(path, STATE_LIMIT, &bytes, &size, err));
	TRY(checkpoint_parse(c, bytes, size, path, err));
	snprintf(c->folder, sizeof(c->folder), "%s", folder);
	TRY(check_sizes(c, err));
out:
	free(bytes);
	if (st != OK)
		checkpoint_close(c);
	return st;
}

enum status checkpoint_check(const struct checkpoint *c, struct error *err)
{
	char path[PATH_MAX], sum[SHA256_TEXT];
	uint64_t size;
	enum status st = OK;

	for (int i = 0; i < CHECKPOINT_FILES; i++) {
		if (!c->files[i].there)
			continue;
		TRY(file_path(path, c->folder, checkpoint_file_names[i], err));
		TRY(sha256_of_file(path, sum, &size, 0, NULL, err));
		if (strcmp(sum, c->files[i].sha256))
			return bad(path, "its SHA-256 is not what state.json says", err);
	}
out:
	return st;
}

void checkpoint_close(struct checkpoint *c)
{
	json_decref(c->state);
	*c = (struct checkpoint){0};
}

const char *checkpoint_tokenizer_sha256(const struct checkpoint *c)
{
	const json_t *data = json_object_get(c->state, "data");
	const char *sum = json_string_value(json_object_get(data, "tokenizer_sha256"));

	return sum ? sum : "";
}

/* ---- finding ---- */

static enum status open_and_check(struct checkpoint *c, const char *folder, bool sums,
				  struct error *err)
{
	enum status st;

	TRY(checkpoint_open(c, folder, err));
	if (!sums)
		return OK;
	st = checkpoint_check(c, err);
	if (st != OK)
		checkpoint_close(c);
out:
	return st;
}

/* The largest step below a limit, or -1. */
static int64_t newest_below(const char *place, int64_t limit)
{
	DIR *dir = opendir(place);
	struct dirent *entry;
	int64_t newest = -1;

	while (dir && (entry = readdir(dir))) {
		int64_t step = checkpoint_step_of(entry->d_name);

		if (step < limit && step > newest)
			newest = step;
	}
	if (dir)
		closedir(dir);
	return newest;
}

static enum status find_newest(struct checkpoint *c, const char *place, bool sums, bool *found,
			       struct error *err)
{
	char name[32], folder[PATH_MAX];
	enum status st = OK;

	for (int64_t step = INT64_MAX; (step = newest_below(place, step)) >= 0;) {
		struct error why = {0};

		snprintf(name, sizeof(name), "step-%lld", (long long)step);
		TRY(file_path(folder, place, name, err));
		*found = open_and_check(c, folder, sums, &why) == OK;
		if (*found)
			return OK;
		if (sums)
			log_warn("passed over: %s", why.msg);
	}
out:
	return st;
}

static bool is_folder(const char *path)
{
	struct stat info;

	return !stat(path, &info) && S_ISDIR(info.st_mode);
}

enum status checkpoint_find(struct checkpoint *c, const char *place, bool sums, bool *found,
			    struct error *err)
{
	char path[PATH_MAX];
	struct stat info;
	enum status st;

	*c = (struct checkpoint){0};
	*found = false;
	TRY(file_path(path, place, "state.json", err));
	if (!stat(path, &info)) {
		TRY(open_and_check(c, place, sums, err));
		*found = true;
		return OK;
	}
	TRY(file_path(path, place, CHECKPOINTS, err));
	TRY(find_newest(c, is_folder(path) ? path : place, sums, found, err));
out:
	return st;
}

enum status checkpoint_need(struct checkpoint *c, const char *place, struct error *err)
{
	enum status st;
	bool found;

	TRY(checkpoint_find(c, place, true, &found, err));
	if (!found) {
		FAIL(err, ERR_USAGE, "%.300s has no checkpoint that can be used", place);
		return HINT(err,
			    "give a run that was started with --save or --save-every, or a "
			    "folder step-N of its checkpoints");
	}
out:
	return st;
}
