/* grow.c - see grow.h */
#include "text/grow.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 64 };

enum status grow_array(void **array, size_t element, size_t n, size_t *capacity,
		       struct error *err)
{
	size_t wanted = *capacity ? *capacity : FIRST_CAPACITY;
	void *larger;

	if (n <= *capacity)
		return OK;
	while (wanted < n)
		wanted *= 2;
	larger = reallocarray(*array, wanted, element);
	if (!larger)
		return FAIL(err, ERR_MEMORY, "no memory for %zu elements of %zu bytes", wanted,
			    element);
	*array = larger;
	*capacity = wanted;
	return OK;
}
