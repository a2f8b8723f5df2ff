/* plan.c - kolm plan: how long a step takes on machines that are not here. */
#include "cmd/plan.h"
#include "cmd/cmd.h"
#include "base/util.h"
#include "plan/cluster.h"

#define AT(member) .offset = offsetof(struct plan_settings, member)

/* clang-format off */
static const struct option options[] = {
	{"validate", .group = "Tables", .type = OPTION_STRING, AT(validate), .capacity = PATH_MAX,
	 .reserved = true, .initial = "", .meta = "FILE",
	 .help = "predict every row of this CSV file and print the errors (docs/plan.md has the columns)"},
	{"cluster", .group = "Machines", .type = OPTION_STRING, AT(cluster), .capacity = PATH_MAX,
	 .reserved = true, .initial = "", .meta = "NAME|FILE",
	 .help = "a built-in cluster or a file that describes one; with --validate: instead of those that the rows name"},
	{"json", .group = "Output", .type = OPTION_FLAG, AT(as_json), .initial = "false",
	 .help = "print one JSON document instead of text"},
};
/* clang-format on */

static const char *const examples[] = {
	"kolm plan --validate measured.csv",
	"kolm plan --validate measured.csv --cluster clusters/a100-vtrain.json --json",
	NULL,
};

const struct option_table plan_table = {
	.command = "plan",
	.usage = "kolm plan --validate FILE [options]",
	.summary = "Predict how long a training step takes and how much memory it needs on a "
		   "cluster that is described by its constants.",
	.options = options,
	.count = ARRAY_SIZE(options),
	.examples = examples,
};

enum status cmd_plan(int argc, char *const *argv, struct error *err)
{
	struct plan_settings o = {.as_json = false};
	struct option_values values;
	enum status st;

	options_init(&values, &plan_table, &o);
	TRY(options_parse(&values, argc, argv, err));
	if (values.help) {
		options_print_help(&plan_table, stdout);
		goto out;
	}
	if (!*o.validate) {
		FAIL(err, ERR_USAGE, "nothing to plan: no table is given");
		st = HINT(err, "give --validate FILE");
		goto out;
	}
	TRY(plan_validate(&o, err));
out:
	return st;
}
