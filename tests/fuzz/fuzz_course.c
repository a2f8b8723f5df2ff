/* fuzz_course.c - the course of a training, as a checkpoint has it: what can be read can be
   written, and is then the same. */
#include "fuzz.h"

#include "cmd/course.h"

static struct course written_and_read(const struct course *c)
{
	struct course again;
	struct json j;
	json_t *root;

	json_init(&j, false);
	json_begin_object(&j, NULL);
	course_write(c, &j);
	json_end_object(&j);
	root = json_loads(j.text.data, 0, NULL);
	if (course_read(&again, json_object_get(root, "course"), &(struct error){0}) != OK)
		abort();
	json_decref(root);
	json_release(&j);
	return again;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *root = json_loadb((const char *)data, size, JSON_DECODE_ANY, NULL);
	struct course c, again;

	if (course_read(&c, root, &(struct error){0}) == OK) {
		again = written_and_read(&c);
		if (again.best.step != c.best.step || again.since_best != c.since_best ||
		    again.bad_steps != c.bad_steps || again.has_grown != c.has_grown ||
		    (c.best.step >= 0 && again.best.loss != c.best.loss))
			abort();
	}
	json_decref(root);
	return 0;
}
