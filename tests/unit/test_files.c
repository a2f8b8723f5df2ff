/* test_files.c - files are written whole or not at all; safetensors are strict. */
#include "own_folder.h"

#include "base/file.h"
#include "base/safetensors.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>

static const char *in_folder(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static int count_files(void)
{
	DIR *d = opendir(folder);
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void a_file_is_read_back(void **state)
{
	struct error err = {0};
	char *data;
	size_t size;
	(void)state;

	assert_int_equal(file_write_whole(in_folder("a"), "hello", 5, fresh(&err)), OK);
	assert_int_equal(file_read(in_folder("a"), 100, &data, &size, fresh(&err)), OK);
	assert_int_equal(size, 5);
	assert_string_equal(data, "hello");
	free(data);
	assert_int_equal(file_read(in_folder("a"), 4, &data, &size, fresh(&err)), ERR_USAGE);
	assert_int_equal(file_read(in_folder("none"), 4, &data, &size, fresh(&err)), ERR_USAGE);
	assert_int_equal(file_read(folder, 4, &data, &size, fresh(&err)), ERR_USAGE);
	assert_int_equal(count_files(), 1);
}

/* A write that fails in the middle keeps the old file and leaves no other behind. */
static void a_failed_write_leaves_the_old_file(void **state)
{
	enum { LIMIT = 64 << 10 };
	struct rlimit old, small;
	struct error err = {0};
	char *big = calloc(1, 4 * LIMIT), *data;
	size_t size;
	(void)state;

	assert_int_equal(file_write_whole(in_folder("a"), "old", 3, fresh(&err)), OK);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = LIMIT;
	setrlimit(RLIMIT_FSIZE, &small);
	assert_int_equal(file_write_whole(in_folder("a"), big, 4 * LIMIT, fresh(&err)),
			 ERR_FAILED);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(file_read(in_folder("a"), 100, &data, &size, fresh(&err)), OK);
	assert_string_equal(data, "old");
	assert_int_equal(count_files(), 1);
	free(data);
	free(big);
}

static void folders_are_made_with_their_parents(void **state)
{
	struct error err = {0};
	(void)state;

	assert_int_equal(file_make_folder(in_folder("x/y/z"), fresh(&err)), OK);
	assert_int_equal(file_make_folder(in_folder("x/y/z"), fresh(&err)), OK);
	assert_int_equal(file_write_whole(in_folder("file"), "", 0, fresh(&err)), OK);
	assert_int_equal(file_make_folder(in_folder("file"), fresh(&err)), ERR_USAGE);
	assert_int_equal(file_make_folder(in_folder("file/below"), fresh(&err)), ERR_USAGE);
	assert_int_equal(file_make_folder("", fresh(&err)), ERR_USAGE);
}

static void safetensors_read_what_was_written(void **state)
{
	float w[6] = {1, 2, 3, 4, 5, 6};
	int32_t labels[2] = {7, -8};
	struct safetensors_entry entries[2] = {
		{.name = "layers.0.weight", .dtype = DTYPE_F32, .dims = 2, .shape = {2, 3}},
		{.name = "labels", .dtype = DTYPE_I32, .dims = 1, .shape = {2}},
	};
	struct safetensors s;
	const struct safetensors_entry *e;
	struct file f;
	struct error err = {0};
	(void)state;

	assert_int_equal(safetensors_begin(&f, in_folder("t"), entries, 2, fresh(&err)), OK);
	assert_int_equal(file_write(&f, w, sizeof(w), fresh(&err)), OK);
	assert_int_equal(file_write(&f, labels, sizeof(labels), fresh(&err)), OK);
	assert_int_equal(file_commit(&f, fresh(&err)), OK);
	assert_int_equal(safetensors_read(&s, in_folder("t"), fresh(&err)), OK);
	assert_int_equal(s.count, 2);
	e = safetensors_find(&s, "layers.0.weight");
	assert_non_null(e);
	assert_int_equal(e->dims, 2);
	assert_int_equal(e->shape[1], 3);
	assert_memory_equal(safetensors_data(&s, e), w, sizeof(w));
	e = safetensors_find(&s, "labels");
	assert_memory_equal(safetensors_data(&s, e), labels, sizeof(labels));
	assert_null(safetensors_find(&s, "other"));
	safetensors_release(&s);
}

/* A file with that header and that many bytes of data. */
static enum status parse(const char *header, size_t data, struct error *err)
{
	size_t n = strlen(header), size = 8 + n + data;
	unsigned char *bytes = calloc(1, size);
	struct safetensors s;
	enum status st;

	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(n >> (8 * i));
	memcpy(bytes + 8, header, n);
	st = safetensors_parse(&s, bytes, size, err);
	if (st == OK)
		safetensors_release(&s);
	free(bytes);
	return st;
}

#define T(name, shape, begin, end)                                                             \
	"\"" name "\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[" begin "," end \
	"]}"

static void safetensors_refuse_what_is_not_exact(void **state)
{
	static const struct {
		const char *header;
		size_t data;
		bool good;
	} cases[] = {
		{"{}", 0, true},
		{"{\"__metadata__\":{\"a\":\"b\"}}", 0, true},
		{"{" T("a", "[2]", "0", "8") "}", 8, true},
		{"{" T("a", "[]", "0", "4") "}", 4, true},
		{"{" T("a", "[0]", "0", "0") "}", 0, true},
		{"{" T("b", "[1]", "4", "8") "," T("a", "[1]", "0", "4") "}", 8, true},
		{"{" T("a", "[2]", "0", "8") "," T("a", "[2]", "0", "8") "}", 8,
		 false}, /* twice */
		{"{" T("a", "[1]", "0", "4") "," T("b", "[1]", "8", "12") "}", 12,
		 false}, /* hole */
		{"{" T("a", "[2]", "0", "8") "," T("b", "[1]", "4", "8") "}", 8,
		 false},				     /* overlap */
		{"{" T("a", "[2]", "0", "8") "}", 9, false}, /* bytes behind */
		{"{" T("a", "[2]", "0", "8") "}", 7, false}, /* too short */
		{"{" T("a", "[3]", "0", "8") "}", 8, false}, /* shape against bytes */
		{"{" T("a", "[-2]", "0", "8") "}", 8, false},
		{"{" T("a", "[2]", "8", "0") "}", 8, false},
		{"{" T("a", "[4611686018427387904,4]", "0", "0") "}", 0, false}, /* overflow */
		{"{" T("a", "[2.0]", "0", "8") "}", 8, false},
		{"{" T("", "[2]", "0", "8") "}", 8, false},
		{"{\"a\":{\"dtype\":\"F33\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, false},
		{"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2, true},
		{"{\"a\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[0,16]}}", 16, true},
		{"{\"a\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, false},
		{"{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8, false},
		{"{\"a\":5}", 0, false},
		{"[]", 0, false},
		{"{\"a\"", 0, false},
		{"", 0, false},
	};
	struct error err = {0};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if ((parse(cases[i].header, cases[i].data, fresh(&err)) == OK) != cases[i].good)
			fail_msg("case %zu: %s", i, cases[i].header);
}

static void safetensors_survive_cut_files(void **state)
{
	static const unsigned char huge[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	struct safetensors s;
	struct error err = {0};
	(void)state;

	for (size_t n = 0; n <= sizeof(huge); n++)
		assert_int_equal(safetensors_parse(&s, huge, n, fresh(&err)), ERR_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_is_read_back, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(a_failed_write_leaves_the_old_file, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(folders_are_made_with_their_parents,
						make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(safetensors_read_what_was_written, make_folder,
						remove_folder),
		cmocka_unit_test(safetensors_refuse_what_is_not_exact),
		cmocka_unit_test(safetensors_survive_cut_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
