/*
 * show_tiles.c - tells PyTorch how large the tiles of AMX are; preloaded by compare.py.
 *
 * Some virtual machines have AMX, but CPUID's leaf 0x1d, which has the size of a tile, is empty
 * there. oneDNN then configures tiles of nothing, and its first product of bf16 ends the
 * process with SIGILL. Here CPUID is made to fault, and the fault's handler answers: as the CPU
 * does, but for that leaf and the next, which are those of every CPU with AMX so far. Only
 * Python is told: what it starts, compilers for instance, runs as ever.
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { SET_CPUID = 0x1012 }; /* arch_prctl: 0 has it fault, 1 not */

static void answer(int number, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	const unsigned char *at = (const unsigned char *)registers[REG_RIP];
	unsigned leaf = (unsigned)registers[REG_RAX], part = (unsigned)registers[REG_RCX];
	unsigned a, b, c, d;

	(void)info;
	if (at[0] != 0x0f || at[1] != 0xa2) { /* another fault: again, and without us */
		signal(number, SIG_DFL);
		return;
	}
	syscall(SYS_arch_prctl, SET_CPUID, 1);
	__cpuid_count(leaf, part, a, b, c, d);
	syscall(SYS_arch_prctl, SET_CPUID, 0);
	if (leaf == 0 && a < 0x1e)
		a = 0x1e;
	if (leaf == 0x1d && part == 0) {
		a = 1; /* the last palette */
	} else if (leaf == 0x1d && part == 1) {
		a = 1024 << 16 | 8192; /* bytes of a tile, and of all */
		b = 8 << 16 | 64;      /* tiles, bytes of a row */
		c = 16;		       /* rows */
	} else if (leaf == 0x1e && part == 0) {
		b = 64 << 8 | 16; /* what is multiplied at once: bytes of a row, rows */
	}
	registers[REG_RAX] = a;
	registers[REG_RBX] = b;
	registers[REG_RCX] = c;
	registers[REG_RDX] = d;
	registers[REG_RIP] += 2;
}

__attribute__((constructor)) static void begin(void)
{
	struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER};

	if (strncmp(program_invocation_short_name, "python", strlen("python")) != 0)
		return;
	sigaction(SIGSEGV, &action, NULL);
	syscall(SYS_arch_prctl, SET_CPUID, 0);
}
