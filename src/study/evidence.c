/* evidence.c - reading what the runs have written; see results.h */
#include "study/results.h"
#include "base/file.h"

#include <stdlib.h>
#include <string.h>

enum { DOCUMENT_MAX = 64 << 20 };

enum status evidence_init(struct evidence *e, const struct plan *p, struct error *err)
{
	size_t runs = (size_t)p->count * (size_t)p->reps;

	*e = (struct evidence){.cases = p->count, .reps = p->reps};
	e->documents = calloc(runs, sizeof(json_t *));
	e->failed = calloc((size_t)p->count, sizeof(*e->failed));
	if (e->documents && e->failed)
		return OK;
	free(e->documents);
	free(e->failed);
	*e = (struct evidence){0};
	return FAIL(err, ERR_MEMORY, "no memory for the results of %d cases", p->count);
}

void evidence_put(struct evidence *e, const struct plan *p, int index, int rep,
		  json_t *document)
{
	bool once = plan_runs_of(p, &p->cases[index]) == 1;

	for (int k = once ? 0 : rep; k < (once ? e->reps : rep + 1); k++)
		e->documents[index * e->reps + k] = json_incref(document);
	json_decref(document);
}

int evidence_runs(const struct evidence *e, const struct plan *p)
{
	int runs = 0;

	for (int i = 0; i < p->count; i++)
		for (int rep = 0; rep < plan_runs_of(p, &p->cases[i]); rep++)
			runs += e->documents[i * e->reps + rep] != NULL;
	return runs;
}

void evidence_release(struct evidence *e)
{
	for (int i = 0; i < e->cases * e->reps; i++)
		json_decref(e->documents[i]);
	for (int i = 0; i < e->cases; i++)
		free(e->failed[i]);
	free(e->documents);
	free(e->failed);
	*e = (struct evidence){0};
}

static json_t *read_json(const char *folder, const char *name)
{
	char path[PATH_MAX], *bytes = NULL;
	size_t size;
	json_t *document = NULL;

	if (file_path(path, folder, name, NULL) == OK &&
	    file_read(path, DOCUMENT_MAX, &bytes, &size, NULL) == OK)
		document = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
	free(bytes);
	return document;
}

/* The first and the last line of metrics.jsonl, and how many steps had a loss that is no
   number. */
static void add_steps(json_t *document, const char *folder)
{
	char path[PATH_MAX], *bytes = NULL, *rest, *line;
	size_t size;
	int bad = 0;

	if (file_path(path, folder, "metrics.jsonl", NULL) != OK ||
	    file_read(path, DOCUMENT_MAX, &bytes, &size, NULL) != OK)
		return;
	rest = bytes;
	while ((line = strsep(&rest, "\n")) && *line) {
		json_t *step = json_loads(line, 0, NULL);

		bad += json_is_null(json_object_get(step, "loss"));
		if (step && !json_object_get(document, "first_step"))
			json_object_set(document, "first_step", step);
		if (step)
			json_object_set(document, "last_step", step);
		json_decref(step);
	}
	json_object_set_new(document, "nonfinite_losses", json_integer(bad));
	free(bytes);
}

json_t *evidence_read(const char *folder, const char *command)
{
	bool train = !strcmp(command, "train");
	json_t *document = read_json(folder, train ? "summary.json" : "output.json");

	if (!json_is_object(document) ||
	    json_is_true(json_object_get(document, "interrupted"))) {
		json_decref(document);
		return NULL;
	}
	if (train)
		add_steps(document, folder);
	return document;
}
