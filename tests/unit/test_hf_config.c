/* test_hf_config.c - config.json and the index of transformers': what kolm does not have is
   refused by name, and no name leads out of a folder. */
#include "testing.h"

#include "hf/hf.h"

static struct error err;

#define GPT2                                                                                  \
	"\"model_type\": \"gpt2\", \"vocab_size\": 65, \"n_positions\": 16, \"n_embd\": 32, " \
	"\"n_layer\": 2, \"n_head\": 4"
#define LLAMA                                                                              \
	"\"model_type\": \"llama\", \"vocab_size\": 65, \"max_position_embeddings\": 16, " \
	"\"hidden_size\": 32, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "      \
	"\"intermediate_size\": 64"

static void what_kolm_has_not_is_refused_by_name(void **state)
{
	static const struct {
		const char *config, *says; /* NULL: it is taken */
	} cases[] = {
		{"{" GPT2 "}", NULL},
		{"{" GPT2 ", \"n_inner\": null, \"use_cache\": false}", NULL},
		{"{" GPT2 ", \"n_inner\": 100, \"activation_function\": \"gelu\"}", NULL},
		{"{" GPT2 ", \"activation_function\": \"gelu_pytorch_tanh\"}", NULL},
		{"{" GPT2 ", \"activation_function\": \"relu\"}", "'relu'"},
		{"{" GPT2 ", \"scale_attn_weights\": false}", "scale_attn_weights is false"},
		{"{" GPT2 ", \"scale_attn_by_inverse_layer_idx\": true}", "inverse_layer_idx"},
		{"{" GPT2 ", \"add_cross_attention\": true}", "add_cross_attention"},
		{"{" GPT2 ", \"tie_word_embeddings\": false}", "tie_word_embeddings"},
		{"{" GPT2 ", \"resid_pdrop\": 1.5}", "resid_pdrop is 1.5"},
		{"{" GPT2 ", \"layer_norm_epsilon\": \"small\"}", "layer_norm_epsilon"},
		{"{" GPT2 ", \"quantization_config\": {}}", "quantization_config"},
		{"{" GPT2 ", \"n_head\": 4}", "not valid JSON"}, /* twice */
		{"{" LLAMA "}", NULL},
		{"{" LLAMA ", \"num_key_value_heads\": 2, \"head_dim\": 8}", NULL},
		{"{" LLAMA ", \"rope_scaling\": null, \"rope_theta\": 500000.0}", NULL},
		{"{" LLAMA ", \"rope_parameters\": {\"rope_type\": \"default\", "
		 "\"rope_theta\": 5}}",
		 NULL},
		{"{" LLAMA ", \"rope_scaling\": {\"type\": \"linear\", \"factor\": 2.0}}",
		 "'linear'"},
		{"{" LLAMA ", \"rope_scaling\": {\"factor\": 2.0}}", "factor"},
		{"{" LLAMA ", \"rope_parameters\": {\"rope_type\": \"llama3\"}}", "'llama3'"},
		{"{" LLAMA ", \"partial_rotary_factor\": 0.5}", "partial_rotary_factor"},
		{"{" LLAMA ", \"num_key_value_heads\": 3}", "do not divide"},
		{"{" LLAMA ", \"head_dim\": 16}", "head_dim is 16"},
		{"{\"model_type\": \"llama\", \"vocab_size\": 9, \"max_position_embeddings\": 8, "
		 "\"hidden_size\": 10, \"num_hidden_layers\": 1, \"num_attention_heads\": 3, "
		 "\"intermediate_size\": 16}",
		 "3 heads do not divide a width of 10"},
		{"{" LLAMA ", \"hidden_act\": \"gelu\"}", "hidden_act is 'gelu'"},
		{"{" LLAMA ", \"attention_bias\": true}", "attention_bias is true"},
		{"{" LLAMA ", \"mlp_bias\": true}", "mlp_bias is true"},
		{"{\"model_type\": \"mistral\"}", "'mistral'"},
		{"{\"model_type\": \"gpt2\"}", "has no vocab_size"},
		{"{\"dim\": 5}", "has no model_type"},
		{"[]", "not an object"},
		{"{", "not valid JSON"},
	};
	struct hf_model m;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *text = cases[i].config;
		enum status st = hf_config_read(&m, text, strlen(text), "it", fresh(&err));

		if ((st == OK) != !cases[i].says)
			fail_msg("%s: %s", text, st == OK ? "was taken" : err.msg);
		if (st != OK && !strstr(err.msg, cases[i].says))
			fail_msg("%s: says %s", text, err.msg);
	}
}

static void an_index_names_files_of_its_folder(void **state)
{
	static const struct {
		const char *text;
		size_t files; /* 0: refused */
	} cases[] = {
		{"{\"weight_map\": {\"a\": \"x\", \"b\": \"y\", \"c\": \"x\"}}", 2},
		{"{\"metadata\": {}, \"weight_map\": {\"a\": \"model-1.safetensors\"}}", 1},
		{"{\"weight_map\": {\"a\": \"../x\"}}", 0},
		{"{\"weight_map\": {\"a\": \"/etc/passwd\"}}", 0},
		{"{\"weight_map\": {\"a\": \"..\"}}", 0},
		{"{\"weight_map\": {\"a\": \"\"}}", 0},
		{"{\"weight_map\": {\"a\": \"x\\u0000y\"}}", 0},
		{"{\"weight_map\": {\"a\": 1}}", 0},
		{"{\"weight_map\": {}}", 0},
		{"{\"weight_map\": []}", 0},
		{"{}", 0},
		{"x", 0},
	};
	struct hf_index x;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *text = cases[i].text;
		enum status st = hf_index_read(&x, text, strlen(text), "it", fresh(&err));

		if ((st == OK) != !!cases[i].files || (st == OK && x.count != cases[i].files))
			fail_msg("%s: %zu files: %s", text, x.count, err.msg);
		if (st == OK)
			hf_index_release(&x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_kolm_has_not_is_refused_by_name),
		cmocka_unit_test(an_index_names_files_of_its_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
