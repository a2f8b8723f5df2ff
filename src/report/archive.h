/* archive.h - files as one .zip, by libzip. */
#ifndef KOLM_REPORT_ARCHIVE_H
#define KOLM_REPORT_ARCHIVE_H

#include "base/error.h"
#include "report/bundle.h"

/* The library and its version, or NULL where kolm was built without it. */
const char *archive_library(void);

/* The bytes of the archive. Fails where there is no library. */
enum status archive_format(const struct bundle *b, struct text *out, struct error *err);

#endif
