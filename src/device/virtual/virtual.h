/* virtual.h - what a virtual device is made of. Only for device/virtual/. */
#ifndef KOLM_DEVICE_VIRTUAL_VIRTUAL_H
#define KOLM_DEVICE_VIRTUAL_VIRTUAL_H

#include "base/error.h"
#include "base/links.h"
#include "base/pace.h"

#include <stdbool.h>
#include <stdint.h>

struct machine {
	struct pace *pace;
	struct pace own; /* where nobody else has one */
	struct links links;
	double gflops;	  /* of products */
	double gflops16;  /* of those with 16-bit matrices; 0: they take the time of fp32 */
	double bandwidth; /* in bytes per ns; 0: moving data takes no time */
	uint64_t memory;  /* limit, or 0 */
	int rank, ranks;  /* this one, of how many */
	double slowness;  /* of this rank */
	bool stray;	  /* what was parsed names a rank that is not there */
	char *next;	  /* address to be handed out */
};

/* What follows "virtual:"; rank and ranks are known, the rest has its defaults. */
enum status virtual_parse(struct machine *m, const char *spec, struct error *err);

#endif
