/* pdf_none.c - built without cairo; see pdf.h */
#include "report/pdf.h"

const char *pdf_library(void)
{
	return NULL;
}

enum status pdf_write(const struct document *d, const char *path, struct error *err)
{
	(void)d;
	FAIL(err, ERR_FAILED, "%s can't be written: kolm was built without cairo", path);
	return HINT(err, "install libcairo2-dev and fonts-dejavu-core and build again");
}
