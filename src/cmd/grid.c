/* grid.c - kolm grid: which rank is where, and the groups that it is in. */
#include "cmd/cmd.h"
#include "base/machine.h"
#include "base/file.h"
#include "base/json.h"
#include "base/util.h"
#include "grid/draw.h"
#include "grid/grid.h"
#include "launch/launch.h"

#include <limits.h>
#include <stdio.h>

struct options {
	struct grid grid;
	bool as_json;
	char svg[PATH_MAX];
};

#define AT(member) .offset = offsetof(struct options, member)
#define SIZE(member)                                                                     \
	.group = "Grid", .type = OPTION_INT, AT(member), .initial = "1", .zero = "auto", \
	.meta = "N", .min = 1, .max = RANKS_MAX

/* clang-format off */
static const struct option options[] = {
	{"dp", SIZE(grid.dp), .help = "data-parallel replicas; auto: what the others leave of the ranks or cores"},
	{"pp", SIZE(grid.pp), .help = "pipeline stages, or auto"},
	{"mp", "tp", SIZE(grid.mp), .help = "ways to split each layer (tensor parallel), or auto"},

	{"json", .group = "Output", .type = OPTION_FLAG, AT(as_json), .initial = "false",
	 .help = "print one JSON document instead of text"},
	{"svg", .group = "Output", .type = OPTION_STRING, AT(svg), .capacity = PATH_MAX,
	 .reserved = true, .initial = "", .meta = "FILE", .help = "draw it into this file"},
};
/* clang-format on */

static const char *const examples[] = {
	"kolm grid --dp 2 --pp 2 --mp 2",
	"kolm grid --dp auto --svg grid.svg",
	NULL,
};

const struct option_table grid_table = {
	.command = "grid",
	.usage = "kolm grid [options]",
	.summary =
		"Show which rank has which part of the model, and the groups that ranks form.",
	.options = options,
	.count = ARRAY_SIZE(options),
	.examples = examples,
};

static void put_ranks(const struct grid *g, struct json *j)
{
	json_begin_array(j, "ranks");
	for (int rank = 0; rank < grid_size(g); rank++) {
		struct coords c = grid_coords(g, rank);

		json_begin_object(j, NULL);
		json_put_int(j, "rank", rank);
		json_put_int(j, "dp", c.dp);
		json_put_int(j, "pp", c.pp);
		json_put_int(j, "mp", c.mp);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_groups(const struct grid *g, enum grid_axis axis, struct json *j)
{
	int ranks[RANKS_MAX];

	json_begin_array(j, grid_axis_name(axis));
	for (int rank = 0; rank < grid_size(g); rank++) {
		int n = grid_group(g, rank, axis, ranks);

		if (ranks[0] != rank)
			continue; /* a group is listed at its first rank */
		json_begin_array(j, NULL);
		for (int i = 0; i < n; i++)
			json_put_int(j, NULL, ranks[i]);
		json_end_array(j);
	}
	json_end_array(j);
}

static void put_json(const struct grid *g, struct json *j)
{
	json_begin_object(j, NULL);
	json_put_int(j, "dp", g->dp);
	json_put_int(j, "pp", g->pp);
	json_put_int(j, "mp", g->mp);
	put_ranks(g, j);
	json_begin_object(j, "groups");
	for (int axis = 0; axis < GRID_AXIS_COUNT; axis++)
		put_groups(g, (enum grid_axis)axis, j);
	json_end_object(j);
	json_end_object(j);
}

static enum status write_svg(const char *path, const struct grid *g, struct error *err)
{
	struct text svg;
	enum status st;

	text_init(&svg);
	grid_draw_svg(g, &svg);
	st = svg.failed ? FAIL(err, ERR_MEMORY, "no memory to draw the grid")
			: file_write_whole(path, svg.data, svg.len, err);
	text_release(&svg);
	return st;
}

static enum status show(const struct options *o, struct error *err)
{
	struct json json;
	enum status st = OK;

	json_init(&json, true);
	if (*o->svg)
		TRY(write_svg(o->svg, &o->grid, err));
	if (o->as_json)
		put_json(&o->grid, &json);
	else
		grid_draw_text(&o->grid, &json.text);
	if (json.text.failed)
		st = FAIL(err, ERR_MEMORY, "no memory to show the grid");
	else
		fputs(json.text.data, stdout);
out:
	json_release(&json);
	return st;
}

enum status cmd_grid(int argc, char *const *argv, struct error *err)
{
	struct options o = {.as_json = false};
	struct option_values values;
	struct launcher by;
	bool launched = launcher_detect(&by);
	enum status st;

	options_init(&values, &grid_table, &o);
	TRY(options_parse(&values, argc, argv, err));
	if (values.help) {
		options_print_help(&grid_table, stdout);
		goto out;
	}
	TRY(grid_resolve(&o.grid, launched ? by.ranks : machine_cores(), launched, err));
	TRY(show(&o, err));
out:
	return st;
}
