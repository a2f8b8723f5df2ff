/* pdf.h - a document as a PDF file, by cairo. */
#ifndef KOLM_REPORT_PDF_H
#define KOLM_REPORT_PDF_H

#include "report/document.h"

/* The library and its version, or NULL where kolm was built without it. */
const char *pdf_library(void);

/* Whole or not at all. Fails where there is no library. */
enum status pdf_write(const struct document *d, const char *path, struct error *err);

#endif
