/*
 * alone.h - the transport of a world of which only one rank is there: to see what a rank of any
 * grid would do, without the others.
 *
 * Every partner has come by the time that it is asked for, so that a request is over when its
 * links have carried it, or at once. No data moves: only for devices that compute nothing.
 */
#ifndef KOLM_COMM_ALONE_H
#define KOLM_COMM_ALONE_H

#include "comm/comm.h"

enum status comm_open_alone(struct comm **world, int rank, int ranks, struct error *err);

#endif
