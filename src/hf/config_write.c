/* config_write.c - config.json of a model for transformers, and the options of kolm train that
   stand for one; see hf.h */
#include "hf/hf.h"
#include "base/version.h"

#include <stdio.h>
#include <string.h>

static const char *type_name(enum dtype type)
{
	return type == DTYPE_F32 ? "float32" : type == DTYPE_F16 ? "float16" : "bfloat16";
}

/* Without them transformers takes those of the published models, which are other tokens. */
static void put_ids(const struct hf_model *m, struct json *j)
{
	static const char *const names[] = {"bos_token_id", "eos_token_id"};

	for (int i = 0; i < 2; i++) {
		if (m->end_of_text >= 0)
			json_put_int(j, names[i], m->end_of_text);
		else
			json_put_null(j, names[i]);
	}
}

static void put_gpt2(const struct hf_model *m, struct json *j)
{
	json_put_int(j, "n_positions", m->context);
	json_put_int(j, "n_embd", m->dim);
	json_put_int(j, "n_layer", m->layers);
	json_put_int(j, "n_head", m->heads);
	json_put_int(j, "n_inner", m->ffn);
	json_put_string(j, "activation_function", m->exact_gelu ? "gelu" : "gelu_new");
	json_put_double(j, "layer_norm_epsilon", m->norm_eps);
	json_put_double(j, "resid_pdrop", m->dropout);
	json_put_double(j, "embd_pdrop", m->dropout);
	json_put_double(j, "attn_pdrop", m->dropout);
	json_put_bool(j, "tie_word_embeddings", true);
	if (!m->bias) /* for kolm import: the zeros are not learned */
		json_put_bool(j, "kolm_bias", false);
}

static void put_llama(const struct hf_model *m, struct json *j)
{
	json_put_int(j, "max_position_embeddings", m->context);
	json_put_int(j, "hidden_size", m->dim);
	json_put_int(j, "num_hidden_layers", m->layers);
	json_put_int(j, "num_attention_heads", m->heads);
	json_put_int(j, "num_key_value_heads", m->kv_heads);
	json_put_int(j, "head_dim", m->dim / m->heads);
	json_put_int(j, "intermediate_size", m->ffn);
	json_put_string(j, "hidden_act", "silu");
	json_put_double(j, "rms_norm_eps", m->norm_eps);
	json_put_double(j, "rope_theta", m->rope_theta);
	json_put_bool(j, "attention_bias", false);
	json_put_bool(j, "mlp_bias", false);
	json_put_double(j, "attention_dropout", m->dropout);
	json_put_bool(j, "tie_word_embeddings", false);
}

void hf_config_write(const struct hf_model *m, struct json *j)
{
	json_begin_object(j, NULL);
	json_put_string(j, "model_type", hf_kind_names[m->kind]);
	json_begin_array(j, "architectures");
	json_put_string(j, NULL, hf_classes[m->kind]);
	json_end_array(j);
	json_put_string(j, "torch_dtype", type_name(m->type));
	json_put_int(j, "vocab_size", m->vocab);
	put_ids(m, j);
	if (m->kind == HF_GPT2)
		put_gpt2(m, j);
	else
		put_llama(m, j);
	json_put_bool(j, "use_cache", true);
	json_put_string(j, "kolm_version", KOLM_VERSION);
	json_end_object(j);
}

void hf_generation_write(const struct hf_model *m, struct json *j)
{
	json_begin_object(j, NULL);
	put_ids(m, j);
	json_end_object(j);
}

void hf_options_write(const struct hf_model *m, struct json *j)
{
	json_put_string(j, "model", hf_model_names[m->kind]);
	json_put_int(j, "layers", m->layers);
	json_put_int(j, "heads", m->heads);
	json_put_int(j, "dim", m->dim);
	json_put_int(j, "ffn", m->ffn);
	json_put_int(j, "context", m->context);
	json_put_int(j, "vocab", m->vocab);
	json_put_double(j, "norm_eps", m->norm_eps);
	json_put_double(j, "dropout", m->dropout);
	if (m->kind == HF_LLAMA) {
		json_put_int(j, "kv_heads", m->kv_heads);
		json_put_double(j, "rope_theta", m->rope_theta);
	} else {
		json_put_bool(j, "no_bias", !m->bias);
		json_put_string(j, "gelu", m->exact_gelu ? "exact" : "tanh");
	}
}
