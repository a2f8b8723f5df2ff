/* resume.c - what is resumed has options too; see config.h */
#include "base/file.h"
#include "checkpoint/checkpoint.h"
#include "config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Has it a folder of checkpoints? Then it is one of a run. */
static bool is_run(const char *place)
{
	char path[PATH_MAX];
	struct stat info;

	return file_path(path, place, CHECKPOINTS, NULL) == OK && !stat(path, &info) &&
	       S_ISDIR(info.st_mode);
}

/* auto is for a run that begins: one that goes on stays what it is. */
static void keep_precision(struct config *c, const struct checkpoint *from)
{
	const json_t *options = json_object_get(from->state, "options");
	const char *name = json_string_value(json_object_get(options, "precision"));

	if (c->precision != PRECISION_AUTO)
		return;
	for (int k = 0; name && k < PRECISION_COUNT; k++)
		if (!strcmp(name, precision_names[k])) {
			c->precision = k;
			c->precision_kept = true;
		}
}

/* With --resume auto the command line says it all, but for that. */
static enum status look_for_precision(struct config *c, struct error *err)
{
	struct checkpoint from;
	enum status st;
	bool found;

	TRY(checkpoint_find(&from, c->run_dir, false, &found, err));
	if (found)
		keep_precision(c, &from);
	checkpoint_close(&from);
out:
	return st;
}

/* Those of the newest checkpoint, below what --config and the command line say. */
static enum status read_options(struct config *c, struct error *err)
{
	struct checkpoint from;
	char *text = NULL;
	enum status st;
	bool found;

	TRY(checkpoint_find(&from, c->resume, false, &found, err));
	if (!found) {
		FAIL(err, ERR_USAGE, "--resume %s: there is no checkpoint", c->resume);
		return HINT(err,
			    "give a run that was started with --save or --save-every, or a "
			    "folder step-N of its checkpoints");
	}
	text = json_dumps(json_object_get(from.state, "options"), 0);
	if (text)
		st = options_read_json(&c->values, text, strlen(text), from.folder, err);
	if (options_source(&c->values, "inject") == SOURCE_FILE)
		c->inject[0] = '\0'; /* the trouble was for that part of the run */
	keep_precision(c, &from);
	free(text);
	checkpoint_close(&from);
out:
	return st;
}

enum status config_read_resume(struct config *c, struct error *err)
{
	enum status st = OK;

	if (!*c->resume)
		return OK;
	if (!strcmp(c->resume, "auto")) {
		c->in_place = true;
		if (*c->run_dir)
			return look_for_precision(c, err);
		FAIL(err, ERR_USAGE, "--resume auto without --run-dir");
		return HINT(err, "name the folder that the run goes on in");
	}
	TRY(read_options(c, err));
	if (!*c->run_dir && is_run(c->resume))
		snprintf(c->run_dir, sizeof(c->run_dir), "%s", c->resume);
	c->in_place = *c->run_dir && file_is_same(c->run_dir, c->resume);
out:
	return st;
}
