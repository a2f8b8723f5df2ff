/* test_hf.c - models of transformers': every number stands where it belongs, there and here;
   harmed folders are refused. */
#include "testing.h"

#include "folders.h"
#include "hf/hf.h"

static struct error err;

/* ---- a model in memory, as a checkpoint has it ---- */

struct checkpoint_like {
	struct hf_model model;
	struct hf_plan plan;
	struct hf_tensor *tensors;
	struct safetensors file;
	float *values;
};

static struct hf_model random_model(struct random *r, enum hf_kind kind)
{
	int width = 2 * random_int(r, 1, 4), groups = random_int(r, 1, 3);
	struct hf_model m = {.kind = kind,
			     .layers = random_int(r, 1, 3),
			     .kv_heads = random_int(r, 1, 3),
			     .ffn = random_int(r, 1, 40),
			     .context = random_int(r, 1, 20),
			     .vocab = random_int(r, 2, 70),
			     .norm_eps = 1e-5,
			     .rope_theta = kind == HF_LLAMA ? 5000 : 0,
			     .dropout = kind == HF_GPT2 ? 0.25 : 0,
			     .bias = kind == HF_LLAMA || random_int(r, 0, 1),
			     .exact_gelu = kind == HF_GPT2 && random_int(r, 0, 1),
			     .tied = kind == HF_GPT2,
			     .end_of_text = -1};

	if (kind == HF_GPT2)
		groups = 1;
	m.heads = m.kv_heads * groups;
	m.dim = m.heads * width;
	return m;
}

static void make_tensors(struct checkpoint_like *c, struct random *r, struct hf_model m)
{
	uint64_t at = 0;

	*c = (struct checkpoint_like){.model = m};
	assert_int_equal(hf_plan_make(&c->plan, &m, fresh(&err)), OK);
	assert_int_equal(hf_plan_ours(&c->plan, &c->tensors, &c->file.count, &err), OK);
	c->file.entries = calloc(c->file.count, sizeof(*c->file.entries));
	for (size_t i = 0; i < c->file.count; i++) {
		struct safetensors_entry *e = &c->file.entries[i];

		*e = c->tensors[i].entry;
		e->begin = at;
		at += (uint64_t)e->shape[0] * (e->dims > 1 ? (uint64_t)e->shape[1] : 1) *
		      sizeof(float);
		e->end = at;
	}
	c->values = malloc(at);
	random_fill(r, c->values, at / sizeof(float));
	c->file.data = (const char *)c->values;
}

static void release_tensors(struct checkpoint_like *c)
{
	hf_plan_release(&c->plan);
	free(c->tensors);
	free(c->file.entries);
	free(c->values);
}

static const float *ours(const struct checkpoint_like *c, const char *name)
{
	const struct safetensors_entry *e = safetensors_find(&c->file, name);

	assert_non_null(e);
	return safetensors_data(&c->file, e);
}

static enum status take(void *arg, const float *values, size_t count, struct error *error)
{
	float **at = arg;

	(void)error;
	memcpy(*at, values, count * sizeof(*values));
	*at += count;
	return OK;
}

/* Is what a folder holds bit by bit what that checkpoint does? */
static void same_tensors(const struct checkpoint_like *c, const char *folder)
{
	size_t size = c->file.entries[c->file.count - 1].end, count;
	float *read = malloc(size), *at = read;
	struct hf_tensor *tensors;
	struct hf_source s;

	assert_int_equal(hf_source_open(&s, folder, fresh(&err)), OK);
	assert_int_equal(hf_plan_ours(&s.plan, &tensors, &count, &err), OK);
	assert_int_equal(count, c->file.count);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(tensors[i].entry.name, c->file.entries[i].name);
		assert_int_equal(hf_source_send(&s, &tensors[i], take, &at, &err), OK);
	}
	assert_ptr_equal(at, (char *)read + size);
	assert_memory_equal(read, c->values, size);
	free(read);
	free(tensors);
	hf_source_close(&s);
}

static void what_is_written_is_read(void **state)
{
	struct random r = random_start("round trip");
	(void)state;

	for (int i = 0; i < 20; i++) {
		struct checkpoint_like c;

		make_tensors(&c, &r, random_model(&r, (enum hf_kind)(i % 2)));
		assert_int_equal(hf_write_model(&c.model, &c.file, base, fresh(&err)), OK);
		same_tensors(&c, base);
		release_tensors(&c);
	}
}

