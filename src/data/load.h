/* load.h - the bytes of a data file, which may be compressed by gzip. Only for data/. */
#ifndef KOLM_DATA_LOAD_H
#define KOLM_DATA_LOAD_H

#include "base/error.h"

#include <stddef.h>

/* The whole file; *data is the caller's, with a '\0' behind it. */
enum status data_load(const char *path, char **data, size_t *size, struct error *err);

/* gunzip.c, or gunzip_none.c without zlib: what the bytes of a gzip file hold. */
enum status data_gunzip(const char *path, const char *bytes, size_t size, char **out,
			size_t *out_size, struct error *err);

#endif
