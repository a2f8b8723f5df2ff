/* machine.c - see machine.h */
#include "base/machine.h"

#include <sched.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
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

bool machine_has_amx(void)
{
#if defined(__x86_64__)
	const unsigned both = 1u << 22 | 1u << 24; /* AMX-BF16, AMX-TILE */
	unsigned a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & both) == both;
#else
	return false;
#endif
}

bool machine_permits_amx(void)
{
#if defined(__x86_64__)
	enum { REQUEST_STATE = 0x1023, TILE_DATA = 18 }; /* Linux: ARCH_REQ_XCOMP_PERM */

	return syscall(SYS_arch_prctl, REQUEST_STATE, TILE_DATA) == 0;
#else
	return false;
#endif
}

int machine_cores(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
}
