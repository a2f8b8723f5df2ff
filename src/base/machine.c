/* machine.c - see machine.h */
#include "base/machine.h"

#include <sched.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

uint64_t machine_memory(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGE_SIZE);
}

bool machine_has_f16c(void)
{
#if defined(__x86_64__)
	unsigned a, b, c, d;

	/* clang's __builtin_cpu_supports does not know F16C; that of AVX also asks whether
	   the system keeps the wide registers. */
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx") && __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
#else
	return false;
#endif
}

int machine_cores(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
}
