/* dtype.h - element types. Bytes are what nobody computes with. */
#ifndef KOLM_BASE_DTYPE_H
#define KOLM_BASE_DTYPE_H

#include "base/names.h"

#include <stddef.h>

/* As people name what one can train in; and as safetensors does; bytes of an element. */
#define PRECISIONS(X)            \
	X(F32, "fp32", "F32", 4) \
	X(F16, "fp16", "F16", 2) \
	X(BF16, "bf16", "BF16", 2)
#define DTYPES(X)               \
	PRECISIONS(X)           \
	X(I32, "i32", "I32", 4) \
	X(BYTE, "byte", "U8", 1)
#define DTYPE(name, ...) DTYPE_##name,
enum dtype { DTYPES(DTYPE) };
enum { PRECISION_COUNT = NAMES_COUNT(PRECISIONS), DTYPE_COUNT = NAMES_COUNT(DTYPES) };
extern const char *const precision_names[]; /* NULL-terminated */
const char *dtype_name(enum dtype dt);	    /* of safetensors */

static inline size_t dtype_size(enum dtype dt)
{
#define SIZE(name, typed, stored, size) size,
	static const size_t sizes[] = {DTYPES(SIZE)};
#undef SIZE

	return sizes[dt];
}

#endif
