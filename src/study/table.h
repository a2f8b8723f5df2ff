/* table.h - a table of a study: columns and rows of its results, in four forms. */
#ifndef KOLM_STUDY_TABLE_H
#define KOLM_STUDY_TABLE_H

#include "base/json.h"
#include "study/results.h"

/* What all tables of a study are made from. */
struct tables {
	const struct study *study;
	const struct plan *plan;
	struct results by_case, by_rank;
};

/* The results that a table of the study's file shows. */
const struct results *table_results(const struct tables *t, const json_t *table);

void table_put_json(const struct tables *t, const json_t *table, struct json *j);
void table_add_csv(const struct tables *t, const json_t *table, struct text *out);
void table_add_markdown(const struct tables *t, const json_t *table, struct text *out);
void table_add_text(const struct tables *t, const json_t *table, struct text *out);

/* What all its rows have in common: "dim 1024, depth 8, batch 64". */
void table_add_caption(const struct tables *t, const json_t *table, struct text *out);
/* How all tables are to be read: repetitions, spread, what simulated devices are. */
void tables_add_reading(const struct tables *t, struct text *out);
/* What is special to this one: runs that are missing, and its own note. */
void table_add_note(const struct tables *t, const json_t *table, struct text *out);

#endif
