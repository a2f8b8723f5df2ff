/* gpu.h - the parts of a GPU device: its state, and how a kernel is launched. Only for
   device/gpu/. */
#ifndef KOLM_DEVICE_GPU_GPU_H
#define KOLM_DEVICE_GPU_GPU_H

#include "device/gpu/driver.h"
#include "device/gpu/kernels/sizes.h"
#include "device/impl.h"

/* Programs: name, and the texts behind common.h that they are made of. */
#define GPU_PROGRAMS(X) \
	X(rows)         \
	X(norm)         \
	X(tokens)       \
	X(classes)      \
	X(sums)         \
	X(attention)
#define GPU_PROGRAM(name) GPU_PROGRAM_##name,
enum gpu_program_id { GPU_PROGRAMS(GPU_PROGRAM) GPU_PROGRAM_COUNT };
#undef GPU_PROGRAM

/* Kernels: name, program, items of a group. */
#define GPU_KERNELS(X)                                      \
	X(copy, rows, TILE_X, TILE_Y)                       \
	X(activate, rows, TILE_X, TILE_Y)                   \
	X(derive, rows, TILE_X, TILE_Y)                     \
	X(add, rows, TILE_X, TILE_Y)                        \
	X(dropout, rows, TILE_X, TILE_Y)                    \
	X(gate, rows, TILE_X, TILE_Y)                       \
	X(gate_gradient, rows, TILE_X, TILE_Y)              \
	X(rotate_heads, rows, TILE_X, TILE_Y)               \
	X(norm_forward, norm, ROW_ITEMS, 1)                 \
	X(norm_backward_input, norm, ROW_ITEMS, 1)          \
	X(column_sums, norm, COLUMNS, LANES)                \
	X(embed, tokens, TILE_X, TILE_Y)                    \
	X(link_tokens, tokens, FLAT_ITEMS, 1)               \
	X(embed_gradient, tokens, TILE_X, TILE_Y)           \
	X(add_positions, tokens, TILE_X, TILE_Y)            \
	X(positions_gradient, tokens, TILE_X, TILE_Y)       \
	X(mse, classes, ROW_ITEMS, 1)                       \
	X(class_stats, classes, ROW_ITEMS, 1)               \
	X(class_loss, classes, ROW_ITEMS, 1)                \
	X(update, sums, FLAT_ITEMS, 1)                      \
	X(sum_squares, sums, FLAT_ITEMS, 1)                 \
	X(add_parts, sums, FLAT_ITEMS, 1)                   \
	X(cast, sums, FLAT_ITEMS, 1)                        \
	X(clear, sums, FLAT_ITEMS, 1)                       \
	X(multiply_adds, sums, FLAT_ITEMS, 1)               \
	X(attention_forward, attention, ATTENTION_ITEMS, 1) \
	X(attention_queries, attention, ATTENTION_ITEMS, 1) \
	X(attention_keys, attention, ATTENTION_ITEMS, 1)
#define GPU_KERNEL(name, ...) GPU_##name,
enum gpu_kernel_id { GPU_KERNELS(GPU_KERNEL) GPU_KERNEL_COUNT };
#undef GPU_KERNEL

enum {
	GPU_PARTS = 1024,  /* groups that sum a flat array */
	GPU_EVENTS = 4096, /* that are remembered; an older one stands for all so far */
	GPU_UPLOADS = 64,  /* writes of the host that may be under way */
	GPU_FETCHES = 16,  /* reads that nobody has waited for yet */
	GPU_TILES = 4,	   /* ways to cut a product */
	GPU_LAYOUTS = 3,   /* forward, input gradient, weight gradient */
	GPU_TYPES = 4,	   /* of the operands of a product: one of the precisions, or any */
};

/* Memory of this device. */
struct gpu_memory {
	char *address;
	uint64_t bytes;
	char *host;   /* what the host sees of it, or NULL so far */
	bool is_ours; /* host: from malloc, not from a source */
};

/* What the host wrote, on its way. */
struct gpu_upload {
	const char *begin, *end; /* addresses */
	struct gpu_event *done;
};

/* What the host will read, on its way. */
struct gpu_fetch {
	const void *memory;
	enum device_queue queue;
	struct gpu_event *done;
};

