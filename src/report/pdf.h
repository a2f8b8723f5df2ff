/* pdf.h - a document as a PDF file, by cairo. */
#ifndef KOLM_REPORT_PDF_H
#define KOLM_REPORT_PDF_H

#include "report/document.h"

/* The library and its version, or NULL where kolm was built without it. */
const char *pdf_library(void);

/* The bytes of the file. Fails where there is no library. */
enum status pdf_format(const struct document *d, struct text *out, struct error *err);

#endif
