/* html.h - a document as one HTML page that needs nothing else: no network, no script. */
#ifndef KOLM_REPORT_HTML_H
#define KOLM_REPORT_HTML_H

#include "report/document.h"

/* Well-formed as XML too. */
void html_format(const struct document *d, struct text *out);

#endif
