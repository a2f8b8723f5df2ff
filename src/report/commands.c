/* commands.c - see commands.h */
#include "report/commands.h"
#include "base/util.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMANDS_MAX = 4096 };

struct command {
	char *text;
	int times;
};

/* "--run-dir any/where/NAME/runs/CASE-3" becomes "--run-dir NAME/CASE". */
static char *make_relative(const struct study *s, const char *line, size_t n)
{
	static const char option[] = " --run-dir ";
	char *copy = strndup(line, n), *at = copy ? strstr(copy, option) : NULL, *result = NULL;
	char *path = at ? at + strlen(option) : NULL, *rest, *name = NULL, *end;

	if (path) {
		rest = path + strcspn(path, " ");
		name = memrchr(path, '/', (size_t)(rest - path));
		end = rest;
		while (end > path && isdigit((unsigned char)end[-1]))
			end--;
		if (name && end > name && end[-1] == '-' &&
		    asprintf(&result, "%.*s%s%s%.*s%s", (int)(at - copy), copy, option, s->name,
			     (int)(end - 1 - name), name, rest) < 0)
			result = NULL;
	}
	if (!result)
		return copy;
	free(copy);
	return result;
}

static int collect(const struct study *s, struct command *list)
{
	int n = 0;

	for (const char *line = s->commands; line && *line && n < COMMANDS_MAX;) {
		size_t length = strcspn(line, "\n");
		char *text = make_relative(s, line, length);
		int i = 0;

		line += length + (line[length] == '\n');
		while (text && i < n && strcmp(list[i].text, text))
			i++;
		if (text && i == n)
			list[n++] = (struct command){text, 1};
		else if (text)
			list[i].times++, free(text);
	}
	return n;
}

void commands_add(const struct study *s, struct text *out)
{
	struct command *list = calloc(COMMANDS_MAX, sizeof(*list));
	int n = list ? collect(s, list) : 0, most = 1, least = INT_MAX;

	for (int i = 0; i < n; i++) {
		most = imax(most, list[i].times);
		least = imin(least, list[i].times);
	}
	if (n)
		text_addf(out, "# %s: %d command%s, each run %s%d time%s\n", s->title, n,
			  n == 1 ? "" : "s", least < most ? "up to " : "", most,
			  most == 1 ? "" : "s");
	for (int i = 0; i < n; i++) {
		text_addf(out, "%s\n", list[i].text);
		free(list[i].text);
	}
	free(list);
}

void commands_add_all(const struct sources *s, struct text *out)
{
	for (int i = 0; i < s->study_count; i++) {
		commands_add(&s->studies[i], out);
		text_add(out, "\n");
	}
}
