/* test_golden.c - small runs against what PyTorch computed (tests/golden). */
#include "testing.h"

#include "base/file.h"
#include "base/safetensors.h"
#include "cmd/cmd.h"

#include <dirent.h>
#include <jansson.h>

enum { ARGUMENTS_MAX = 64 };

static json_t *load(const char *path)
{
	json_error_t problem;
	json_t *root = json_load_file(path, 0, &problem);

	if (!root)
		fail_msg("%s: %s", path, problem.text);
	return root;
}

static void run_kolm(json_t *arguments, const char *folder)
{
	const char *argv[ARGUMENTS_MAX];
	char dump[512], run[512];
	struct error err = {0};
	int argc = 0;

	snprintf(dump, sizeof(dump), "%s/dump", folder);
	snprintf(run, sizeof(run), "%s/run", folder);
	for (size_t i = 0; i < json_array_size(arguments); i++)
		argv[argc++] = json_string_value(json_array_get(arguments, i));
	argv[argc++] = "--quiet";
	argv[argc++] = "--dump-check";
	argv[argc++] = dump;
	argv[argc++] = "--run-dir";
	argv[argc++] = run;
	if (cmd_train(argc, (char *const *)argv, &err) != OK)
		fail_msg("%s", err.msg);
}

static void compare_losses(const char *name, json_t *want, const char *folder)
{
	char path[512];
	json_t *check, *got;

	snprintf(path, sizeof(path), "%s/dump/check.json", folder);
	check = load(path);
	got = json_object_get(check, "losses");
	assert_int_equal(json_array_size(got), json_array_size(want));
	for (size_t i = 0; i < json_array_size(want); i++) {
		double a = json_real_value(json_array_get(got, i));
		double b = json_real_value(json_array_get(want, i));

		if (!(fabs(a - b) <= 1e-6 * fabs(b)))
			fail_msg("%s, step %zu: loss %.9g, PyTorch has %.9g", name, i, a, b);
	}
	json_decref(check);
}

static void compare_weights(const char *name, json_t *want, const char *folder)
{
	char path[512];
	const char *tensor;
	json_t *values;
	struct safetensors s;
	struct error err = {0};

	snprintf(path, sizeof(path), "%s/dump/final.safetensors", folder);
	assert_int_equal(safetensors_read(&s, path, &err), OK);
	assert_int_equal(s.count, json_object_size(want));
	json_object_foreach(want, tensor, values)
	{
		const struct safetensors_entry *e = safetensors_find(&s, tensor);
		const float *data;

		assert_non_null(e);
		data = safetensors_data(&s, e);
		for (size_t i = 0; i < json_array_size(values); i++) {
			double b = json_real_value(json_array_get(values, i));

			if (!(fabs(data[i] - b) <= 1e-4 * (0.1 + fabs(b))))
				fail_msg("%s, %s[%zu]: %.9g, PyTorch has %.9g", name, tensor, i,
					 (double)data[i], b);
		}
	}
	safetensors_release(&s);
}

static void runs_agree_with_pytorch(void **state)
{
	DIR *d = opendir(TESTS_DIR "/golden");
	struct dirent *entry;
	int cases = 0;
	(void)state;

	assert_non_null(d);
	while ((entry = readdir(d))) {
		char path[1024], folder[256];
		json_t *golden;

		if (!strstr(entry->d_name, ".json"))
			continue;
		snprintf(path, sizeof(path), "%s/golden/%s", TESTS_DIR, entry->d_name);
		golden = load(path);
		test_folder(folder, sizeof(folder));
		run_kolm(json_object_get(golden, "arguments"), folder);
		compare_losses(entry->d_name, json_object_get(golden, "losses"), folder);
		compare_weights(entry->d_name, json_object_get(golden, "final"), folder);
		test_folder_remove(folder);
		json_decref(golden);
		cases++;
	}
	closedir(d);
	assert_int_equal(cases, 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(runs_agree_with_pytorch)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
