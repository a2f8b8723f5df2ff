/* fuzz_hf.c - config.json of transformers, and the index of a model in parts: what is accepted
   is a model that can be written, read again and is the same then; files are plain names. */
#include "fuzz.h"

#include "hf/hf.h"

/* But for what config.json can't say of ours. */
static void check_model(const struct hf_model *m)
{
	struct hf_model again;
	struct error err = {0};
	struct json one, two;

	json_init(&one, true);
	json_init(&two, true);
	hf_config_write(m, &one);
	if (hf_config_read(&again, one.text.data, one.text.len, "again", &err) != OK)
		abort();
	hf_config_write(&again, &two);
	if (strcmp(one.text.data, two.text.data) != 0 || m->dim % m->heads ||
	    m->heads % m->kv_heads)
		abort();
	json_release(&one);
	json_release(&two);
}

static void check_plan(const struct hf_model *m)
{
	struct hf_plan plan;
	struct hf_tensor *ours;
	struct error err = {0};
	size_t count;

	if (hf_plan_make(&plan, m, &err) != OK ||
	    hf_plan_ours(&plan, &ours, &count, &err) != OK)
		abort();
	for (size_t i = 0; i < count; i++)
		if (ours[i].entry.shape[0] < 1 ||
		    (i && strcmp(ours[i - 1].entry.name, ours[i].entry.name) >= 0))
			abort();
	free(ours);
	hf_plan_release(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = {0};
	struct hf_model m;
	struct hf_index x;

	if (hf_config_read(&m, (const char *)data, size, "fuzz", &err) == OK) {
		check_model(&m);
		if (m.layers < 64)
			check_plan(&m);
	}
	err = (struct error){0};
	if (hf_index_read(&x, (const char *)data, size, "fuzz", &err) == OK) {
		for (size_t i = 0; i < x.count; i++)
			if (strchr(x.files[i], '/') || !*x.files[i] || *x.files[i] == '.')
				abort();
		hf_index_release(&x);
	}
	return 0;
}
