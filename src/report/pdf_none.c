/* pdf_none.c - built without cairo; see pdf.h */
#include "report/pdf.h"

const char *pdf_library(void)
{
	return NULL;
}

enum status pdf_format(const struct document *d, struct text *out, struct error *err)
{
	(void)d;
	(void)out;
	FAIL(err, ERR_FAILED, "no PDF can be made: kolm was built without cairo");
	return HINT(err, "install libcairo2-dev and fonts-dejavu-core and build again");
}