/* Not only there and back: Conv1D's weights are (in, out), q, k and v are tensors of their own,
   zeros stand for biases. */
static void tensors_stand_as_transformers_has_them(void **state)
{
	struct random r = random_start("places");
	struct hf_model m = random_model(&r, HF_GPT2);
	struct checkpoint_like c;
	struct safetensors s;
	const float *theirs, *mine;
	size_t dim, rows;
	(void)state;

	m.bias = false;
	make_tensors(&c, &r, m);
	assert_int_equal(hf_write_model(&m, &c.file, base, fresh(&err)), OK);
	assert_int_equal(safetensors_read(&s, in_base("model.safetensors"), &err), OK);
	assert_non_null(strstr(s.file + 8, "\"__metadata__\": {\"format\": \"pt\"}"));
	theirs = safetensors_data(&s,
				  safetensors_find(&s, "transformer.h.0.attn.c_attn.weight"));
	mine = ours(&c, "blocks.0.attention.qkv.weight");
	dim = (size_t)m.dim;
	for (size_t o = 0; o < 3 * dim; o++)
		for (size_t i = 0; i < dim; i++)
			assert_memory_equal(&theirs[i * 3 * dim + o], &mine[o * dim + i], 4);
	theirs = safetensors_data(&s, safetensors_find(&s, "transformer.h.0.mlp.c_fc.bias"));
	for (int i = 0; i < m.ffn; i++)
		assert_true(theirs[i] == 0);
	assert_null(safetensors_find(&s, "lm_head.weight"));
	safetensors_release(&s);
	release_tensors(&c);

	m = random_model(&r, HF_LLAMA);
	make_tensors(&c, &r, m);
	assert_int_equal(hf_write_model(&m, &c.file, base, fresh(&err)), OK);
	assert_int_equal(safetensors_read(&s, in_base("model.safetensors"), &err), OK);
	dim = (size_t)m.dim;
	rows = dim / (size_t)m.heads * (size_t)m.kv_heads;
	mine = ours(&c, "blocks.0.attention.qkv.weight");
	theirs = safetensors_data(
		&s, safetensors_find(&s, "model.layers.0.self_attn.v_proj.weight"));
	assert_memory_equal(theirs, mine + (dim + rows) * dim, rows * dim * sizeof(float));
	mine = ours(&c, "blocks.0.mlp.gate_up.weight");
	theirs =
		safetensors_data(&s, safetensors_find(&s, "model.layers.0.mlp.up_proj.weight"));
	assert_memory_equal(theirs, mine + (size_t)m.ffn * dim,
			    (size_t)m.ffn * dim * sizeof(float));
	safetensors_release(&s);
	release_tensors(&c);
}

/* ---- harmed folders ---- */

static void refused(const char *says)
{
	struct hf_source s;

	assert_int_not_equal(hf_source_open(&s, base, fresh(&err)), OK);
	if (!strstr(err.msg, says))
		fail_msg("instead of '%s': %s", says, err.msg);
}

/* model.safetensors with one name changed, which is as long. */
static void rename_tensor(const char *from, const char *to)
{
	char *bytes, *at;
	size_t size;

	assert_int_equal(file_read(in_base("model.safetensors"), SIZE_MAX / 2, &bytes, &size,
				   fresh(&err)),
			 OK);
	at = memmem(bytes, size, from, strlen(from));
	assert_non_null(at);
	memcpy(at, to, strlen(to));
	assert_int_equal(file_write_whole(in_base("model.safetensors"), bytes, size, &err), OK);
	free(bytes);
}

static void put_config(const struct hf_model *m)
{
	struct json j;

	json_init(&j, true);
	hf_config_write(m, &j);
	assert_int_equal(json_write_file(&j, in_base("config.json"), fresh(&err)), OK);
	json_release(&j);
}

static void harmed_folders_are_refused(void **state)
{
	struct random r = random_start("harm");
	struct hf_model m = random_model(&r, HF_LLAMA), other = m;
	struct checkpoint_like c;
	(void)state;

	refused("has no config.json");
	make_tensors(&c, &r, m);
	assert_int_equal(hf_write_model(&m, &c.file, base, fresh(&err)), OK);
	rename_tensor("model.norm.weight", "model.form.weight");
	refused("there is no tensor model.norm.weight");
	rename_tensor("model.form.weight", "model.norm.weight");
	same_tensors(&c, base);
	other.ffn++;
	put_config(&other);
	refused("mlp.gate_proj.weight is [");
	other = m;
	other.layers++;
	put_config(&other);
	refused("there is no tensor model.layers.");
	other.layers = m.layers - 1;
	put_config(&other);
	refused(m.layers > 1 ? "kolm has nothing for the tensor model.layers." : "layers is 0");
	put_config(&m);
	put(in_base("model.safetensors"), "short");
	refused("model.safetensors: ");
	unlink(in_base("model.safetensors"));
	refused("has no model.safetensors");
	release_tensors(&c);
}

