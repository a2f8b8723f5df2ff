/*
 * config_read.c - what config.json says of a model; see hf.h
 *
 * A model that kolm would compute in another way is refused with what it has and kolm has not.
 * What changes no number of a trained model (use_cache, summary_type, ...) is passed over.
 */
#include "hf/hf.h"
#include "base/util.h"

#include <math.h>
#include <string.h>

enum { SHOWN = 60 };

/* One that is being read. */
struct reader {
	const json_t *root;
	const char *where;
	struct error *err;
};

static const json_t *get(const struct reader *r, const char *name)
{
	const json_t *value = json_object_get(r->root, name);

	return json_is_null(value) ? NULL : value;
}

/* A value as people write it. */
static const char *show(const json_t *value, char *buf, size_t size)
{
	if (json_is_string(value))
		snprintf(buf, size, "'%.*s'", SHOWN, json_string_value(value));
	else if (json_is_integer(value))
		snprintf(buf, size, "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		snprintf(buf, size, "%g", json_real_value(value));
	else if (json_is_boolean(value))
		snprintf(buf, size, "%s", json_is_true(value) ? "true" : "false");
	else
		snprintf(buf, size, "%s",
			 json_is_object(value)	? "an object"
			 : json_is_array(value) ? "a list"
						: "nothing");
	return buf;
}

static enum status refuse(const struct reader *r, const char *name, const json_t *value,
			  const char *hint)
{
	char text[SHOWN + 16];

	FAIL(r->err, ERR_USAGE, "%.200s: %s is %s, which kolm does not have", r->where, name,
	     show(value, text, sizeof(text)));
	return HINT(r->err, "%s", hint);
}

/* A whole number of 1 .. most; otherwise: where there is none, 0 if there must be one. */
static enum status read_int(const struct reader *r, const char *name, int otherwise, int most,
			    int *out)
{
	const json_t *value = get(r, name);
	char text[SHOWN + 16];

	*out = otherwise;
	if (!value && otherwise)
		return OK;
	if (!value) {
		FAIL(r->err, ERR_USAGE, "%.200s has no %s", r->where, name);
		return HINT(r->err, "it should be the config.json of a model");
	}
	if (!json_is_integer(value) || json_integer_value(value) < 1 ||
	    json_integer_value(value) > most) {
		FAIL(r->err, ERR_USAGE, "%.200s: %s is %s", r->where, name,
		     show(value, text, sizeof(text)));
		return HINT(r->err, "kolm takes whole numbers of 1 .. %d", most);
	}
	*out = (int)json_integer_value(value);
	return OK;
}

static enum status read_number(const struct reader *r, const char *name, double otherwise,
			       double least, double most, double *out)
{
	const json_t *value = get(r, name);
	char text[SHOWN + 16];

	*out = value ? json_number_value(value) : otherwise;
	if (!value || (json_is_number(value) && *out >= least && *out <= most))
		return OK;
	FAIL(r->err, ERR_USAGE, "%.200s: %s is %s", r->where, name,
	     show(value, text, sizeof(text)));
	return HINT(r->err, "kolm takes numbers of %g .. %g", least, most);
}

/* True or false; must: the value that kolm can do, which is also that of a missing member. */
static enum status check_flag(const struct reader *r, const char *name, bool must,
			      const char *hint)
{
	const json_t *value = get(r, name);

	if (!value || (json_is_boolean(value) && json_is_true(value) == must))
		return OK;
	return refuse(r, name, value, hint);
}

static bool is_one_of(const json_t *value, const char *const *names)
{
	const char *text = json_string_value(value);

	for (; text && *names; names++)
		if (!strcmp(text, *names))
			return true;
	return false;
}

/* ---- gpt2 ---- */

static enum status read_gelu(const struct reader *r, bool *exact)
{
	/* Several names of two functions. */
	static const char *const tanh_names[] = {"gelu_new", "gelu_pytorch_tanh", "gelu_fast",
						 NULL};
	static const char *const exact_names[] = {"gelu", "gelu_python", NULL};
	const json_t *value = get(r, "activation_function");

	*exact = is_one_of(value, exact_names);
	if (!value || *exact || is_one_of(value, tanh_names))
		return OK;
	return refuse(r, "activation_function", value, "gelu_new and gelu can be imported");
}

static enum status read_dropout(const struct reader *r, struct hf_model *m)
{
	static const char *const names[] = {"resid_pdrop", "embd_pdrop", "attn_pdrop"};
	double p[ARRAY_SIZE(names)];
	enum status st = OK;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		TRY(read_number(r, names[i], 0.1, 0, 0.99, &p[i]));
	m->dropout = p[0];
	m->uneven = p[1] != p[0] || p[2] != p[0];
out:
	return st;
}

static enum status read_gpt2(const struct reader *r, struct hf_model *m)
{
	const char *positions = get(r, "n_positions") ? "n_positions" : "n_ctx";
	enum status st;

	TRY(read_int(r, "vocab_size", 0, HF_SIZE_MAX, &m->vocab));
	TRY(read_int(r, positions, 0, HF_SIZE_MAX, &m->context));
	TRY(read_int(r, "n_embd", 0, HF_SIZE_MAX, &m->dim));
	TRY(read_int(r, "n_layer", 0, HF_LAYERS_MAX, &m->layers));
	TRY(read_int(r, "n_head", 0, HF_HEADS_MAX, &m->heads));
	TRY(read_int(r, "n_inner", 4 * m->dim, HF_SIZE_MAX, &m->ffn));
	TRY(read_number(r, "layer_norm_epsilon", 1e-5, 1e-12, 1, &m->norm_eps));
	TRY(read_gelu(r, &m->exact_gelu));
	TRY(read_dropout(r, m));
	TRY(check_flag(r, "scale_attn_weights", true, "products of attention are scaled"));
	TRY(check_flag(r, "scale_attn_by_inverse_layer_idx", false,
		       "attention is scaled alike in all layers"));
	TRY(check_flag(r, "add_cross_attention", false, "there is no encoder"));
	TRY(check_flag(r, "tie_word_embeddings", true,
		       "a gpt's head is its table of tokens; a llama has one of its own"));
	m->kv_heads = m->heads;
	m->tied = true;
	/* Ours: a model that was trained without them, see config_write.c. */
	m->bias = !json_is_false(get(r, "kolm_bias"));
out:
	return st;
}

/* ---- llama ---- */

/* Newer files have an object rope_parameters, older ones rope_theta and rope_scaling. */
static enum status read_rotary(const struct reader *r, struct hf_model *m)
{
	static const char *const plain[] = {"default", NULL};
	static const char *const objects[] = {"rope_parameters", "rope_scaling"};
	enum status st;

	TRY(read_number(r, "rope_theta", 10000, 1, 1e12, &m->rope_theta));
	TRY(read_number(r, "partial_rotary_factor", 1, 1, 1, &(double){0}));
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		const json_t *object = get(r, objects[i]);
		struct reader in = {object, r->where, r->err};
		const json_t *type = get(&in, "rope_type");

		if (!object)
			continue;
		if (!json_is_object(object))
			return refuse(r, objects[i], object, "it should be an object");
		type = type ? type : get(&in, "type");
		if (type && !is_one_of(type, plain))
			return refuse(&in, "rope_type", type,
				      "positions that are not scaled can be imported");
		TRY(read_number(&in, "factor", 1, 1, 1, &(double){0}));
		TRY(read_number(&in, "partial_rotary_factor", 1, 1, 1, &(double){0}));
		TRY(read_number(&in, "rope_theta", m->rope_theta, 1, 1e12, &m->rope_theta));
	}
out:
	return st;
}

