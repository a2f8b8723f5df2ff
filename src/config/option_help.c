/* option_help.c - --help from the option table; see option.h */
#include "config/option.h"
#include "base/text.h"

#include <string.h>

enum { HELP_COLUMN = 28, HELP_WIDTH = 80 };

/* Text in lines from margin, where the cursor stands, to HELP_WIDTH. */
static void wrap(FILE *out, const char *text, int margin)
{
	int at = margin;

	while (*text) {
		int n = (int)strcspn(text, " \n");

		if (at > margin && at + 1 + n > HELP_WIDTH) {
			fprintf(out, "\n%*s", margin, "");
			at = margin;
		}
		at += fprintf(out, "%s%.*s", at > margin ? " " : "", n, text);
		text += n;
		if (*text == '\n') {
			fprintf(out, "\n%*s", margin, "");
			at = margin;
		}
		text += *text != '\0';
	}
}

static void print_option(const struct option *o, FILE *out)
{
	int at = fprintf(out, "  --%s", o->name);
	struct text about;

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
	text_init(&about);
	text_add(&about, o->help);
	if (o->alias)
		text_addf(&about, " (also --%s)", o->alias);
	if (*o->initial && o->type != OPTION_FLAG)
		text_addf(&about, " [%s]", o->initial);
	wrap(out, about.data, HELP_COLUMN);
	text_release(&about);
	fprintf(out, "\n");
}

void options_print_help(const struct option_table *table, FILE *out)
{
	const char *group = "";

	fprintf(out, "usage: %s\n\n", table->usage);
	wrap(out, table->summary, 0);
	fprintf(out, "\n");
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
