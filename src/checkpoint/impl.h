/* impl.h - what the files of a store share. Only for checkpoint/. */
#ifndef KOLM_CHECKPOINT_IMPL_H
#define KOLM_CHECKPOINT_IMPL_H

#include "checkpoint/store.h"

/* keep.c: all but so many of the newest (0: none), and the best one, go. */
void store_prune(const char *place, int keep);

#endif