static enum status read_llama(const struct reader *r, struct hf_model *m)
{
	static const char *const silu[] = {"silu", "swish", NULL};
	const json_t *act = get(r, "hidden_act");
	int width;
	enum status st;

	TRY(read_int(r, "vocab_size", 0, HF_SIZE_MAX, &m->vocab));
	TRY(read_int(r, "max_position_embeddings", 0, HF_SIZE_MAX, &m->context));
	TRY(read_int(r, "hidden_size", 0, HF_SIZE_MAX, &m->dim));
	TRY(read_int(r, "num_hidden_layers", 0, HF_LAYERS_MAX, &m->layers));
	TRY(read_int(r, "num_attention_heads", 0, HF_HEADS_MAX, &m->heads));
	TRY(read_int(r, "num_key_value_heads", m->heads, HF_HEADS_MAX, &m->kv_heads));
	TRY(read_int(r, "intermediate_size", 0, HF_SIZE_MAX, &m->ffn));
	TRY(read_int(r, "head_dim", imax(m->dim / m->heads, 1), HF_SIZE_MAX, &width));
	TRY(read_number(r, "rms_norm_eps", 1e-6, 1e-12, 1, &m->norm_eps));
	TRY(read_number(r, "attention_dropout", 0, 0, 0.99, &m->dropout));
	TRY(read_rotary(r, m));
	TRY(check_flag(r, "attention_bias", false, "a llama has no biases"));
	TRY(check_flag(r, "mlp_bias", false, "a llama has no biases"));
	if (act && !is_one_of(act, silu))
		return refuse(r, "hidden_act", act, "silu can be imported");
	if (m->dim % m->heads == 0 && (int64_t)width * m->heads != m->dim) /* see check_sizes */
		return refuse(r, "head_dim", get(r, "head_dim"),
			      "heads are as wide as hidden_size / num_attention_heads");
	m->tied = json_is_true(get(r, "tie_word_embeddings"));
	m->uneven = m->dropout > 0;
out:
	return st;
}

