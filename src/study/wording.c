/* wording.c - texts of a study with the values that a plan has; see study.h */
#include "study/study.h"

#include <stdio.h>
#include <string.h>

enum { VALUES_MAX = 32 };

/* The value of an axis or option in a case; false: it has none. */
static bool value_of(const struct run_case *c, const char *name, char *buf, size_t size)
{
	for (int i = 0; i < c->axis_count; i++)
		if (!strcmp(c->axes[i].axis, name)) {
			snprintf(buf, size, "%s", c->axes[i].text);
			return true;
		}
	return json_object_get(c->options, name) &&
	       value_text(json_object_get(c->options, name), buf, size);
}

/* Its different values in the order of the cases: "1, 2 and 4". */
static bool add_values(const struct plan *p, const char *name, struct text *out)
{
	static char values[VALUES_MAX][STUDY_NAME_MAX];
	int n = 0;

	for (int i = 0; i < p->count && n < VALUES_MAX; i++) {
		int k = 0;

		if (!value_of(&p->cases[i], name, values[n], sizeof(values[n])))
			continue;
		while (strcmp(values[k], values[n]))
			k++;
		n += k == n;
	}
	for (int i = 0; i < n; i++)
		text_addf(out, "%s%s", i == 0 ? "" : i < n - 1 ? ", " : " and ", values[i]);
	return n > 0;
}

void plan_add_text(const struct plan *p, const char *text, struct text *out)
{
	const char *open, *close;

	while ((open = strchr(text, '{')) && (close = strchr(open, '}'))) {
		char name[STUDY_NAME_MAX];

		text_add_n(out, text, (size_t)(open - text));
		snprintf(name, sizeof(name), "%.*s", (int)(close - open - 1), open + 1);
		if (!add_values(p, name, out))
			text_add(out, name);
		text = close + 1;
	}
	text_add(out, text);
}
