/* foreign.h - what other engines call an option: for a hint, never accepted. */
#ifndef KOLM_CONFIG_FOREIGN_H
#define KOLM_CONFIG_FOREIGN_H

#include <stddef.h>

struct foreign {
	const char *theirs, *ours; /* names without dashes in front */
};

extern const struct foreign foreign_names[];
extern const size_t foreign_count;

/* Our name of an option that torchrun, DeepSpeed, Megatron or PyTorch's examples have, or
   NULL. */
const char *foreign_find(const char *name);

#endif
