/*
 * driver.h - what a GPU back end needs of the machine: memory, programs, queues, events. All
 * that knows kernels is in gpu*.c and shared; a driver (opencl.c, cuda.c) knows none of them.
 * Only for device/gpu/.
 *
 * Addresses are the driver's own: no host follows them, and arithmetic within what alloc gave
 * is allowed. What goes wrong after a device was opened can't be handed up, since kernels don't
 * fail: a driver then calls gpu_lost(), which does not return.
 */
#ifndef KOLM_DEVICE_GPU_DRIVER_H
#define KOLM_DEVICE_GPU_DRIVER_H

#include "base/error.h"
#include "device/device.h"
#include "device/gpus.h"

#include <stdint.h>

enum {
	GPU_ARGUMENTS = 64,   /* of a kernel */
	GPU_LOCAL = 48 << 10, /* bytes of local memory, and items, that kernels may rely on */
	GPU_GROUP = 1024,
	GPU_STAMPS = 1024, /* times of a queue that may be under way, before there are more */
};

/* An argument: a value of so many bytes, or an address (0 bytes; NULL for none). */
struct gpu_argument {
	int bytes;
	union {
		void *address;
		uint64_t bits;
		int32_t i;
		float f;
		double d;
	};
};

/*
 * A kernel in the compute queue. An address is passed as two arguments: what the driver makes
 * of it, and where in that the operand begins, in elements of `scale` bytes, as a u64.
 */
struct gpu_launch {
	struct gpu_kernel *kernel; /* opaque: the driver's */
	unsigned groups[3];	   /* how many */
	unsigned items[2];	   /* of a group */
	int count;
	struct gpu_argument arguments[GPU_ARGUMENTS];
	int scale[GPU_ARGUMENTS]; /* of addresses */
};

/* A program as it is given to a compiler: texts one behind the other, after NAME VALUE lines.
 */
struct gpu_source {
	const char *name; /* for messages */
	const char *const *texts;
	int count;
	const char *defines; /* "#define A 1\n...", or "" */
};

/* C (m, n) (+)= A (m, k) * B (k, n), then what struct linear's forward has behind it: for a
   driver that has products of its own. Steps are in elements. */
struct gpu_product {
	int m, n, k;
	const void *a, *b;
	enum dtype a_type, b_type;
	uint64_t a_m, a_k, b_k, b_n;
	struct view c;
	const void *bias; /* (n) of bias_type, or NULL */
	enum dtype bias_type;
	struct view saved; /* takes what goes into the activation, if data is set */
	enum activation act;
	bool accumulate;
	void *room; /* of the driver's `room` bytes, or NULL */
};

struct gpu_context; /* an open device: the driver's */
struct gpu_event;   /* all that a queue had when it was made */
struct gpu_program; /* built */
struct gpu_kernel;  /* of a program */
struct gpu_group;   /* of GPUs of several ranks */

/* GPUs that reach each other: see the functions of the same names in device.h. */
struct gpu_groups {
	void (*introduce)(struct gpu_context *c, struct device_card *card);
	enum status (*found)(struct gpu_context *c, struct device_ticket *ticket,
			     struct error *err);
	enum status (*join)(struct gpu_context *c, const struct device_ticket *ticket, int size,
			    int rank, enum device_queue queue, struct gpu_group **out,
			    struct error *err);
	void (*leave)(struct gpu_group *g, bool failed);
	void (*exchange)(struct gpu_group *g, const struct device_exchange *x);
};

struct gpu_driver {
	const char *name;
	uint64_t room; /* bytes of device memory that products want to work in */

	/* All devices, up to GPU_DEVICES; none, and why, is no failure. After this no process
	   may be forked. */
	int (*list)(struct gpu_info *all, char *why, size_t size);
	enum status (*open)(struct gpu_context **out, int number, struct error *err);
	void (*close)(struct gpu_context *c);
	/* What people should know of this one, or ""; may be NULL. */
	const char *(*remark)(struct gpu_context *c);

	/* Zeroed memory; NULL where there is no room. free waits for all queues. */
	void *(*alloc)(struct gpu_context *c, uint64_t bytes);
	void (*free)(struct gpu_context *c, void *address);

	/* A program, and one of its kernels; both live until close. binary: what an earlier
	   build of the same source gave, or empty; then (and if it is of no use) it is
	   replaced by what this one gives, allocated with malloc, or left empty. */
	enum status (*build)(struct gpu_context *c, const struct gpu_source *source,
			     void **binary, size_t *size, struct gpu_program **out,
			     struct error *err);
	enum status (*kernel)(struct gpu_context *c, struct gpu_program *program,
			      const char *name, struct gpu_kernel **out, struct error *err);
	void (*launch)(struct gpu_context *c, const struct gpu_launch *l);

	/* As read, but the event says when the data are on their way no more, and taken puts
	   them where they belong; it returns false, and does nothing, if they are not there
	   and nobody wants to wait. By the rank's own thread. */
	struct gpu_event *(*fetch)(struct gpu_context *c, enum device_queue queue, void *host,
				   const void *address, uint64_t bytes);
	bool (*taken)(struct gpu_context *c, enum device_queue queue, struct gpu_event *event,
		      bool wait);

	/* read returns when the data are there; write when the host's may be changed, unless
	   done is set: then when that event is over. What was written is there for what the
	   same queue does next. Both may be called by several threads. */
	void (*read)(struct gpu_context *c, enum device_queue queue, void *host,
		     const void *address, uint64_t bytes);
	void (*write)(struct gpu_context *c, enum device_queue queue, void *address,
		      const void *host, uint64_t bytes, struct gpu_event **done);

	struct gpu_event *(*mark)(struct gpu_context *c, enum device_queue queue);
	void (*await)(struct gpu_context *c, enum device_queue queue, struct gpu_event *event);
	void (*wait)(struct gpu_context *c, struct gpu_event *event); /* the host does */
	void (*release)(struct gpu_context *c, struct gpu_event *event);
	void (*finish)(struct gpu_context *c); /* all queues */

	/* Time: make room for stamps number 0 to n - 1; put one into a queue, whatever it was
	   before; ns from one to another, both waited for. */
	enum status (*make_stamps)(struct gpu_context *c, int n, struct error *err);
	void (*stamp)(struct gpu_context *c, enum device_queue queue, int stamp);
	int64_t (*between)(struct gpu_context *c, int from, int to);

	/* See device_measure; may be NULL. */
	bool (*measure)(struct gpu_context *c, struct device_reading *r);
	/* May be NULL; false: not one that it does, and our own kernel is launched. */
	bool (*product)(struct gpu_context *c, const struct gpu_product *p);
	const struct gpu_groups *groups; /* or NULL */
};

/* All drivers, the best first. */
#define GPU_DRIVERS(X)	 X(cuda) X(opencl)
#define GPU_DRIVER(name) extern const struct gpu_driver gpu_##name;
GPU_DRIVERS(GPU_DRIVER)
#undef GPU_DRIVER

/* The device can't go on: what it was doing, and why not. */
_Noreturn void gpu_lost(const char *driver, int number, const char *what, const char *why);

#endif
