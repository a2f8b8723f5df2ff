/* machine.h - the few things about the machine that several layers ask. */
#ifndef KOLM_BASE_MACHINE_H
#define KOLM_BASE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/* All memory of the machine, in bytes. */
uint64_t machine_memory(void);

/* Can this CPU convert between fp16 and fp32? */
bool machine_has_f16c(void);

/* Can this CPU multiply tiles of bf16? */
bool machine_has_amx(void);
/* May this process? Asks the system for it, once and for all of its threads. */
bool machine_permits_amx(void);

/* Cores that this process may use. */
int machine_cores(void);

#endif
