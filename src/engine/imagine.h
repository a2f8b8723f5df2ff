/*
 * imagine.h - how long a step of a grid would take on virtual devices, and what memory each of
 * its ranks, without starting any: every rank's engine is built here, alone in its world, its
 * parts are tried as before a real run (calibrate.c), and put together (compose.c).
 */
#ifndef KOLM_ENGINE_IMAGINE_H
#define KOLM_ENGINE_IMAGINE_H

#include "engine/engine.h"

struct imagined {
	double step_ms, bubble;
	int fullest;		       /* the rank that takes most memory, the first of them */
	struct memory_account account; /* and what it takes */
	uint64_t *bytes;	       /* (ranks) what each takes; or NULL: nobody wants it */
};

/*
 * device names a virtual one; memory limits it, 0: as it says. meet: all ranks wait for each
 * other between steps. Of options world, pace, records and observer are not looked at.
 * Replicas are taken for equal, the first stands for all. ERR_MEMORY: a rank does not fit.
 */
enum status engine_imagine(const struct engine_options *options, const char *device,
			   uint64_t memory, bool meet, struct imagined *im, struct error *err);

#endif
