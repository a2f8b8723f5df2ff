/*
 * device.h - what a rank computes on: memory with accounts, and kernels.
 *
 * Executor and models see only this interface; an accelerator is a new folder beside
 * cpu/. Kernels can't fail: whatever they need is reserved before the first step.
 */
#ifndef KOLM_DEVICE_DEVICE_H
#define KOLM_DEVICE_DEVICE_H

#include "base/dtype.h"
#include "base/error.h"
#include "base/exact.h"
#include "base/links.h"
#include "base/pace.h"
#include "base/records.h"
#include "device/kernel.h"
#include "device/operation.h"

struct device; /* opaque, see impl.h */

/* What memory is for. One list gives the enum and the names. */
#define MEMORY_KINDS(X)               \
	X(PARAMS, "params")           \
	X(GRADS, "grads")             \
	X(OPTIMIZER, "optimizer")     \
	X(ACTIVATIONS, "activations") \
	X(COMM, "comm")               \
	X(WORKSPACE, "workspace")
#define X(id, name) MEMORY_##id,
enum memory_kind { MEMORY_KINDS(X) MEMORY_KIND_COUNT };
#undef X
const char *memory_kind_name(enum memory_kind kind);

struct memory_account {
	uint64_t limit; /* bytes; 0: none */
	uint64_t now[MEMORY_KIND_COUNT];
	uint64_t peak[MEMORY_KIND_COUNT];
	uint64_t total, total_peak;
};

struct device_options {
	int threads;	 /* 0: one per core */
	bool pin;	 /* keep every thread on a core of its own */
	bool crowded;	 /* others compute on the same cores: never spin */
	uint64_t memory; /* limit in bytes; 0: none */
	int rank, ranks; /* that it is for, of so many: virtual devices may differ */
	int local;	 /* number of the rank on this machine, where they take GPUs in turn */
	struct pace *pace; /* the rank's time, which a virtual device makes virtual; or NULL */
	/* The CPU's table of kernels: reference, generic, avx2, avx512, avx512bf16, amx,
	   emulated, emulated-amx; NULL: the best. */
	const char *kernels;
	const char *cache; /* folder for what a GPU need not build twice, or NULL; borrowed */
	bool plan; /* keep accounts, but hand out addresses only: nothing may be touched */
};

/*
 * Restrict this process to its part of the cores that it may use, before it opens a device;
 * there is at least one for each. Returns how many it has then; all if that can't be done.
 */
int device_take_cores(int part, int parts);

enum status device_open(struct device **out, const char *spec, const struct device_options *o,
			struct error *err);
void device_close(struct device *dev);

/*
 * A device that fails while it computes ends the process, since kernels can't hand anything up:
 * fn is called, once, by the thread that has seen it, with what there is to say, and ends the
 * process. Without one that is printed, and the exit code is 1.
 */
typedef void device_loss(const struct error *err);
void device_on_loss(device_loss *fn);

/* Does it compute nothing and only take time? Then its memory holds nothing and is not to be
   touched. The links of such a device, else NULL. */
bool device_is_virtual(const struct device *dev);
const struct links *device_links(const struct device *dev);
/* Be told what such a device is asked for, in its order; NULL: no more. */
void device_listen(struct device *dev, operation_listener *listener, void *arg);

/* A table of kernels that this CPU has beside the one of that name (NULL: the best), with sums
   in another order and not much slower; or NULL. */
const char *device_other_kernels(const char *used);

/* What it is, for people: "cpu avx512, 2 threads on 2 cores". */
const char *device_description(const struct device *dev);
int device_threads(const struct device *dev);
int device_cores(const struct device *dev);
/* Which GPU it is, the same for every process of this machine; "": it is none. */
const char *device_id(const struct device *dev);
/* So many ranks compute on this GPU, this one among them, and so many on that with most. */
void device_set_shared(struct device *dev, int ranks, int most);
/* The latter; 0: nobody has said so. */
int device_shared_by(const struct device *dev);
/* How a GPU is, as its driver sees it, whoever uses it: what nvidia-smi shows. NAN: unknown. */
struct device_reading {
	double busy; /* share of the last moments (a second at most) in which it did anything */
	double bytes; /* of its memory that are in use */
	double celsius, watts;
};
/* False: there is nobody to ask. Takes no part in what is computed; by any thread. */
bool device_measure(struct device *dev, struct device_reading *r);
const struct memory_account *device_memory(const struct device *dev);

