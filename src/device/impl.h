/* impl.h - what a device implementation fills in. Only for device/. */
#ifndef KOLM_DEVICE_IMPL_H
#define KOLM_DEVICE_IMPL_H

#include "device/device.h"

/* It can't go on; see device_on_loss. */
_Noreturn void device_lost(struct error *err);

struct allocation;
struct device_ops {
	const char *name;
	enum status (*open)(struct device *dev, const char *spec,
			    const struct device_options *o, struct error *err);
	void (*close)(struct device *dev);
	/* Zeroed memory of that size, or NULL. */
	void *(*map)(struct device *dev, uint64_t bytes);
	void (*unmap)(struct device *dev, void *memory, uint64_t bytes);
	enum status (*reserve)(struct device *dev, int rows, int width, struct error *err);
	enum status (*reserve_attention)(struct device *dev, int keys, int width,
					 struct error *err);
	void (*parallel)(struct device *dev, void (*fn)(void *, int, int), void *arg);
	size_t (*matrix_size)(int out, int in);
	void (*matrix_write)(struct device *dev, void *matrix, enum dtype type, int out, int in,
			     int row, int rows, const float *values);
	void (*matrix_read)(struct device *dev, const void *matrix, enum dtype type, int out,
			    int in, int row, int rows, float *values);
	void (*write)(struct device *dev, void *memory, enum dtype type, size_t n,
		      const float *values);
	void (*read)(struct device *dev, const void *memory, enum dtype type, size_t n,
		     float *values);
	void (*copy)(struct device *dev, struct view to, int to_column, struct view from,
		     int from_column, int rows, int columns);
	void (*forward)(struct device *dev, const struct linear *l);
	void (*backward_input)(struct device *dev, const struct linear *l);
	void (*backward_weight)(struct device *dev, const struct linear *l);
	void (*activate)(struct device *dev, struct view y, struct view bias,
			 struct view before, int rows, int columns, enum activation act);
	void (*derive)(struct device *dev, struct view dy, struct view saved, int rows,
		       int columns, enum activation act);
	void (*add)(struct device *dev, struct view to, struct view from, int rows,
		    int columns);
	void (*dropout)(struct device *dev, struct view to, struct view from, int rows,
			int columns, const struct dropout *d);
	void (*norm_forward)(struct device *dev, const struct norm *n);
	void (*norm_backward_input)(struct device *dev, const struct norm *n);
	void (*norm_backward_weight)(struct device *dev, const struct norm *n);
	void (*embed)(struct device *dev, const struct embedding *e);
	void (*embed_gradient)(struct device *dev, const struct embedding *e);
	void (*add_positions)(struct device *dev, const struct positions *p);
	void (*positions_gradient)(struct device *dev, const struct positions *p);
	void (*gate)(struct device *dev, const struct gate *g);
	void (*gate_gradient)(struct device *dev, const struct gate *g);
	void (*attention_forward)(struct device *dev, const struct attention *a);
	void (*attention_backward)(struct device *dev, const struct attention *a);
	void (*rotate)(struct device *dev, const struct rotary *r);
	void (*clear)(struct device *dev, double *numbers, size_t n);
	void (*numbers)(struct device *dev, const double *numbers, size_t n, double *out);
	void (*mse)(struct device *dev, struct view y, struct view target, struct view dy,
		    int rows, int columns, float scale, double *sum);
	void (*class_stats)(struct device *dev, const struct class_slice *c);
	void (*class_loss)(struct device *dev, const struct class_slice *c, double *sum,
			   double *correct);
	void (*update)(struct device *dev, const struct update *u, size_t n, double *squares);
	void (*sum_squares)(struct device *dev, const void *x, enum dtype type, size_t n,
			    double factor, double *sum);
	void (*cast)(struct device *dev, const void *src, enum dtype from, void *dst,
		     enum dtype to, size_t n);
	bool (*multiplies)(struct device *dev, enum dtype type);
	double (*fma_rounds)(struct device *dev, enum dtype type, long n);

	/* ---- all before this must be there; what follows need not ---- */

