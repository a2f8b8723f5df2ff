/* options_read.c - a model from a checkpoint: shapes say most, its options the rest; see hf.h
 */
#include "hf/hf.h"

#include <stdio.h>
#include <string.h>

struct reader {
	const json_t *options;
	const struct safetensors *tensors;
	const char *where;
	struct error *err;
};

/* The length of a tensor along a dimension. */
static enum status read_shape(const struct reader *r, const char *name, int dimension, int *out)
{
	const struct safetensors_entry *e = safetensors_find(r->tensors, name);

	if (!e)
		return FAIL(r->err, ERR_USAGE, "%.200s has no tensor %s", r->where, name);
	if (e->dims <= dimension || e->shape[dimension] < 1 ||
	    e->shape[dimension] > 4 * HF_SIZE_MAX)
		return FAIL(r->err, ERR_USAGE, "%.200s: %s has an odd shape", r->where, name);
	*out = (int)e->shape[dimension];
	return OK;
}

static enum status read_number(const struct reader *r, const char *name, double *out)
{
	const json_t *value = json_object_get(r->options, name);

	if (!json_is_number(value))
		return FAIL(r->err, ERR_USAGE, "%.200s does not say what --%s was", r->where,
			    name);
	*out = json_number_value(value);
	return OK;
}

static enum status read_count(const struct reader *r, const char *name, int *out)
{
	enum status st;
	double value = 0;

	TRY(read_number(r, name, &value));
	if (value < 1 || value > HF_SIZE_MAX || value != (double)(int)value)
		st = FAIL(r->err, ERR_USAGE, "%.200s: --%s of %g", r->where, name, value);
	else
		*out = (int)value;
out:
	return st;
}

static enum status read_kind(const struct reader *r, struct hf_model *m)
{
	const char *name = json_string_value(json_object_get(r->options, "model"));

	for (int k = 0; name && k < HF_KIND_COUNT; k++)
		if (!strcmp(name, hf_model_names[k])) {
			m->kind = (enum hf_kind)k;
			return OK;
		}
	FAIL(r->err, ERR_USAGE, "%.200s is of a model %.20s, which transformers does not have",
	     r->where, name ? name : "mlp");
	return HINT(r->err, "gpt and llama can be exported; model.safetensors opens in Python");
}

static int count_blocks(const struct reader *r)
{
	char name[HF_NAME];
	int n = 0;

	do
		snprintf(name, sizeof(name), "blocks.%d.norm1.weight", n);
	while (safetensors_find(r->tensors, name) && ++n < HF_LAYERS_MAX);
	return n;
}

static enum status read_gpt2(const struct reader *r, struct hf_model *m)
{
	const char *gelu = json_string_value(json_object_get(r->options, "gelu"));
	enum status st;

	TRY(read_shape(r, "positions.weight", 0, &m->context));
	TRY(read_shape(r, "blocks.0.mlp.up.weight", 0, &m->ffn));
	m->bias = safetensors_find(r->tensors, "norm.bias");
	m->exact_gelu = gelu && !strcmp(gelu, "exact");
	m->kv_heads = m->heads;
	m->tied = true;
out:
	return st;
}

/* What is not q in q|k|v is keys and values. */
static enum status read_llama(const struct reader *r, struct hf_model *m)
{
	int rows = 0, width = m->dim / m->heads;
	enum status st;

	TRY(read_count(r, "context", &m->context));
	TRY(read_number(r, "rope_theta", &m->rope_theta));
	TRY(read_shape(r, "blocks.0.mlp.down.weight", 1, &m->ffn));
	TRY(read_shape(r, "blocks.0.attention.qkv.weight", 0, &rows));
	m->kv_heads = (rows - m->dim) / 2 / width;
	if (m->kv_heads < 1 || m->heads % m->kv_heads)
		return FAIL(r->err, ERR_USAGE,
			    "%.200s: %d rows of q|k|v are not those of %d heads", r->where,
			    rows, m->heads);
out:
	return st;
}

enum status hf_options_read(struct hf_model *m, const json_t *options,
			    const struct safetensors *tensors, const char *where,
			    struct error *err)
{
	struct reader r = {options, tensors, where, err};
	enum status st;

	*m = (struct hf_model){.end_of_text = -1, .type = DTYPE_F32};
	TRY(read_kind(&r, m));
	TRY(read_shape(&r, "tokens.weight", 0, &m->vocab));
	TRY(read_shape(&r, "tokens.weight", 1, &m->dim));
	TRY(read_count(&r, "heads", &m->heads));
	TRY(read_number(&r, "norm_eps", &m->norm_eps));
	TRY(read_number(&r, "dropout", &m->dropout));
	if (m->dim % m->heads)
		return FAIL(err, ERR_USAGE, "%.200s: %d heads do not divide a width of %d",
			    where, m->heads, m->dim);
	TRY(m->kind == HF_GPT2 ? read_gpt2(&r, m) : read_llama(&r, m));
	m->layers = count_blocks(&r);
	if (!m->layers)
		st = FAIL(err, ERR_USAGE, "%.200s has no blocks", where);
out:
	return st;
}