struct gpu {
	const struct gpu_driver *driver;
	struct gpu_context *context; /* NULL: a plan */
	struct gpu_info info;
	const char *cache;  /* folder, or NULL */
	struct device *cpu; /* threads of the host */
	bool is_reversed;   /* items of a group the other way round, for tests */
	struct gpu_kernel *kernels[GPU_KERNEL_COUNT];
	struct gpu_kernel *products[GPU_TILES][GPU_LAYOUTS][GPU_TYPES];
	int tile[GPU_TYPES]; /* that is fastest, or -1: not known */
	int groups;	     /* of GPUs that this is in */
	struct gpu_memory *memory;
	int n_memory, room;
	struct gpu_upload uploads[GPU_UPLOADS];
	int n_uploads;
	struct gpu_fetch fetches[GPU_FETCHES]; /* in their order */
	int n_fetches;
	struct gpu_event *events[QUEUE_COUNT][GPU_EVENTS];
	uint64_t n_events[QUEUE_COUNT];
	bool has_news[QUEUE_COUNT]; /* something was put there since its last event */
	struct gpu_times *times;    /* NULL: nobody observes */
	double *parts;		    /* for sums: GPU_PARTS, or two for each row */
	int32_t *links;		    /* of tokens: two for each row */
	int rows;		    /* for which those are */
	float *room_for_rounds;	    /* of fma_rounds */
	void *room_for_products;    /* of the driver's own */
};

static inline struct gpu *gpu_of(const struct device *dev)
{
	return dev->state;
}

/* ---- gpu_programs.c ---- */

/* All programs but the products. */
enum status gpu_build(struct gpu *g, struct error *err);
/* A program with lines before it: from the cache, or built and kept there. */
enum status gpu_build_one(struct gpu *g, const char *name, const char *const *texts, int count,
			  const char *defines, struct gpu_program **out, struct error *err);
extern const char gpu_text_sizes[], gpu_text_common[], gpu_text_product[];

/* ---- gpu_cache.c: small files that may be there or not ---- */

/* The contents of that name for this device, from malloc; or NULL. */
void *gpu_cache_read(const struct gpu *g, const char *name, size_t *size);
void gpu_cache_write(const struct gpu *g, const char *name, const void *data, size_t size);

/* ---- gpu_launch.c: arguments in the order of the kernel's ---- */

struct gpu_launch gpu_begin(struct gpu *g, enum gpu_kernel_id kernel);
void gpu_put_view(struct gpu_launch *l, struct view v);
void gpu_put_vector(struct gpu_launch *l, const void *data, enum dtype type);
void gpu_put_ints(struct gpu_launch *l, const int32_t *data);
void gpu_put_numbers(struct gpu_launch *l, const double *data);
void gpu_put_int(struct gpu_launch *l, int value);
void gpu_put_long(struct gpu_launch *l, int64_t value);
void gpu_put_float(struct gpu_launch *l, float value);
void gpu_put_double(struct gpu_launch *l, double value);
void gpu_put_dropout(struct gpu_launch *l, const struct dropout *d);
/* Groups for so many rows and columns, for each row, for n elements, or as they are. */
void gpu_run_tiles(struct gpu *g, struct gpu_launch *l, int rows, int columns);
void gpu_run_rows(struct gpu *g, struct gpu_launch *l, int rows);
void gpu_run_flat(struct gpu *g, struct gpu_launch *l, size_t n);
void gpu_run(struct gpu *g, struct gpu_launch *l, int x, int y, int z);
/* *number += factor * the sum of n parts, which a kernel left in g->parts from `at` on. */
void gpu_add_parts(struct gpu *g, size_t at, size_t n, double factor, double *number);
/* Groups, and so parts, of a flat array. */
int gpu_flat_groups(size_t n);

/* ---- gpu_host.c ---- */

void *gpu_map(struct device *dev, uint64_t bytes);
void gpu_unmap(struct device *dev, void *memory, uint64_t bytes);
void *gpu_hide(struct device *dev, void *memory, uint64_t bytes, bool shared);
void gpu_forget(struct device *dev, const struct allocation *a);
struct device_event gpu_mark(struct device *dev, enum device_queue queue);
void gpu_await(struct device *dev, enum device_queue queue, struct device_event event);
void *gpu_host_begin(struct device *dev, enum device_queue queue, void *memory, size_t bytes,
		     enum host_access access);
bool gpu_host_ask(struct device *dev, enum device_queue queue, void *memory, size_t bytes);
bool gpu_host_asked(struct device *dev, const void *memory);
bool gpu_host_has(struct device *dev, const void *memory);
void gpu_host_end(struct device *dev, enum device_queue queue, void *memory, size_t bytes,
		  enum host_access access);
