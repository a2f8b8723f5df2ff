/* dtype.h - element types, as safetensors names them. Bytes are what nobody computes with. */
#ifndef KOLM_BASE_DTYPE_H
#define KOLM_BASE_DTYPE_H

#include <stddef.h>

enum dtype { DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_I32, DTYPE_BYTE, DTYPE_COUNT };

static inline size_t dtype_size(enum dtype dt)
{
	static const size_t sizes[DTYPE_COUNT] = {4, 2, 2, 4, 1};

	return sizes[dt];
}

static inline const char *dtype_name(enum dtype dt)
{
	static const char *const names[DTYPE_COUNT] = {"F32", "F16", "BF16", "I32", "U8"};

	return names[dt];
}

#endif