/* ---- both ---- */

static enum status check_sizes(const struct reader *r, const struct hf_model *m)
{
	if (m->ffn > HF_SIZE_MAX) { /* four times dim, if nobody says so */
		FAIL(r->err, ERR_USAGE, "%.200s: n_embd is %d", r->where, m->dim);
		return HINT(r->err, "kolm takes whole numbers of 1 .. %d", HF_SIZE_MAX / 4);
	}
	if (m->dim % m->heads) {
		FAIL(r->err, ERR_USAGE, "%.200s: %d heads do not divide a width of %d",
		     r->where, m->heads, m->dim);
		return HINT(r->err, "no such model can be computed");
	}
	if (m->heads % m->kv_heads) {
		FAIL(r->err, ERR_USAGE,
		     "%.200s: %d heads of keys and values do not divide %d heads", r->where,
		     m->kv_heads, m->heads);
		return HINT(r->err, "no such model can be computed");
	}
	if (m->kind == HF_LLAMA && m->dim / m->heads % 2) {
		FAIL(r->err, ERR_USAGE, "%.200s: heads of an odd width, %d", r->where,
		     m->dim / m->heads);
		return HINT(r->err, "rotary positions turn pairs of numbers");
	}
	return OK;
}

static enum status read_kind(const struct reader *r, struct hf_model *m)
{
	const json_t *type = get(r, "model_type");

	for (int k = 0; json_is_string(type) && k < HF_KIND_COUNT; k++)
		if (!strcmp(json_string_value(type), hf_kind_names[k])) {
			m->kind = (enum hf_kind)k;
			return OK;
		}
	if (type)
		return refuse(r, "model_type", type, "gpt2 and llama can be imported");
	FAIL(r->err, ERR_USAGE, "%.200s has no model_type", r->where);
	return HINT(r->err, "give a folder that save_pretrained of transformers has written");
}

static enum status read_all(const struct reader *r, struct hf_model *m)
{
	const json_t *packed = get(r, "quantization_config");
	enum status st;

	TRY(read_kind(r, m));
	if (packed)
		return refuse(r, "quantization_config", packed,
			      "weights of F32, F16 and BF16 can be imported");
	TRY(m->kind == HF_GPT2 ? read_gpt2(r, m) : read_llama(r, m));
	TRY(check_sizes(r, m));
out:
	return st;
}

enum status hf_config_read(struct hf_model *m, const char *bytes, size_t size,
			   const char *where, struct error *err)
{
	json_error_t problem;
	json_t *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &problem);
	enum status st;

	*m = (struct hf_model){.end_of_text = -1, .type = DTYPE_F32, .bias = true};
	if (json_is_object(root))
		st = read_all(&(struct reader){root, where, err}, m);
	else if (root)
		st = FAIL(err, ERR_USAGE, "%.200s is JSON, but not an object", where);
	else
		st = FAIL(err, ERR_USAGE, "%.200s is not valid JSON: line %d, column %d: %s",
			  where, problem.line, problem.column, problem.text);
	json_decref(root);
	return st;
}
