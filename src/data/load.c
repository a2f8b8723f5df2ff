/* load.c - see load.h */
#include "data/load.h"
#include "base/file.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum status data_load(const char *path, char **data, size_t *size, struct error *err)
{
	char *bytes = NULL;
	enum status st;

	*data = NULL;
	TRY(file_read(path, SIZE_MAX / 8, &bytes, size, err));
	if (*size >= 2 && !memcmp(bytes, "\x1f\x8b", 2)) {
		TRY(data_gunzip(path, bytes, *size, data, size, err));
	} else {
		*data = bytes;
		bytes = NULL; /* the caller's now */
	}
out:
	free(bytes);
	return st;
}
