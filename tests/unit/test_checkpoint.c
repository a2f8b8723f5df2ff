/* test_checkpoint.c - a folder of checkpoints: what is written is read, what is harmed is not.
 */
#include "testing.h"

#include "base/file.h"
#include "checkpoint/store.h"
#include "folders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROWS = 5, COLUMNS = 7 };

static struct error err;
static float values[ROWS * COLUMNS];
static const char tokenizer[] = "{\"whatever\": 1}";

/* Two tensors: one in pieces of columns, one in pieces of rows, as several ranks would. */
static void write_one(const char *run, int64_t step, int keep, char sum[SHA256_TEXT])
{
	struct safetensors_entry entries[] = {
		{.name = "a", .dtype = DTYPE_F32, .dims = 2, .shape = {ROWS, COLUMNS}},
		{.name = "b", .dtype = DTYPE_F32, .dims = 2, .shape = {ROWS, COLUMNS}}};
	struct store s;
	struct store_piece pieces[4];
	float left[ROWS * 3], right[ROWS * 4];
	struct json state;

	assert_int_equal(store_init(&s, run, fresh(&err)), OK);
	assert_int_equal(store_describe(&s, PART_MODEL, entries, 2, &err), OK);
	assert_int_equal(store_add_tokenizer(&s, tokenizer, strlen(tokenizer), &err), OK);
	for (int r = 0; r < ROWS; r++) {
		memcpy(left + r * 3, values + r * COLUMNS, 3 * sizeof(float));
		memcpy(right + r * 4, values + r * COLUMNS + 3, 4 * sizeof(float));
	}
	pieces[0] = (struct store_piece){.at = entries[0].begin,
					 .rows = ROWS,
					 .row_bytes = 3 * sizeof(float),
					 .stride = COLUMNS * sizeof(float),
					 .data = left};
	pieces[1] = (struct store_piece){.at = entries[0].begin + 3 * sizeof(float),
					 .rows = ROWS,
					 .row_bytes = 4 * sizeof(float),
					 .stride = COLUMNS * sizeof(float),
					 .data = right};
	pieces[2] = (struct store_piece){.at = entries[1].begin,
					 .rows = 2,
					 .row_bytes = COLUMNS * sizeof(float),
					 .stride = COLUMNS * sizeof(float),
					 .data = values};
	pieces[3] = (struct store_piece){.at = entries[1].begin + sizeof(float) * 2 * COLUMNS,
					 .rows = ROWS - 2,
					 .row_bytes = COLUMNS * sizeof(float),
					 .stride = COLUMNS * sizeof(float),
					 .data = values + 2 * COLUMNS};
	store_name(&s, step);
	assert_int_equal(store_begin(&s, &err), OK);
	assert_int_equal(store_write(&s, pieces, 2, &err), OK);
	assert_int_equal(store_write(&s, pieces + 2, 2, &err), OK);
	json_init(&state, true);
	json_begin_object(&state, NULL);
	json_put_string(&state, "schema", CHECKPOINT_SCHEMA);
	assert_int_equal(store_finish(&s, &state, keep, sum, &err), OK);
	json_release(&state);
	store_release(&s);
}

static void new_run(struct folder *f, unsigned seed)
{
	assert_int_equal(folder_make_temporary(f, "test", fresh(&err)), OK);
	srand(seed);
	for (int i = 0; i < ROWS * COLUMNS; i++)
		values[i] = (float)rand() / (float)RAND_MAX;
}

/* It has folders in it, which a temporary folder has not. */
static void end_run(struct folder *f)
{
	char place[PATH_MAX];

	store_remove_all(f->path);
	store_tidy(f->path);
	assert_int_equal(file_path(place, f->path, CHECKPOINTS, fresh(&err)), OK);
	assert_int_equal(rmdir(place), 0);
	folder_remove_temporary(f);
}

static void what_is_written_is_read(void **state)
{
	char sum[SHA256_TEXT], expected[SHA256_TEXT], path[PATH_MAX];
	float both[2 * ROWS * COLUMNS];
	struct safetensors file;
	struct checkpoint c;
	struct folder run;
	bool found;
	(void)state;

	new_run(&run, 1);
	write_one(run.path, 12, 0, sum);
	assert_int_equal(checkpoint_find(&c, run.path, true, &found, fresh(&err)), OK);
	assert_true(found);
	assert_int_equal(c.step, 12);
	assert_true(c.files[FILE_TOKENIZER].there);
	assert_int_equal(file_path(path, c.folder, "tokenizer.json", &err), OK);
	assert_true(holds(path, tokenizer));
	assert_int_equal(file_path(path, c.folder, "model.safetensors", &err), OK);
	assert_int_equal(safetensors_map(&file, path, &err), OK);
	assert_int_equal(file.count, 2);
	for (size_t i = 0; i < 2; i++)
		assert_memory_equal(safetensors_data(&file, &file.entries[i]), values,
				    sizeof(values));
	memcpy(both, values, sizeof(values));
	memcpy(both + ROWS * COLUMNS, values, sizeof(values));
	assert_int_equal(sha256_of(both, sizeof(both), expected, &err), OK);
	assert_string_equal(sum, expected);
	safetensors_release(&file);
	checkpoint_close(&c);
	end_run(&run);
}