/* ---- other forms of the same ---- */

/* model.safetensors again: with so much less of every name; or in several files, with an index.
 */
static void write_again(const struct safetensors *s, int files, size_t prefix)
{
	struct safetensors_entry *entries = calloc(s->count, sizeof(*entries));
	struct text index;

	text_init(&index);
	text_add(&index, "{\"weight_map\": {");
	for (int f = 0; f < files; f++) {
		struct file file;
		size_t n = 0;
		char name[64];

		snprintf(name, sizeof(name), files == 1 ? "model.safetensors" : "part-%d", f);
		for (size_t i = 0; i < s->count; i++) {
			const struct safetensors_entry *e = &s->entries[i];

			if ((int)(i % (size_t)files) != f)
				continue;
			entries[n] = *e;
			snprintf(entries[n].name, sizeof(entries[n].name), "%s",
				 e->name + prefix);
			text_addf(&index, "%s\"%s\": \"%s\"", f || n ? ", " : "",
				  entries[n].name, name);
			n++;
		}
		assert_int_equal(
			safetensors_begin(&file, in_base(name), entries, n, fresh(&err)), OK);
		for (size_t i = (size_t)f; i < s->count; i += (size_t)files)
			assert_int_equal(file_write(&file, safetensors_data(s, &s->entries[i]),
						    s->entries[i].end - s->entries[i].begin,
						    &err),
					 OK);
		assert_int_equal(file_commit(&file, &err), OK);
	}
	text_add(&index, "}}");
	if (files > 1) {
		put(in_base("model.safetensors.index.json"), index.data);
		unlink(in_base("model.safetensors"));
	}
	text_release(&index);
	free(entries);
}

static void parts_and_bare_names_are_read_too(void **state)
{
	struct random r = random_start("forms");
	struct checkpoint_like c;
	struct safetensors s;
	(void)state;

	make_tensors(&c, &r, random_model(&r, HF_GPT2));
	assert_int_equal(hf_write_model(&c.model, &c.file, base, fresh(&err)), OK);
	assert_int_equal(safetensors_read(&s, in_base("model.safetensors"), &err), OK);
	write_again(&s, 1, strlen("transformer."));
	same_tensors(&c, base);
	write_again(&s, 3, 0);
	same_tensors(&c, base);
	/* An index that names the wrong file, and a file that is not there. */
	put(in_base("model.safetensors.index.json"),
	    "{\"weight_map\": {\"transformer.wte.weight\": \"part-1\"}}");
	refused("part-1 has no tensor transformer.wte.weight");
	put(in_base("model.safetensors.index.json"), "{\"weight_map\": {\"a\": \"part-9\"}}");
	refused("part-9");
	safetensors_release(&s);
	release_tensors(&c);
}

/* Zeros for biases are left out again; learned ones are not. */
static void biases_are_left_out_while_they_are_zero(void **state)
{
	struct random r = random_start("biases");
	struct hf_model m = random_model(&r, HF_GPT2), with = m;
	struct checkpoint_like c;
	struct hf_source s;
	(void)state;

	m.bias = false;
	with.bias = true;
	make_tensors(&c, &r, m);
	assert_int_equal(hf_write_model(&m, &c.file, base, fresh(&err)), OK);
	assert_int_equal(hf_source_open(&s, base, &err), OK);
	assert_false(s.model.bias);
	hf_source_close(&s);
	release_tensors(&c);
	make_tensors(&c, &r, with);
	assert_int_equal(hf_write_model(&with, &c.file, base, &err), OK);
	put_config(&m); /* which says that there are none */
	assert_int_equal(hf_source_open(&s, base, &err), OK);
	assert_true(s.model.bias);
	hf_source_close(&s);
	same_tensors(&c, base);
	release_tensors(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_written_is_read),
		TEST(tensors_stand_as_transformers_has_them),
		TEST(harmed_folders_are_refused),
		TEST(parts_and_bare_names_are_read_too),
		TEST(biases_are_left_out_while_they_are_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
