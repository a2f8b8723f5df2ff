/* copy.h - copies of what another rank has written or will read. */
#ifndef KOLM_COMM_COPY_H
#define KOLM_COMM_COPY_H

#include <stddef.h>

/*
 * memcpy, but large pieces are stored past the caches: lines that another core has looked
 * at need not be fetched from it first only to be overwritten.
 */
void copy_between_ranks(void *to, const void *from, size_t bytes);

#endif
