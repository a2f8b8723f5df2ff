/* values.c - numbers of one order and type as floats of another; see hf.h */
#include "hf/hf.h"
#include "base/half.h"
#include "base/util.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 20, TILE = 32 }; /* elements at a time; of rows and columns */

/* Files of others need not be aligned. */
static float load(const char *at, enum dtype type)
{
	uint16_t half;
	float value;

	if (type == DTYPE_F32) {
		memcpy(&value, at, sizeof(value));
		return value;
	}
	memcpy(&half, at, sizeof(half));
	return type == DTYPE_F16 ? half_to_float(half) : bfloat_to_float(half);
}

/* In tiles: one of the two orders jumps from row to row. */
static void turn(const struct hf_values *v, const char *from, size_t rows, size_t columns,
		 float *out)
{
	size_t size = dtype_size(v->type);

	for (size_t r0 = 0; r0 < rows; r0 += TILE)
		for (size_t c0 = 0; c0 < columns; c0 += TILE)
			for (size_t r = r0; r < rows && r < r0 + TILE; r++)
				for (size_t c = c0; c < columns && c < c0 + TILE; c++)
					out[r * columns + c] = load(
						from + (r * v->row_step + c * v->column_step) *
								size,
						v->type);
}

void hf_values_rows(const struct hf_values *v, size_t row, size_t rows, size_t columns,
		    float *out)
{
	const char *from = v->data + row * v->row_step * dtype_size(v->type);

	assert(v->type == DTYPE_F32 || v->type == DTYPE_F16 || v->type == DTYPE_BF16);
	if (v->type == DTYPE_F32 && v->column_step == 1 && v->row_step == columns)
		memcpy(out, from, rows * columns * sizeof(*out));
	else
		turn(v, from, rows, columns, out);
}

enum status hf_values_send(const struct hf_values *v, size_t rows, size_t columns,
			   hf_sink *sink, void *arg, struct error *err)
{
	size_t most = columns < BLOCK ? BLOCK / columns : 1, n;
	float *block = malloc((rows < most ? rows : most) * columns * sizeof(*block) + 1);
	enum status st = OK;

	if (!block)
		return FAIL(err, ERR_MEMORY, "no memory for rows of %zu numbers", columns);
	for (size_t row = 0; row < rows; row += n) {
		n = rows - row < most ? rows - row : most;
		hf_values_rows(v, row, n, columns, block);
		TRY(sink(arg, block, n * columns, err));
	}
out:
	free(block);
	return st;
}