static int count_there(const char *run, const int64_t *steps, int n)
{
	char path[PATH_MAX], name[64];
	struct stat info;
	int there = 0;

	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), CHECKPOINTS "/step-%lld", (long long)steps[i]);
		assert_int_equal(file_path(path, run, name, fresh(&err)), OK);
		there += !stat(path, &info);
	}
	return there;
}

static void the_newest_and_the_best_are_kept(void **state)
{
	int64_t steps[] = {9, 10, 11, 100, 101};
	char sum[SHA256_TEXT];
	struct folder run;
	struct store s;
	(void)state;

	new_run(&run, 2);
	for (size_t i = 0; i < 5; i++) {
		write_one(run.path, steps[i], 2, sum);
		if (i)
			continue;
		assert_int_equal(store_init(&s, run.path, fresh(&err)), OK);
		assert_int_equal(store_mark_best(&s, steps[0], &err), OK);
	}
	assert_int_equal(count_there(run.path, steps, 5), 3);
	assert_int_equal(count_there(run.path, (int64_t[]){9, 100, 101}, 3), 3);
	end_run(&run);
}

/* One that is there already, right or not, is replaced. */
static void the_same_step_again(void **state)
{
	char sum[SHA256_TEXT], again[SHA256_TEXT];
	struct checkpoint c;
	struct folder run;
	bool found;
	(void)state;

	new_run(&run, 3);
	write_one(run.path, 4, 0, sum);
	values[3] += 1;
	write_one(run.path, 4, 0, again);
	assert_string_not_equal(sum, again);
	assert_int_equal(checkpoint_find(&c, run.path, true, &found, fresh(&err)), OK);
	assert_string_equal(json_string_value(json_object_get(c.state, "weights_sha256")),
			    again);
	checkpoint_close(&c);
	end_run(&run);
}

/* Every single byte of every file. */
static void no_flipped_byte_goes_unseen(void **state)
{
	static const char *const names[] = {"model.safetensors", "state.json",
					    "tokenizer.json"};
	char sum[SHA256_TEXT], folder[PATH_MAX], path[PATH_MAX], *bytes;
	struct checkpoint c;
	struct folder run;
	size_t size;
	(void)state;

	new_run(&run, 4);
	write_one(run.path, 4, 0, sum);
	assert_int_equal(file_path(folder, run.path, CHECKPOINTS "/step-4", fresh(&err)), OK);
	for (int k = 0; k < 3; k++) {
		assert_int_equal(file_path(path, folder, names[k], &err), OK);
		assert_int_equal(file_read(path, 1 << 20, &bytes, &size, &err), OK);
		for (size_t i = 0; i < size; i++) {
			bytes[i] = (char)(bytes[i] ^ (1 << (i % 8)));
			FILE *f = fopen(path, "w");

			assert_int_equal(fwrite(bytes, 1, size, f), size);
			fclose(f);
			bool good = checkpoint_open(&c, folder, fresh(&err)) == OK;

			if (good)
				good = checkpoint_check(&c, &err) == OK;
			checkpoint_close(&c);
			if (good)
				fail_msg("byte %zu of %s was changed, and nobody has seen it",
					 i, names[k]);
			bytes[i] = (char)(bytes[i] ^ (1 << (i % 8)));
		}
		FILE *f = fopen(path, "w");

		assert_int_equal(fwrite(bytes, 1, size, f), size);
		fclose(f);
		free(bytes);
		assert_int_equal(checkpoint_open(&c, folder, fresh(&err)), OK);
		assert_int_equal(checkpoint_check(&c, &err), OK);
		checkpoint_close(&c);
	}
	end_run(&run);
}

static void names_of_steps(void **state)
{
	(void)state;
	assert_int_equal(checkpoint_step_of("step-0"), 0);
	assert_int_equal(checkpoint_step_of("step-120"), 120);
	assert_int_equal(checkpoint_step_of("step-"), -1);
	assert_int_equal(checkpoint_step_of("step--3"), -1);
	assert_int_equal(checkpoint_step_of("step-3.tmp.0000000000000003"), -1);
	assert_int_equal(checkpoint_step_of("latest"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(the_newest_and_the_best_are_kept),
		cmocka_unit_test(the_same_step_again),
		cmocka_unit_test(no_flipped_byte_goes_unseen),
		cmocka_unit_test(names_of_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
