/* gunzip.h - what unpacks compressed data files. */
#ifndef KOLM_DATA_GUNZIP_H
#define KOLM_DATA_GUNZIP_H

/* Its name and version, or NULL: kolm was built without. */
const char *gunzip_library(void);

#endif