/*
 * Zeroed memory, aligned to a cache line. what names it in the error that says that
 * it did not fit. device_free takes NULL.
 */
enum status device_alloc(struct device *dev, enum memory_kind kind, uint64_t bytes,
			 const char *what, void **out, struct error *err);
void device_free(struct device *dev, void *memory);

/*
 * Memory that other ranks can reach: from a source of the caller's (comm_alloc) that
 * hands out zeroed memory, and takes it back when it is freed (comm_give_back; NULL: it does
 * so itself); without one it is like any other.
 */
typedef enum status device_source(void *arg, size_t bytes, void **out, struct error *err);
typedef void device_sink(void *arg, void *memory);
void device_share(struct device *dev, device_source *source, device_sink *sink, void *arg);
enum status device_alloc_shared(struct device *dev, enum memory_kind kind, uint64_t bytes,
				const char *what, void **out, struct error *err);

/* Reserve working memory for layers of up to rows x width, before the first of them. */
enum status device_reserve(struct device *dev, int rows, int width, struct error *err);

/* And for attention over up to so many keys, with heads of up to that width. */
enum status device_reserve_attention(struct device *dev, int keys, int width,
				     struct error *err);

/* Call fn(arg, part, parts) on every thread of the device's host side; wait for all. */
void device_parallel(struct device *dev, void (*fn)(void *arg, int part, int parts), void *arg);

/*
 * Memory of the device is an address that only the device follows. The host has its own view
 * of some of it between begin and end: on the CPU that memory itself, elsewhere a copy.
 *
 * Work is put into queues and done in their order; on the CPU at once, by the caller. Kernels
 * go to QUEUE_COMPUTE. An event is all that was put into a queue so far: another queue, or the
 * host, can wait for it.
 */
enum device_queue {
	QUEUE_COMPUTE,
	QUEUE_SEND,
	QUEUE_RECEIVE,
	/* Those of groups of devices, see device_join: what adds up, in one order; and each way
	   that messages go, since one may have to wait while another goes on. */
	QUEUE_SUMS,
	QUEUE_FORWARD_OUT,
	QUEUE_FORWARD_IN,
	QUEUE_BACKWARD_OUT,
	QUEUE_BACKWARD_IN,
	QUEUE_COUNT,
	QUEUE_HOST_COUNT = QUEUE_SUMS, /* the host's: before these */
};
struct device_event {
	enum device_queue queue;
	uint64_t number;
};
struct device_event device_mark(struct device *dev, enum device_queue queue);
/* What is put into the queue from now on comes behind that. */
void device_await(struct device *dev, enum device_queue queue, struct device_event event);

/* Until all that was put into the queues is done: for who measures. */
void device_finish(struct device *dev);

/*
 * When something happened in the queues of a device that works beside the host only the device
 * knows. Such a one, once it is observed, takes the time itself: a stamp is put into a queue
 * like work, and gets its time, in ns of clock_ns(), when all before it is done. From then on
 * copies go into the records too, and that QUEUE_COMPUTE stood still for them. On other devices
 * observing does nothing.
 */
enum status device_observe(struct device *dev, struct records *records, struct error *err);
bool device_has_stamps(const struct device *dev);
int64_t device_stamp(struct device *dev, enum device_queue queue);
/* Finish, and compare the device's clock with the machine's: by how many ns times may be off.
 */
int64_t device_settle(struct device *dev);
/* After device_settle or device_finish; only the last DEVICE_STAMPS are remembered. */
enum { DEVICE_STAMPS = 1 << 17 };
int64_t device_time_of(struct device *dev, int64_t stamp);

enum host_access { HOST_READS = 1, HOST_WRITES = 2, HOST_READS_WRITES = 3 };
/* When all that is in the queue, and all that it awaits, is done. */
void *device_host_begin(struct device *dev, enum device_queue queue, void *memory, size_t bytes,
			enum host_access access);
