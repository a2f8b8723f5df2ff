/* dtype.c - the names of element types. */
#include "base/dtype.h"

const char *const precision_names[] = {NAMES_OF(PRECISIONS)};

const char *dtype_name(enum dtype dt)
{
#define STORED_AS(name, text, stored, size) stored,
	static const char *const names[] = {DTYPES(STORED_AS)};

	return names[dt];
}
