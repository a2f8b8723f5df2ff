/* gunzip_none.c - built without zlib; see load.h */
#include "data/gunzip.h"
#include "data/load.h"

#include <stdlib.h>

const char *gunzip_library(void)
{
	return NULL;
}

enum status data_gunzip(const char *path, const char *bytes, size_t size, char **out,
			size_t *out_size, struct error *err)
{
	(void)bytes, (void)size, (void)out_size;
	*out = NULL;
	FAIL(err, ERR_USAGE, "%.300s is compressed, and kolm was built without zlib", path);
	return HINT(err, "run gunzip on it first, or install zlib1g-dev and build again");
}
