/* archive_none.c - built without libzip; see archive.h */
#include "report/archive.h"

const char *archive_library(void)
{
	return NULL;
}

enum status archive_format(const struct bundle *b, struct text *out, struct error *err)
{
	(void)b;
	(void)out;
	FAIL(err, ERR_FAILED, "no .zip can be made: kolm was built without libzip");
	return HINT(err, "give --bundle a folder, or install libzip-dev and build again");
}
