/*
 * hf.h - models as Hugging Face's transformers has them: a folder with config.json and
 * model.safetensors, which GPT2LMHeadModel and LlamaForCausalLM load.
 *
 * What such a model is stands in struct hf_model; which tensor there is which rows of which
 * tensor here, in struct hf_plan. Values pass through a few MB of memory, however large the
 * model is.
 */
#ifndef KOLM_HF_HF_H
#define KOLM_HF_HF_H

#include "base/dtype.h"
#include "base/error.h"
#include "base/json.h"
#include "base/names.h"
#include "base/safetensors.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

/* As model_type of config.json has it; as --model has it; and the class that loads it. */
#define HF_KINDS(X)                               \
	X(GPT2, "gpt2", "gpt", "GPT2LMHeadModel") \
	X(LLAMA, "llama", "llama", "LlamaForCausalLM")
#define HF_KIND(name, ...) HF_##name,
enum hf_kind { HF_KINDS(HF_KIND) };
enum { HF_KIND_COUNT = NAMES_COUNT(HF_KINDS) };
extern const char *const hf_kind_names[], *const hf_model_names[], *const hf_classes[];

/* No file may ask for more. */
enum { HF_LAYERS_MAX = 4096, HF_HEADS_MAX = 1024, HF_SIZE_MAX = 1 << 20 };

struct hf_model {
	enum hf_kind kind;
	int layers, heads, kv_heads, dim, ffn, context, vocab;
	double norm_eps, rope_theta, dropout;
	bool bias;	 /* gpt2: otherwise all are zero, and kolm has none */
	bool exact_gelu; /* gpt2: not the approximation by tanh */
	bool tied;	 /* the head is the table of tokens: always of gpt2 */
	bool uneven;	 /* config.json has several dropouts; this one is said for all */
	int end_of_text; /* an id, or -1 */
	enum dtype type; /* of what is written */
};

/* ---- config.json ---- */

/* bytes of it; where names it in messages. Whatever kolm does not have is refused by name. */
enum status hf_config_read(struct hf_model *m, const char *bytes, size_t size,
			   const char *where, struct error *err);
void hf_config_write(const struct hf_model *m, struct json *j);
/* generation_config.json, which would have ids of another tokenizer otherwise. */
void hf_generation_write(const struct hf_model *m, struct json *j);

/* The options of kolm train that stand for it, as members of an object. */
void hf_options_write(const struct hf_model *m, struct json *j);
/* A model from the options of a checkpoint and the shapes of its tensors. */
enum status hf_options_read(struct hf_model *m, const json_t *options,
			    const struct safetensors *tensors, const char *where,
			    struct error *err);

/* ---- which tensor is which ---- */

enum { HF_NAME = sizeof(((struct safetensors_entry *)0)->name) };

enum hf_role {
	HF_BOTH,
	HF_ZEROS, /* there only: zeros */
	HF_COPY,  /* here only: a copy of what is another tensor there */
};

/* Some rows of a tensor here, and what they are there: all of a tensor. */
struct hf_part {
	char ours[HF_NAME], theirs[HF_NAME];
	enum hf_role role;
	bool matrix;
	bool transposed; /* there: (columns, rows) */
	int row;	 /* the first of ours */
	int rows, columns;
};

/* Parts of one tensor of ours stand one behind the other. */
struct hf_plan {
	struct hf_part *parts;
	size_t count;
};

enum status hf_plan_make(struct hf_plan *p, const struct hf_model *m, struct error *err);
void hf_plan_release(struct hf_plan *p);

/* A tensor of ours: its parts, and what stands in a file about it. */
struct hf_tensor {
	struct safetensors_entry entry;
	const struct hf_part *parts;
	int count;
};
/* All of them, in the order of their names, which is that of a checkpoint; to be freed. */
enum status hf_plan_ours(const struct hf_plan *p, struct hf_tensor **out, size_t *count,
			 struct error *err);

/* ---- values ---- */

/* Numbers of any type, aligned or not: element (r, c) is r * row_step + c * column_step
   elements behind the first. */
struct hf_values {
	const char *data;
	enum dtype type;
	size_t row_step, column_step;
};

/* Some rows of them as floats, one behind the other. */
void hf_values_rows(const struct hf_values *v, size_t row, size_t rows, size_t columns,
		    float *out);

/* Takes the next values of something that is written from its beginning to its end. */
typedef enum status hf_sink(void *arg, const float *values, size_t count, struct error *err);
/* All rows, some at a time. */
enum status hf_values_send(const struct hf_values *v, size_t rows, size_t columns,
			   hf_sink *sink, void *arg, struct error *err);

/* ---- a folder to read ---- */

struct hf_found {
	const struct safetensors_entry *entry;
	const struct safetensors *file;
	bool used;
};

struct hf_source {
	struct hf_model model;
	struct hf_plan plan;
	struct safetensors *files;
	size_t n_files;
	struct hf_found *found; /* by name */
	size_t count;
};

/* The names of the files in a model.safetensors.index.json: plain names, each once. */
struct hf_index {
	json_t *root, *map; /* the second: tensor -> file */
	const char **files;
	size_t count;
};
enum status hf_index_read(struct hf_index *x, const char *bytes, size_t size, const char *where,
			  struct error *err);
void hf_index_release(struct hf_index *x);

/* Reads what the folder says of the model, maps its tensors and holds them against that. */
enum status hf_source_open(struct hf_source *s, const char *folder, struct error *err);
void hf_source_close(struct hf_source *s);
/* The values of one of our tensors. */
enum status hf_source_send(const struct hf_source *s, const struct hf_tensor *t, hf_sink *sink,
			   void *arg, struct error *err);

/* ---- a folder to write ---- */

/* Into a folder that is there: what transformers loads. tensors are a checkpoint's. */
enum status hf_write_model(const struct hf_model *m, const struct safetensors *tensors,
			   const char *folder, struct error *err);

/* The files of a tokenizer, which is in tokenizer.json of another folder. */
struct tokenizer;
enum status hf_write_tokenizer(const struct hf_model *m, const struct tokenizer *t,
			       const char *folder, struct error *err);

#endif
