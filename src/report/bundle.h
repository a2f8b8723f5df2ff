/*
 * bundle.h - a report as files: what is read, and what is handed in with it.
 *
 * The page, the PDF and commands.txt; in a whole bundle also every table as CSV and every
 * figure as SVG, under the numbers that they have in the report.
 */
#ifndef KOLM_REPORT_BUNDLE_H
#define KOLM_REPORT_BUNDLE_H

#include "report/document.h"
#include "report/sources.h"

struct bundle_file {
	char name[128]; /* with its folder */
	struct text bytes;
};

struct bundle {
	struct bundle_file *files;
	int count;
};

/* Release it whatever the status. Without cairo there is no PDF. */
enum status bundle_make(struct bundle *b, const struct document *d, const struct sources *s,
			bool whole, struct error *err);
void bundle_release(struct bundle *b);

/* Into a folder, whose files of these names are replaced; each is named on stdout. */
enum status bundle_write(const struct bundle *b, const char *folder, struct error *err);
/* Into a .zip, which is replaced, or into a folder that is new or empty. */
enum status bundle_pack(const struct bundle *b, const char *target, struct error *err);

#endif
