/* kernels.c - which kernel tables can this CPU run? */
#include "device/cpu/kernels.h"
#include "base/machine.h"
#include "device/cpu/layout.h"

#include <string.h>

size_t kernels_packed_size(int rows, int out)
{
	return (size_t)ceil_div(out, BLOCK) * (size_t)rows * BLOCK_STRIDE;
}

/* Sums of dk and dv; or what two turns leave, a block of queries each. */
size_t kernels_attention_sums(int keys, int width)
{
	return 2 * (size_t)keys * (size_t)imax((int)round_up(width, PANEL), ATTENTION_BLOCK);
}

size_t kernels_attention_size(int keys, int width)
{
	size_t row = (size_t)round_up(width, PANEL), block = ATTENTION_BLOCK;

	/* Blocks of operands by rows and by columns, of probabilities, and what there is one of
	   per query. */
	return 7 * block * row + 4 * block * block + 8 * block +
	       kernels_attention_sums(keys, width);
}

int kernels_attention_turns(const struct attention *a)
{
	return a->heads / a->kv_heads * (int)ceil_div(a->queries, ATTENTION_BLOCK);
}

const struct kernels *const *kernels_available(void)
{
	static const struct kernels *tables[9];
	int n = 0;

	if (tables[0])
		return tables;
#if defined(__x86_64__)
	__builtin_cpu_init();
	bool has_avx512 =
		__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
		__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
	bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
			machine_has_f16c();
	bool has_pairs = has_avx512 && __builtin_cpu_supports("avx512bf16");
	bool has_tiles = has_pairs && machine_has_amx();
	if (has_tiles && machine_permits_amx())
		tables[n++] = &kernels_amx;
	if (has_pairs && !has_tiles)
		tables[n++] = &kernels_avx512bf16;
	if (has_avx512)
		tables[n++] = &kernels_avx512;
	if (has_tiles) /* CPUs with tiles take longer for pairs than for fp32 */
		tables[n++] = &kernels_avx512bf16;
	if (has_avx2)
		tables[n++] = &kernels_avx2;
#endif
	tables[n++] = &kernels_generic;
	tables[n++] = &kernels_reference;
#if defined(__x86_64__)
	if (has_avx2) {
		tables[n++] = &kernels_emulated;
		tables[n++] = &kernels_emulated_amx;
	}
#endif
	return tables;
}

const struct kernels *kernels_select(const char *name)
{
	const struct kernels *const *t = kernels_available();

	if (!name || !*name)
		return t[0];
	for (; *t; t++)
		if (!strcmp((*t)->name, name))
			return *t;
	return NULL;
}
