/* copy.c - see copy.h */
#include "comm/copy.h"
#include "base/machine.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>

enum { LARGE = 128 << 10, AHEAD = 1024 };

/* bytes is a multiple of 128, to is aligned to 32. */
__attribute__((target("avx"))) static void stream(char *to, const char *from, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 128) {
		__m256i a, b, c, d;

		_mm_prefetch(from + i + AHEAD, _MM_HINT_T0);
		_mm_prefetch(from + i + AHEAD + 64, _MM_HINT_T0);
		a = _mm256_loadu_si256((const __m256i *)(from + i));
		b = _mm256_loadu_si256((const __m256i *)(from + i + 32));
		c = _mm256_loadu_si256((const __m256i *)(from + i + 64));
		d = _mm256_loadu_si256((const __m256i *)(from + i + 96));
		_mm256_stream_si256((__m256i *)(to + i), a);
		_mm256_stream_si256((__m256i *)(to + i + 32), b);
		_mm256_stream_si256((__m256i *)(to + i + 64), c);
		_mm256_stream_si256((__m256i *)(to + i + 96), d);
	}
	_mm_sfence(); /* before anybody is told that it is there */
}

void copy_between_ranks(void *to, const void *from, size_t bytes)
{
	static _Atomic int has_avx = -1;
	size_t head = (32 - (uintptr_t)to % 32) % 32, middle;

	if (has_avx < 0)
		has_avx = machine_has_f16c(); /* which comes with AVX */
	if (bytes < LARGE || !has_avx) {
		memcpy(to, from, bytes);
		return;
	}
	middle = (bytes - head) / 128 * 128;
	memcpy(to, from, head);
	stream((char *)to + head, (const char *)from + head, middle);
	memcpy((char *)to + head + middle, (const char *)from + head + middle,
	       bytes - head - middle);
}
#else
void copy_between_ranks(void *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
}
#endif
