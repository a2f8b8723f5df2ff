/* fuzz_form.c - a description of data that is accepted is written as it was read. */
#include "fuzz.h"

#include "data/form.h"

#include <jansson.h>

static json_t *written(const struct data_form *f)
{
	struct json j;
	json_t *root;

	json_init(&j, false);
	json_begin_object(&j, NULL);
	data_form_write(f, &j);
	json_end_object(&j);
	root = json_loads(j.text.data, 0, NULL);
	json_release(&j);
	return root;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *root = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
	json_t *first, *second;
	struct data_form f, g;
	struct error err = {0};

	if (root && data_form_read(&f, root, &err) == OK) {
		first = written(&f);
		if (!first || data_form_read(&g, first, &err) != OK)
			abort();
		second = written(&g);
		if (!json_equal(first, second))
			abort();
		json_decref(first);
		json_decref(second);
		data_form_release(&f);
		data_form_release(&g);
	}
	json_decref(root);
	return 0;
}