size_t gpu_matrix_size(int out, int in);
void gpu_matrix_write(struct device *dev, void *matrix, enum dtype type, int out, int in,
		      int row, int rows, const float *values);
void gpu_matrix_read(struct device *dev, const void *matrix, enum dtype type, int out, int in,
		     int row, int rows, float *values);
void gpu_write(struct device *dev, void *memory, enum dtype type, size_t n,
	       const float *values);
void gpu_read(struct device *dev, const void *memory, enum dtype type, size_t n, float *values);
void gpu_numbers(struct device *dev, const double *numbers, size_t n, double *out);
void gpu_release_events(struct gpu *g);

/* ---- gpu_time.c ---- */

enum status gpu_observe(struct device *dev, struct error *err);
int64_t gpu_stamp(struct device *dev, enum device_queue queue);
int64_t gpu_settle(struct device *dev);
int64_t gpu_time_of(struct device *dev, int64_t stamp);

/* ---- gpu_group.c ---- */
void gpu_introduce(struct device *dev, struct device_card *card);
enum status gpu_found(struct device *dev, struct device_ticket *ticket, struct error *err);
enum status gpu_join(struct device_group *group, const struct device_ticket *ticket, int size,
		     int rank, struct error *err);
void gpu_leave(struct device_group *group, bool failed);
void gpu_exchange(struct device_group *group, const struct device_exchange *x);

/* ---- gpu_linear.c ---- */

/* With our own kernel, cut in that way. */
void gpu_multiply(struct gpu *g, const struct gpu_product *p, int tile);
void gpu_forward(struct device *dev, const struct linear *l);
void gpu_backward_input(struct device *dev, const struct linear *l);
void gpu_backward_weight(struct device *dev, const struct linear *l);

/* ---- gpu_tune.c ---- */

/* Which way to cut products of that type is fastest: known from the cache, or measured. */
int gpu_fastest_tile(struct gpu *g, int type);

/* ---- gpu_rows.c ---- */
void gpu_copy(struct device *dev, struct view to, int to_column, struct view from,
	      int from_column, int rows, int columns);
void gpu_activate(struct device *dev, struct view y, struct view bias, struct view before,
		  int rows, int columns, enum activation act);
void gpu_derive(struct device *dev, struct view dy, struct view saved, int rows, int columns,
		enum activation act);
void gpu_add(struct device *dev, struct view to, struct view from, int rows, int columns);
void gpu_dropout(struct device *dev, struct view to, struct view from, int rows, int columns,
		 const struct dropout *d);
void gpu_gate(struct device *dev, const struct gate *g);
void gpu_gate_gradient(struct device *dev, const struct gate *g);
void gpu_rotate(struct device *dev, const struct rotary *r);
void gpu_norm_forward(struct device *dev, const struct norm *n);
void gpu_norm_backward_input(struct device *dev, const struct norm *n);
void gpu_norm_backward_weight(struct device *dev, const struct norm *n);

/* ---- gpu_tokens.c ---- */
void gpu_embed(struct device *dev, const struct embedding *e);
void gpu_embed_gradient(struct device *dev, const struct embedding *e);
void gpu_add_positions(struct device *dev, const struct positions *p);
void gpu_positions_gradient(struct device *dev, const struct positions *p);
void gpu_attention_forward(struct device *dev, const struct attention *a);
void gpu_attention_backward(struct device *dev, const struct attention *a);

/* ---- gpu_sums.c ---- */
void gpu_clear(struct device *dev, double *numbers, size_t n);
void gpu_mse(struct device *dev, struct view y, struct view target, struct view dy, int rows,
	     int columns, float scale, double *sum);
void gpu_class_stats(struct device *dev, const struct class_slice *c);
void gpu_class_loss(struct device *dev, const struct class_slice *c, double *sum,
		    double *correct);
void gpu_update(struct device *dev, const struct update *u, size_t n, double *squares);
void gpu_sum_squares(struct device *dev, const void *x, enum dtype type, size_t n,
		     double factor, double *sum);
void gpu_cast(struct device *dev, const void *src, enum dtype from, void *dst, enum dtype to,
	      size_t n);
double gpu_fma_rounds(struct device *dev, enum dtype type, long n);

#endif
