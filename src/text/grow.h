/* grow.h - arrays that grow by doubling. */
#ifndef KOLM_TEXT_GROW_H
#define KOLM_TEXT_GROW_H

#include "base/error.h"

#include <stddef.h>

/* Room for n elements in an array that has room for *capacity; what is new is not set. */
enum status grow_array(void **array, size_t element, size_t n, size_t *capacity,
		       struct error *err);

#endif
