/* tree.c - see tree.h */
#include "study/tree.h"

#include <math.h>

static void put_null(struct json *j, const char *name)
{
	json_put_double(j, name, NAN); /* which JSON has no other word for */
}

void tree_put(struct json *j, const char *name, const json_t *tree)
{
	const char *key;
	json_t *value;

	if (!tree || j->depth >= JSON_MAX_DEPTH - 1) {
		put_null(j, name);
		return;
	}
	switch (json_typeof(tree)) {
	case JSON_OBJECT:
		json_begin_object(j, name);
		json_object_foreach((json_t *)tree, key, value) tree_put(j, key, value);
		json_end_object(j);
		break;
	case JSON_ARRAY:
		json_begin_array(j, name);
		for (size_t i = 0; i < json_array_size(tree); i++)
			tree_put(j, NULL, json_array_get(tree, i));
		json_end_array(j);
		break;
	case JSON_STRING:
		json_put_string(j, name, json_string_value(tree));
		break;
	case JSON_INTEGER:
		json_put_int(j, name, json_integer_value(tree));
		break;
	case JSON_REAL:
		json_put_double(j, name, json_real_value(tree));
		break;
	case JSON_NULL:
		put_null(j, name);
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		json_put_bool(j, name, json_is_true(tree));
		break;
	}
}

enum status tree_write_file(const json_t *tree, const char *path, struct error *err)
{
	struct json j;
	enum status st;

	json_init(&j, true);
	tree_put(&j, NULL, tree);
	st = json_write_file(&j, path, err);
	json_release(&j);
	return st;
}