/* Have what the host will read fetched, without waiting for it: device_host_begin does then. Is
   it there, as far as it was asked for? */
void device_host_ask(struct device *dev, enum device_queue queue, void *memory, size_t bytes);
bool device_host_has(struct device *dev, const void *memory);
/* What the host has written is there for what is put into the queue from now on. */
void device_host_end(struct device *dev, enum device_queue queue, void *memory, size_t bytes,
		     enum host_access access);

/*
 * Devices of several ranks may reach each other without the host. Every rank shows what its own
 * can (a card); those of some ranks may join if none of them says why not, and all go through
 * the same. Then one of them makes a ticket, and all join with it: it returns when all have.
 *
 * An exchange goes into the group's queue, behind all that was computed so far, and the event
 * says when it is over here: the host waits for nothing. Members make the same calls in the
 * same order, in all groups of a queue together; a message waits in its queue until the other
 * side has come. Elements are added up in an order of the group's own, the same for all
 * members, and 16-bit sums may be rounded on the way.
 */
struct device_card {
	char why[96];	  /* it can't; "": it can */
	char through[32]; /* what: "NCCL 2.28.9" */
	unsigned char device[16];
};
struct device_ticket {
	char bytes[128];
};
struct device_group; /* opaque, see impl.h */

void device_introduce(struct device *dev, struct device_card *card);
/* All cards are there: those of ranks that share a device say so, since what waits on it for
   other devices keeps it from who shares it. */
void device_compare(struct device_card *cards, int n);
/* Otherwise why not. */
bool device_may_join(const struct device_card *const *cards, int n, char *why, size_t size);
enum status device_found(struct device *dev, struct device_ticket *ticket, struct error *err);
/* As member `rank` of so many. In a queue of messages there are two: the first sends. */
enum status device_join(struct device *dev, const struct device_ticket *ticket, int size,
			int rank, enum device_queue queue, struct device_group **out,
			struct error *err);
/* All that it has exchanged is over; or something has failed, and nobody waits. Takes NULL. */
void device_leave(struct device_group *g, bool failed);

/* In place, over n elements of which member i has slice i: see enum comm_op, which is the same
   with another name; and messages. */
enum exchange_kind {
	EXCHANGE_ALLREDUCE,
	EXCHANGE_REDUCE_SCATTER,
	EXCHANGE_ALLGATHER,
	EXCHANGE_BROADCAST,
	EXCHANGE_SCATTER,
	EXCHANGE_GATHER,
	EXCHANGE_SEND,
	EXCHANGE_RECEIVE,
};
struct device_exchange {
	enum exchange_kind kind;
	void *data;
	size_t n;
	enum dtype type;
	int peer; /* the other one; or the root */
};
/* stamps: of its begin and end, where there are stamps. */
struct device_event device_exchange(struct device_group *g, const struct device_exchange *x,
				    int64_t stamps[2]);

/* Weights are kept in a layout of the device's own: elements, and rows in and out. Behind all
   that was computed so far. */
size_t device_matrix_size(const struct device *dev, int out, int in);
void device_matrix_write(struct device *dev, void *matrix, enum dtype type, int out, int in,
			 int row, int rows, const float *values); /* (rows, in) */
void device_matrix_read(struct device *dev, const void *matrix, enum dtype type, int out,
			int in, int row, int rows, float *values);
/* The same for n elements in a row. All four may be called within device_parallel. */
void device_write(struct device *dev, void *memory, enum dtype type, size_t n,
		  const float *values);
void device_read(struct device *dev, const void *memory, enum dtype type, size_t n,
		 float *values);

/* Copy columns of some rows from view to view, of the same type. */
void device_copy(struct device *dev, struct view to, int to_column, struct view from,
		 int from_column, int rows, int columns);

/* See struct linear for what they compute. */
void device_forward(struct device *dev, const struct linear *l);
void device_backward_input(struct device *dev, const struct linear *l);
void device_backward_weight(struct device *dev, const struct linear *l);

/* Where a sum over ranks comes between a product and its activation:
   y = act(y + bias), before (if set) takes y + bias; dy = dy . act'(saved). */
