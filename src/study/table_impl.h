/* table_impl.h - what of a table is shown. Only for study/table*. */
#ifndef KOLM_STUDY_TABLE_IMPL_H
#define KOLM_STUDY_TABLE_IMPL_H

#include "study/table.h"

enum { TABLE_COLUMNS_MAX = 64 };

size_t table_columns(const json_t *table);
const struct column *table_column(const struct results *r, const json_t *table, size_t i);
/* Numbers that repetitions may change have a spread. */
bool column_has_spread(const struct column *c);
bool table_shows(const struct results *r, const json_t *table, const struct row *row);
void table_add_title(const struct tables *t, const json_t *table, struct text *out);

#endif
