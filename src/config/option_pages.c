/* option_pages.c - the man page from the option tables. */
#include "config/option.h"
#include "base/version.h"

#include <string.h>

/* Text for troff: a leading dot or quote is a request, a backslash an escape. */
static void put_troff(FILE *out, const char *text)
{
	bool line_start = true;

	for (; *text; text++) {
		if (line_start && (*text == '.' || *text == '\''))
			fputs("\\&", out);
		line_start = *text == '\n';
		if (*text == '-')
			fputs("\\-", out);
		else if (*text == '\\')
			fputs("\\e", out);
		else
			fputc(*text, out);
	}
}

static void put_choices(const struct option *o, FILE *out)
{
	for (int i = 0; o->choices && o->choices[i]; i++)
		fprintf(out, "%s%s", i ? "|" : "", o->choices[i]);
}

static void man_option(const struct option *o, FILE *out)
{
	fputs(".TP\n\\fB\\-\\-", out);
	put_troff(out, o->name);
	fputs("\\fR ", out);
	if (o->choices)
		put_choices(o, out);
	else if (o->meta)
		fprintf(out, "\\fI%s\\fR", o->meta);
	fputc('\n', out);
	put_troff(out, o->help);
	if (o->alias) {
		fputs(" (also \\fB\\-\\-", out);
		put_troff(out, o->alias);
		fputs("\\fR)", out);
	}
	if (*o->initial && o->type != OPTION_FLAG) {
		fputs(". Default: ", out);
		put_troff(out, o->initial);
	}
	fputs(".\n", out);
}

void options_print_man(const struct option_table *const *tables, size_t count, FILE *out)
{
	fprintf(out,
		".TH KOLM 1 \"\" \"kolm %s\"\n.SH NAME\nkolm \\- a parallel training engine\n"
		".SH SYNOPSIS\n\\fBkolm\\fR \\fICOMMAND\\fR [options]\n.SH DESCRIPTION\n"
		"kolm trains a stack of linear layers, measures every step and writes down what it "
		"measured.\nDashes and underscores are the same in every option's name.\n",
		KOLM_VERSION);
	for (size_t t = 0; t < count; t++) {
		const struct option_table *table = tables[t];

		fprintf(out, ".SH KOLM %s\n", table->command);
		put_troff(out, table->usage);
		fputs("\n.PP\n", out);
		put_troff(out, table->summary);
		fputc('\n', out);
		for (size_t i = 0; i < table->count; i++)
			man_option(&table->options[i], out);
		if (!table->examples)
			continue;
		fputs(".PP\nExamples:\n.nf\n", out);
		for (int i = 0; table->examples[i]; i++) {
			put_troff(out, table->examples[i]);
			fputc('\n', out);
		}
		fputs(".fi\n", out);
	}
	fputs(".SH EXIT STATUS\n0 done; 1 failed; 2 wrong usage or configuration; a failing rank's own "
	      "code, or 128 and its signal; 129, 130, 143 when stopped by SIGHUP, Ctrl\\-C, SIGTERM.\n",
	      out);
}
