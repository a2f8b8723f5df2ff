/* config.c - reading the options of kolm train, and what must hold between them. */
#include "config/config.h"
#include "base/file.h"
#include "base/units.h"
#include "schedule/schedule.h"

#include <stdlib.h>
#include <string.h>

enum { CONFIG_FILE_LIMIT = 1 << 20 };

static enum status read_file(struct config *c, struct error *err)
{
	enum status st;
	char *bytes = NULL;
	size_t size;

	TRY(file_read(c->config_file, CONFIG_FILE_LIMIT, &bytes, &size, err));
	TRY(options_read_json(&c->values, bytes, size, c->config_file, err));
out:
	free(bytes);
	return st;
}

/* What a file says of a schedule or a cut that the command line has changed. */
static void drop_outdated(struct config *c)
{
	const struct option_values *v = &c->values;
	enum option_source pp = options_source(v, "pp"), depth = options_source(v, "depth");
	enum option_source schedule = options_source(v, "schedule");

	if (options_source(v, "chunks") == SOURCE_FILE && schedule == SOURCE_COMMAND_LINE)
		c->chunks = 0;
	if (options_source(v, "widths") == SOURCE_FILE &&
	    (depth == SOURCE_COMMAND_LINE || options_source(v, "dim") == SOURCE_COMMAND_LINE))
		c->widths[0] = '\0';
	if (options_source(v, "layers-per-stage") == SOURCE_FILE &&
	    (pp == SOURCE_COMMAND_LINE || depth == SOURCE_COMMAND_LINE ||
	     options_source(v, "widths") == SOURCE_COMMAND_LINE ||
	     schedule == SOURCE_COMMAND_LINE ||
	     options_source(v, "chunks") == SOURCE_COMMAND_LINE))
		c->layers_per_stage[0] = '\0';
}

static enum status bad_widths(const char *word, const char *why, struct error *err)
{
	FAIL(err, ERR_USAGE, "--widths: '%.32s' %s", word, why);
	return HINT(err,
		    "at least two numbers, such as 784,512,256,10, up to %d, for at most "
		    "%d layers",
		    DIM_MAX, DEPTH_MAX);
}

/* With --widths, --depth follows. */
static enum status read_widths(struct config *c, struct error *err)
{
	char copy[sizeof(c->widths)], *rest = copy, *word;
	int64_t width;

	if (!*c->widths)
		return OK;
	if (options_source(&c->values, "widths") == SOURCE_COMMAND_LINE &&
	    (options_source(&c->values, "dim") == SOURCE_COMMAND_LINE ||
	     options_source(&c->values, "depth") == SOURCE_COMMAND_LINE)) {
		FAIL(err, ERR_USAGE, "--widths contradicts --dim and --depth");
		return HINT(err, "leave one of them out");
	}
	strcpy(copy, c->widths);
	for (c->depth = -1; (word = strsep(&rest, ",")); c->depth++) {
		if (!units_parse_int(word, &width) || width < 1 || width > DIM_MAX)
			return bad_widths(word, "is no width", err);
		if (c->depth == DEPTH_MAX)
			return bad_widths(word, "is too much", err);
	}
	return c->depth < 1 ? bad_widths(c->widths, "has no layer", err) : OK;
}

/* A number is one of steps, anything else has a unit. */
static enum status read_save_every(struct config *c, struct error *err)
{
	int64_t steps;

	if (!*c->save_every)
		return OK;
	if (units_parse_int(c->save_every, &steps)) {
		c->save_every_steps = (int)steps;
		if (steps > 0 && steps <= INT_MAX)
			return OK;
	} else if (units_parse_time(c->save_every, &c->save_every_ms) &&
		   c->save_every_ms >= 1) {
		return OK;
	}
	FAIL(err, ERR_USAGE, "--save-every %s is neither a number of steps nor a time",
	     c->save_every);
	return HINT(err, "such as 100, 30s or 10min");
}

/* A share that was not asked for gives way to a file of its own. */
static enum status check_test(struct config *c, struct error *err)
{
	enum option_source holdout = options_source(&c->values, "holdout");

	if (!*c->test || !(c->holdout > 0))
		return OK;
	if (holdout != SOURCE_DEFAULT && holdout >= options_source(&c->values, "test")) {
		FAIL(err, ERR_USAGE, "--test contradicts --holdout %g", c->holdout);
		return HINT(err, "leave one of them out");
	}
	c->holdout = 0;
	return OK;
}

static enum status check_restarts(const struct config *c, struct error *err)
{
	if (!c->restarts || c->save || *c->save_every)
		return OK;
	FAIL(err, ERR_USAGE, "--restarts %d without checkpoints to go on from", c->restarts);
	return HINT(err, "add --save-every N");
}

static enum status validate(struct config *c, struct error *err)
{
	drop_outdated(c);
	if (config_check_language(c, err) != OK || read_widths(c, err) != OK ||
	    read_save_every(c, err) != OK || check_restarts(c, err) != OK ||
	    config_read_as_if(c, err) != OK || config_check_course(c, err) != OK ||
	    check_test(c, err) != OK)
		return err->code;
	if (c->amp) {
		if (options_source(&c->values, "precision") == SOURCE_COMMAND_LINE &&
		    c->precision != DTYPE_F16) {
			FAIL(err, ERR_USAGE, "--amp contradicts --precision %s",
			     config_precision_names[c->precision]);
			return HINT(err, "leave one of them out");
		}
		c->precision = DTYPE_F16;
	}
	if (c->chunks > 1 &&
	    schedule_check_chunks((enum schedule_kind)c->schedule, c->chunks, err) != OK)
		return err->code;
	if (c->quiet && c->verbose) {
		FAIL(err, ERR_USAGE, "--quiet contradicts --verbose");
		return HINT(err, "leave one of them out");
	}
	if (c->quiet && (c->progress == PROGRESS_SCREEN || c->progress == PROGRESS_RANKS)) {
		FAIL(err, ERR_USAGE, "--quiet contradicts --progress %s",
		     progress_names[c->progress]);
		return HINT(err, "leave one of them out");
	}
	return OK;
}

enum status config_read(struct config *c, int argc, char *const *argv, struct error *err)
{
	enum status st;

	memset(c, 0, sizeof(*c));
	options_init(&c->values, &config_table, c);
	TRY(options_parse(&c->values, argc, argv, err));
	if (c->values.help)
		return OK;
	if (*c->config_file)
		TRY(read_file(c, err));
	TRY(config_read_resume(c, err));
	TRY(validate(c, err));
out:
	return st;
}
