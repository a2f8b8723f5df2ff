/* reading.h - for tests: the document of a study, and what is in it. */
#ifndef KOLM_TESTS_READING_H
#define KOLM_TESTS_READING_H

#include "pages.h"

#include "report/html.h"
#include "report/report.h"

static struct error err;

#define COLUMN(key, kind) "{\"key\": \"" key "\", \"kind\": \"" kind "\"}"
#define STUDY(columns, rows, more)                                                         \
	"{\"schema\": \"kolm.study/2\", \"name\": \"s\", \"requirements\": [\"B3\"],"      \
	" \"tables\": [{\"id\": \"t\", \"title\": \"T\", \"caption\": \"dim 8, batch 4\"," \
	" \"columns\": [" columns "], \"rows\": [" rows "]}]" more "}"

struct made {
	struct study study;
	struct document d;
};

static inline void make(struct made *m, const char *text)
{
	document_init(&m->d);
	assert_int_equal(study_parse(&m->study, text, strlen(text), "r.json", &err), OK);
	assert_int_equal(study_add(&m->study, &m->d, NULL, &err), OK);
}

static inline void made_release(struct made *m)
{
	study_release(&m->study);
	document_release(&m->d);
}

static inline const struct block *nth(const struct document *d, enum block_kind kind, int n)
{
	for (size_t i = 0; i < d->count; i++)
		if (d->blocks[i].kind == kind && n-- == 0)
			return &d->blocks[i];
	return NULL;
}

static inline bool page_has(const struct document *d, const char *piece)
{
	struct text out;
	bool has;

	text_init(&out);
	html_format(d, &out);
	assert_null(html_problem(out.data));
	has = strstr(out.data, piece) != NULL;
	text_release(&out);
	return has;
}

#endif
