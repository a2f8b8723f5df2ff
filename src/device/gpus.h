/* gpus.h - the GPUs of this machine, as --device names them. */
#ifndef KOLM_DEVICE_GPUS_H
#define KOLM_DEVICE_GPUS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GPU_DEVICES = 32, /* at most, of each driver, and of all together */
	GPU_DRIVER_COUNT = 2,
};

struct gpu_info {
	char driver[16];    /* "cuda", "opencl" */
	int number;	    /* that the driver gives it */
	char name[96];	    /* as its maker calls it */
	char id[48];	    /* which one it is, for every process of this machine */
	char bus[32];	    /* where it is plugged in, "0000:01:00.0"; "": not known */
	char version[96];   /* of driver or platform, for people and for caches */
	uint64_t memory;    /* bytes */
	uint64_t largest;   /* allocation; 0: any */
	uint64_t local;	    /* bytes of local memory that a group may have */
	int group;	    /* items that a group may have */
	int units;	    /* that compute, as the driver counts them */
	bool is_cpu;	    /* a CPU that plays a GPU, as PoCL's */
	bool lacks_doubles; /* and can't be used */
};

struct gpus {
	struct gpu_info all[GPU_DEVICES];
	int count;
	char why[320];			  /* there are none */
	char whys[GPU_DRIVER_COUNT][160]; /* the same of each driver, in their order */
};

/* Does --device of that name mean a GPU, or what plays one? */
bool gpus_named(const char *spec);

/* What there is. Drivers start threads for that: no process may be forked after it. */
void gpus_list(struct gpus *g);
/* The same, asked of a child of this process, which can fork then as before. */
void gpus_ask(struct gpus *g);

/* Those that the name counts, in their order: with "gpu" those of the best driver that has any,
   and no CPUs. */
void gpus_choose(struct gpus *g, const char *spec);

/* Is the one that the name means among those chosen? Otherwise one clear line. */
enum status gpus_check(const char *spec, const struct gpus *there, struct error *err);

#endif
