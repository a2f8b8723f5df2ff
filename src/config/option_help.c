/* option_help.c - --help from the option table; see option.h */
#include "config/option.h"

#include <string.h>

enum { HELP_COLUMN = 32, HELP_WIDTH = 96 };

/* Print text wrapped at HELP_WIDTH; at is the column where the cursor stands. */
static void wrap(FILE *out, const char *text, int at)
{
	while (*text) {
		int n = (int)strcspn(text, " ");

		if (at > HELP_COLUMN && at + 1 + n > HELP_WIDTH) {
			fprintf(out, "\n%*s", HELP_COLUMN, "");
			at = HELP_COLUMN;
		}
		at += fprintf(out, "%s%.*s", at > HELP_COLUMN ? " " : "", n, text);
		text += n;
		text += strspn(text, " ");
	}
}

static void print_option(const struct option *o, FILE *out)
{
	int at = fprintf(out, "  --%s", o->name);

	if (o->type == OPTION_CHOICE) {
		for (int i = 0; o->choices[i]; i++)
			at += fprintf(out, "%c%s", i ? '|' : ' ', o->choices[i]);
	} else if (o->meta) {
		at += fprintf(out, " %s", o->meta);
	}
	if (at >= HELP_COLUMN - 1) {
		fprintf(out, "\n");
		at = 0;
	}
	fprintf(out, "%*s", HELP_COLUMN - at, "");
	wrap(out, o->help, HELP_COLUMN);
	if (o->alias)
		fprintf(out, " (also --%s)", o->alias);
	if (*o->initial && o->type != OPTION_FLAG)
		fprintf(out, " [%s]", o->initial);
	fprintf(out, "\n");
}

void options_print_help(const struct option_table *table, FILE *out)
{
	const char *group = "";

	fprintf(out, "usage: %s\n\n%s\n", table->usage, table->summary);
	for (size_t i = 0; i < table->count; i++) {
		const struct option *o = &table->options[i];

		if (strcmp(group, o->group)) {
			group = o->group;
			fprintf(out, "\n%s:\n", group);
		}
		print_option(o, out);
	}
	if (table->examples) {
		fprintf(out, "\nExamples:\n");
		for (int i = 0; table->examples[i]; i++)
			fprintf(out, "  %s\n", table->examples[i]);
	}
}
