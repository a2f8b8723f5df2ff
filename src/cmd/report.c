/* report.c - kolm report: studies and runs as one PDF file and one HTML page. */
#include "cmd/cmd.h"
#include "base/log.h"
#include "base/util.h"
#include "trace/compare.h"
#include "report/bundle.h"
#include "report/pdf.h"
#include "report/report.h"

#include <limits.h>
#include <stdio.h>

struct options {
	char out[PATH_MAX], bundle[PATH_MAX], title[256];
};

#define AT(member) .offset = offsetof(struct options, member)

static const struct option options[] = {
	{"out", .group = "Output", .type = OPTION_STRING, AT(out), .capacity = PATH_MAX - 64,
	 .reserved = true, .initial = ".", .meta = "FOLDER",
	 .help = "where report.pdf, report.html and commands.txt go"},
	{"bundle", .group = "Output", .type = OPTION_STRING, AT(bundle),
	 .capacity = PATH_MAX - 64, .reserved = true, .initial = "", .meta = "FILE.zip|FOLDER",
	 .help = "instead, all to hand in: these, tables as CSV and figures as SVG"},
	{"title", .group = "Output", .type = OPTION_STRING, AT(title), .capacity = 256,
	 .initial = "", .meta = "TEXT", .help = "the title of the report"},
};

static const char *const examples[] = {
	"kolm report studies-out",
	"kolm report studies-out/delay runs/demo --out report --title 'Scaling'",
	"kolm report runs/demo",
	"kolm report studies-out --bundle homework.zip   # all that is handed in",
	NULL,
};

const struct option_table report_table = {
	.command = "report",
	.usage = "kolm report DIR... [options]",
	.summary =
		"Write report.pdf, report.html and commands.txt from what kolm study and kolm train "
		"have left: tables, charts, timelines, answers, bottlenecks. A DIR is the folder of a "
		"study, of a run, or of several of them.",
	.options = options,
	.count = ARRAY_SIZE(options),
	.examples = examples,
	.positional = OPTION_POSITIONAL_MAX,
	.arguments = "DIR",
};

/* The whole bundle, or what a reader wants. */
static enum status write_files(const struct document *d, const struct sources *s,
			       const struct options *o, struct error *err)
{
	struct bundle b = {.files = NULL};
	enum status st;

	TRY(bundle_make(&b, d, s, *o->bundle, err));
	TRY(*o->bundle ? bundle_pack(&b, o->bundle, err) : bundle_write(&b, o->out, err));
	if (!pdf_library())
		log_info(
			"no report.pdf: kolm was built without cairo; install libcairo2-dev and "
			"fonts-dejavu-core and build again");
out:
	bundle_release(&b);
	return st;
}

/* A step as a run has recorded it: its stages, or its ranks where there is only one. The
   last one kept, if that one is not. */
static enum status read_timeline(const char *run, int step, struct timeline *out,
				 struct error *err)
{
	struct trace t = {0};
	struct comparison c = {0};
	enum status st;

	*out = (struct timeline){0};
	TRY(trace_load(&t, run, err));
	if (step < t.first_step || step > t.last_step)
		step = t.last_step;
	TRY(compare_step(&c, &t, step, t.grid.pp == 1, err));
	*out = c.measured;
	out->rows = NULL; /* they are numbered from 0 on */
	out->row = t.grid.pp == 1 ? "rank" : NULL;
	c.measured = (struct timeline){0};
	comparison_release(&c);
out:
	trace_release(&t);
	return st;
}

static enum status make(const struct options *o, const struct option_values *values,
			struct error *err)
{
	struct report_options how = {.title = o->title, .read_timeline = read_timeline};
	struct sources sources = {.studies = NULL};
	struct document document;
	enum status st = OK;

	document_init(&document);
	for (int i = 0; i < values->positionals; i++)
		TRY(sources_add(&sources, values->positional[i], err));
	TRY(report_build(&document, &sources, &how, err));
	TRY(write_files(&document, &sources, o, err));
out:
	document_release(&document);
	sources_release(&sources);
	return st;
}

enum status cmd_report(int argc, char *const *argv, struct error *err)
{
	struct options o = {.out = ""};
	struct option_values values;
	enum status st;

	options_init(&values, &report_table, &o);
	TRY(options_parse(&values, argc, argv, err));
	if (values.help) {
		options_print_help(&report_table, stdout);
		goto out;
	}
	if (!values.positionals) {
		st = FAIL(err, ERR_USAGE, "kolm report needs a folder");
		HINT(err, "such as 'kolm report studies-out', after 'kolm study all'");
		goto out;
	}
	TRY(make(&o, &values, err));
out:
	return st;
}
