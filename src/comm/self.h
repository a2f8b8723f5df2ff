/* self.h - the transport of a world of one rank: every transfer is done at once. */
#ifndef KOLM_COMM_SELF_H
#define KOLM_COMM_SELF_H

#include "comm/comm.h"

enum status comm_open_self(struct comm **world, struct error *err);

#endif