	/* It takes words: "name:...". */
	bool takes_words;
	/* See device_exact_squares. */
	void (*exact_squares)(struct device *dev, const void *x, enum dtype type, size_t n,
			      struct exact *sum);
	/* The address that is handed out for memory of map's or of a source (shared); the
	   memory itself where hide is NULL. It may say NULL: there is no room. forget: it will
	   be freed now. */
	void *(*hide)(struct device *dev, void *memory, uint64_t bytes, bool shared);
	void (*forget)(struct device *dev, const struct allocation *a);
	/* Why so many bytes are not to be had, behind "... need 1 GiB, ". */
	void (*explain)(const struct device *dev, uint64_t bytes, char *buf, size_t size);
	/* Queues and host views; where all of them are NULL the caller does the work at once,
	   and the host sees the device's memory. */
	void (*finish)(struct device *dev);
	struct device_event (*mark)(struct device *dev, enum device_queue queue);
	void (*await)(struct device *dev, enum device_queue queue, struct device_event event);
	void *(*host_begin)(struct device *dev, enum device_queue queue, void *memory,
			    size_t bytes, enum host_access access);
	void (*host_end)(struct device *dev, enum device_queue queue, void *memory,
			 size_t bytes, enum host_access access);
	/* NULL: the host's view is there when it is asked for. */
	bool (*host_ask)(struct device *dev, enum device_queue queue, void *memory,
			 size_t bytes); /* false: there are too many */
	bool (*host_asked)(struct device *dev, const void *memory); /* and not begun yet */
	bool (*host_has)(struct device *dev, const void *memory);
	bool (*measure)(struct device *dev, struct device_reading *r);
	/* Stamps, of what works beside the host; observe makes room for them. */
	enum status (*observe)(struct device *dev, struct error *err);
	int64_t (*stamp)(struct device *dev, enum device_queue queue);
	int64_t (*settle)(struct device *dev);
	int64_t (*time_of)(struct device *dev, int64_t stamp);
	/* Groups of devices; where introduce is NULL, or says why not, there are none. */
	void (*introduce)(struct device *dev, struct device_card *card);
	enum status (*found)(struct device *dev, struct device_ticket *ticket,
			     struct error *err);
	enum status (*join)(struct device_group *g, const struct device_ticket *ticket,
			    int size, int rank, struct error *err);
	void (*leave)(struct device_group *g, bool failed);
	void (*exchange)(struct device_group *g, const struct device_exchange *x);
};

struct allocation {
	struct allocation *next;
	void *memory;  /* where it is */
	void *address; /* what it is called: see hide */
	uint64_t bytes;
	enum memory_kind kind;
	bool shared; /* of the source */
};

struct device {
	const struct device_ops *ops;
	void *state; /* the implementation's own */
	char description[192];
	char id[48]; /* see device_id */
	int threads, cores;
	int shared_by;		   /* see device_set_shared */
	bool plan;		   /* see device_options */
	uintptr_t next;		   /* address that a plan hands out */
	const struct links *links; /* of a virtual one, or NULL */
	struct memory_account account;
	struct allocation *allocations;
	struct records *records; /* with stamps in them; NULL: nobody observes */
	device_source *source;	 /* of shared memory, or NULL */
	device_sink *sink;	 /* where it goes, or NULL */
	void *source_arg;
	operation_listener *listener; /* of a virtual one, or NULL */
	void *listener_arg;
};

struct device_group {
	struct device *dev;
	enum device_queue queue;
	void *state; /* the implementation's own */
};

/* All devices: device_NAME is the implementation, and how one asks for it. */
#define DEVICES(X)                                      \
	X(cpu, "cpu")                                   \
	X(gpu, "gpu, gpu:0")                            \
	X(cuda, "cuda:0")                               \
	X(opencl, "opencl:0")                           \
	X(virtual, "virtual:gflops=100,link=1GB/s,...") \
	X(fenced, "fenced, which is for tests of devices")
#define DEVICE_OPS(name, ...) extern const struct device_ops device_##name;
DEVICES(DEVICE_OPS)

#endif
