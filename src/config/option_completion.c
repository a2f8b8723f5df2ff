/*
 * option_completion.c - the completion script for bash from the option tables.
 *
 * What can be completed is read from how values are written in the help: "auto|N" has the word
 * auto, "csv:FILE" the beginning csv:, FILE and FILE.json stand for files, DIR, FOLDER and RUN
 * for folders, NAME for the table's own names. Behind other capitals is what nobody can guess.
 */
#include "config/option.h"

#include <ctype.h>
#include <string.h>

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static void put_names(const struct option_table *table, FILE *out)
{
	const char *name;

	for (size_t i = 0; table->name && (name = table->name(i)); i++)
		fprintf(out, "%s ", name);
}

/* One of the alternatives of a form. */
static void put_alternative(const struct option_table *table, const char *form, FILE *out)
{
	int n = 0;

	while (form[n] && !isupper((unsigned char)form[n]) && !strchr("| ", form[n]))
		n++;
	if (n > 0)
		fprintf(out, "%.*s ", n, form);
	else if (begins(form, "FILE"))
		fputs("@file ", out);
	else if (begins(form, "DIR") || begins(form, "FOLDER") || begins(form, "RUN"))
		fputs("@folder ", out);
	else if (begins(form, "NAME"))
		put_names(table, out);
}

static const char *next_alternative(const char *form)
{
	form += strcspn(form, "|");
	return form + (*form == '|');
}

static void put_form(const struct option_table *table, const char *form, FILE *out)
{
	for (; *form; form = next_alternative(form))
		put_alternative(table, form, out);
}

/* What may follow an option. */
static void put_values(const struct option_table *table, const struct option *o, FILE *out)
{
	fprintf(out, "\t%s:--%s", table->command, o->name);
	if (o->alias)
		fprintf(out, "|%s:--%s", table->command, o->alias);
	fputs(o->type == OPTION_FLAG ? ") [ -n \"$3\" ] && echo \"true false" : ") echo \"",
	      out);
	for (int i = 0; o->choices && o->choices[i]; i++)
		fprintf(out, "%s ", o->choices[i]);
	if (o->zero)
		fprintf(out, "%s ", o->zero);
	if (o->meta)
		put_form(table, o->meta, out);
	fputs("\" ;;\n", out);
}

/* And a word that is followed by a name: "show NAME". */
static void put_followers(const struct option_table *table, FILE *out)
{
	for (const char *form = table->arguments; form && *form;
	     form = next_alternative(form)) {
		size_t word = strcspn(form, " |");

		if (form[word] != ' ')
			continue;
		fprintf(out, "\t%s:%.*s) echo \"", table->command, (int)word, form);
		put_alternative(table, form + word + 1, out);
		fputs("\" ;;\n", out);
	}
}

static void put_options(const struct option_table *table, FILE *out)
{
	fprintf(out, "\t%s) echo \"", table->command);
	for (size_t i = 0; i < table->count; i++) {
		fprintf(out, "--%s ", table->options[i].name);
		if (table->options[i].alias)
			fprintf(out, "--%s ", table->options[i].alias);
	}
	if (table->passes_on)
		fprintf(out, "$(_kolm_options %s)\" ;;\n", table->passes_on->command);
	else
		fputs("--help\" ;;\n", out);
}

static const char head[] =
	"# bash completion of kolm; to try it: source <(kolm completion)\n\n"
	"# What may follow a word of a command, with an = between them if $3 is one; @file and\n"
	"# @folder stand for those that there are. It fails where anything may follow.\n"
	"_kolm_values() {\n"
	"\tcase $1:$2 in\n";

/* Bash cuts words at = and :, unless it is told not to. */
static const char tail[] =
	"_kolm() {\n"
	"\tlocal command=${COMP_WORDS[1]} word=${COMP_WORDS[COMP_CWORD]} prefix= equals=\n"
	"\tlocal before=${COMP_WORDS[COMP_CWORD-1]} values kind=\n"
	"\tcase $word:$before in\n"
	"\t--*=*:*) prefix=${word%%=*}= before=${word%%=*} word=${word#*=} equals== ;;\n"
	"\t=:*) word= equals== ;;\n"
	"\t*:=) before=${COMP_WORDS[COMP_CWORD-2]} equals== ;;\n"
	"\t::*) word= before=: ;;\n"
	"\tesac\n"
	"\tcase $before in --*) before=${before//_/-} ;; esac\n"
	"\tif [ \"$COMP_CWORD\" = 1 ]; then\n"
	"\t\tvalues=\"$(_kolm_arguments help)man completion help version --help --version\"\n"
	"\telif [ \"$before\" = : ]; then\n"
	"\t\tvalues=@file\n"
	"\telif ! values=$(_kolm_values \"$command\" \"$before\" \"$equals\"); then\n"
	"\t\t[ \"${word#-}\" != \"$word\" ] || values=$(_kolm_arguments \"$command\")\n"
	"\t\t[ -n \"$values\" ] || values=$(_kolm_options \"$command\")\n"
	"\tfi\n"
	"\tcase $values in\n"
	"\t*@file*) kind=-f ;;\n"
	"\t*@folder*) kind=-d ;;\n"
	"\tesac\n"
	"\tCOMPREPLY=()\n"
	"\tif [ -n \"$kind\" ]; then\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -P \"$prefix\" $kind -- \"$word\")\n"
	"\t\tcompopt -o filenames 2>/dev/null\n"
	"\tfi\n"
	"\tvalues=${values//@file/} values=${values//@folder/}\n"
	"\tCOMPREPLY+=($(compgen -P \"$prefix\" -W \"$values\" -- \"$word\"))\n"
	"\tcase ${COMPREPLY[*]} in *:) compopt -o nospace 2>/dev/null ;; esac\n"
	"}\n"
	"complete -F _kolm kolm\n";

void options_print_completion(const struct option_table *const *tables, size_t count, FILE *out)
{
	fputs(head, out);
	for (size_t t = 0; t < count; t++) {
		for (size_t i = 0; i < tables[t]->count; i++)
			put_values(tables[t], &tables[t]->options[i], out);
		put_followers(tables[t], out);
		if (tables[t]->passes_on)
			fprintf(out, "\t%s:*) _kolm_values %s \"$2\" \"$3\" ;;\n",
				tables[t]->command, tables[t]->passes_on->command);
	}
	fputs("\t*) false ;;\n\tesac\n}\n_kolm_options() {\n\tcase $1 in\n", out);
	for (size_t t = 0; t < count; t++)
		put_options(tables[t], out);
	fputs("\tesac\n}\n_kolm_arguments() {\n\tcase $1 in\n\thelp) echo \"", out);
	for (size_t t = 0; t < count; t++)
		fprintf(out, "%s ", tables[t]->command);
	fputs("\" ;;\n", out);
	for (size_t t = 0; t < count; t++)
		if (tables[t]->arguments) {
			fprintf(out, "\t%s) echo \"", tables[t]->command);
			put_form(tables[t], tables[t]->arguments, out);
			fputs("\" ;;\n", out);
		}
	fputs("\tesac\n}\n", out);
	fputs(tail, out);
}