void device_activate(struct device *dev, struct view y, struct view bias, struct view before,
		     int rows, int columns, enum activation act);
void device_derive(struct device *dev, struct view dy, struct view saved, int rows, int columns,
		   enum activation act);

/* to += from, of the same type. */
void device_add(struct device *dev, struct view to, struct view from, int rows, int columns);
/* See struct dropout; to and from are of the same type, and may be the same. */
void device_dropout(struct device *dev, struct view to, struct view from, int rows, int columns,
		    const struct dropout *d);

/* See struct norm for what they compute. */
void device_norm_forward(struct device *dev, const struct norm *n);
void device_norm_backward_input(struct device *dev, const struct norm *n);
void device_norm_backward_weight(struct device *dev, const struct norm *n);

/* See struct embedding, struct positions and struct gate for what they compute. */
void device_embed(struct device *dev, const struct embedding *e);
void device_embed_gradient(struct device *dev, const struct embedding *e);
void device_add_positions(struct device *dev, const struct positions *p);
void device_positions_gradient(struct device *dev, const struct positions *p);
void device_gate(struct device *dev, const struct gate *g);
void device_gate_gradient(struct device *dev, const struct gate *g);

/* See struct attention, for which memory is reserved, and struct rotary. */
void device_attention_forward(struct device *dev, const struct attention *a);
void device_attention_backward(struct device *dev, const struct attention *a);
void device_rotate(struct device *dev, const struct rotary *r);

/* Numbers that kernels yield are added to doubles in device memory; here they are 0 again. */
void device_clear(struct device *dev, double *numbers, size_t n);
/* For the host, behind all that was computed so far; a device that computes nothing has 0. */
void device_numbers(struct device *dev, const double *numbers, size_t n, double *out);

/* dy = scale * d/dy sum (y - t)^2; *sum += sum of (y - t)^2. */
void device_mse(struct device *dev, struct view y, struct view target, struct view dy, int rows,
		int columns, float scale, double *sum);
/* Cross-entropy, where each rank may have some of the classes. See struct class_slice:
   stats[slice], then dy = scale * (softmax - onehot), *sum += the sum of -log softmax(y)[label]
   and, unless NULL, *correct += rows in which no class has a larger value than the label. */
void device_class_stats(struct device *dev, const struct class_slice *c);
void device_class_loss(struct device *dev, const struct class_slice *c, double *sum,
		       double *correct);

/* One optimizer step over n elements; *squares += sum of squares of grad. */
void device_update(struct device *dev, const struct update *u, size_t n, double *squares);
/* *sum += factor * sum of squares. */
void device_sum_squares(struct device *dev, const void *x, enum dtype type, size_t n,
			double factor, double *sum);
/*
 * *sum += the sum of squares, which does not depend on how x is cut over calls, threads or
 * ranks, as long as that is done between lines: SQUARES_LINE elements, from the first on, are
 * added up in double in one order (the halves of the line, then the halves of those, and so
 * on), the last and shorter line as if zeros followed, and lines without an error. The same on
 * every device and instruction set.
 */
bool device_has_exact(const struct device *dev);
void device_exact_squares(struct device *dev, const void *x, enum dtype type, size_t n,
			  struct exact *sum);
/* As device_clear and device_numbers, for exact sums in device memory. */
void device_clear_exact(struct device *dev, struct exact *sums, size_t n);
void device_exact(struct device *dev, const struct exact *sums, size_t n, struct exact *out);
/* Between DTYPE_F32 and a 16-bit type, either way. */
void device_cast(struct device *dev, const void *src, enum dtype from, void *dst, enum dtype to,
		 size_t n);

/* Has the device instructions that multiply this type, or is it converted first and takes the
   time of fp32? */
bool device_multiplies(struct device *dev, enum dtype type);
/* The type whose instructions products of this one take, and whose peak bounds them. */
enum dtype device_peak_type(struct device *dev, enum dtype type);
/* For benchmarks: n rounds of independent multiply-adds of that type on every thread, in the
   way that products are computed here; returns the number of floating-point operations. */
double device_fma_rounds(struct device *dev, enum dtype type, long n);

#endif
