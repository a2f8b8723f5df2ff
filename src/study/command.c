/* command.c - the command line of a case; see study.h */
#include "study/study.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum status add(struct case_args *a, const char *word, struct error *err)
{
	if (a->argc == CASE_ARGS_MAX - 1)
		return FAIL(err, ERR_USAGE, "a case has more than %d arguments", a->argc);
	a->argv[a->argc] = strdup(word);
	if (!a->argv[a->argc++])
		return FAIL(err, ERR_MEMORY, "no memory for the arguments of a case");
	return OK;
}

static enum status add_option(struct case_args *a, const char *name, const json_t *value,
			      struct error *err)
{
	char word[STUDY_NAME_MAX + 3], text[1024];
	enum status st;

	if (json_is_false(value))
		return OK;
	snprintf(word, sizeof(word), "--%s", name);
	TRY(add(a, word, err));
	if (!json_is_true(value) && value_text(value, text, sizeof(text)))
		TRY(add(a, text, err));
out:
	return st;
}

/* Options of kolm train that kolm max-batch would take as contradictions. */
static bool is_left_out(const struct run_case *c, const char *name)
{
	return !strcmp(c->command, "max-batch") &&
	       (!strcmp(name, "batch") || !strcmp(name, "steps") || !strcmp(name, "warmup"));
}

enum status case_args_init(struct case_args *a, const struct run_case *c, const char *folder,
			   struct error *err)
{
	const char *name;
	json_t *value;
	enum status st;

	*a = (struct case_args){.argc = 0};
	TRY(add(a, c->command, err));
	json_object_foreach(c->options, name, value)
	{
		if (!is_left_out(c, name))
			TRY(add_option(a, name, value, err));
	}
	if (c->place == PLACE_VIRTUAL) {
		TRY(add(a, "--device", err));
		TRY(add(a, c->device, err));
	}
	if (strcmp(c->command, "train")) {
		TRY(add(a, "--json", err));
	} else {
		TRY(add(a, "--quiet", err));
		TRY(add(a, "--run-dir", err));
		TRY(add(a, folder, err));
		TRY(add(a, "--overwrite", err)); /* what was not finished there */
	}
out:
	if (st != OK)
		case_args_release(a);
	return st;
}

void case_args_release(struct case_args *a)
{
	for (int i = 0; i < a->argc; i++)
		free(a->argv[i]);
	*a = (struct case_args){.argc = 0};
}

void case_args_format(const struct case_args *a, bool without_folder, struct text *out)
{
	text_add(out, "kolm");
	for (int i = 0; i < a->argc; i++) {
		if (without_folder && !strcmp(a->argv[i], "--run-dir"))
			return;
		text_add(out, " ");
		text_add_quoted(out, a->argv[i]);
	}
}
