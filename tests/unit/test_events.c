/* test_events.c - event files for TensorBoard: written, read back, cut anywhere, spoiled. */
#include "own_folder.h"

#include "base/crc32c.h"
#include "base/file.h"
#include "trace/events.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static struct error err;
/* Those of RFC 3720, B.4, and the usual check value. */
static void checksums_are_those_of_the_standard(void **state)
{
	unsigned char bytes[32];
	(void)state;

	assert_int_equal(crc32c("", 0), 0);
	assert_int_equal(crc32c("123456789", 9), 0xe3069283);
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(crc32c(bytes, 32), 0x8a9136aa);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(crc32c(bytes, 32), 0x62a8ab43);
	for (int i = 0; i < 32; i++)
		bytes[i] = (unsigned char)i;
	assert_int_equal(crc32c(bytes, 32), 0x46dd794e);
	for (int i = 0; i < 32; i++)
		bytes[i] = (unsigned char)(31 - i);
	assert_int_equal(crc32c(bytes, 32), 0x113fdb5c);
}

struct written {
	int64_t step;
	int count;
	char tags[EVENTS_SCALARS_MAX][EVENTS_TAG_MAX];
	double values[EVENTS_SCALARS_MAX];
};

/* A record of any size with names of any length and numbers of any kind. */
static void make_up(struct random *r, struct written *w)
{
	static const double special[] = {0, -0.0, INFINITY, -INFINITY, 1e-40, 1e38, NAN};

	w->step = random_int(r, 0, 3) ? random_int(r, 0, 1 << 30)
				      : (int64_t)1 << random_int(r, 0, 62);
	w->count = random_int(r, 0, EVENTS_SCALARS_MAX);
	for (int i = 0; i < w->count; i++) {
		int length = random_int(r, 1, EVENTS_TAG_MAX - 1);
		float value;

		for (int k = 0; k < length; k++)
			w->tags[i][k] = (char)random_int(r, 'a', 'z');
		w->tags[i][length] = '\0';
		random_fill(r, &value, 1);
		w->values[i] = random_int(r, 0, 4)
				       ? (double)value
				       : special[random_int(r, 0, ARRAY_SIZE(special) - 1)];
	}
}

static void write_record(struct events *e, const struct written *w)
{
	struct events_scalar scalars[EVENTS_SCALARS_MAX];

	for (int i = 0; i < w->count; i++)
		scalars[i] = (struct events_scalar){w->tags[i], w->values[i]};
	assert_int_equal(events_add(e, w->step, scalars, (size_t)w->count, fresh(&err)), OK);
}

static void check_record(struct events_reader *r, const struct written *w)
{
	struct events_record record;

	assert_int_equal(events_next(r, &record, fresh(&err)), EVENTS_FOUND);
	assert_int_equal(record.kind, EVENTS_SCALARS);
	assert_true(record.step == w->step);
	assert_true(fabs(record.wall_time - (double)time(NULL)) < 600);
	assert_int_equal(record.count, w->count);
	for (int i = 0; i < w->count; i++) {
		float value = (float)w->values[i];

		assert_string_equal(record.scalars[i].tag, w->tags[i]);
		assert_memory_equal(&record.scalars[i].value, &value, sizeof(value));
	}
}

static struct events_reader open_file(const char *path, char **data)
{
	struct events_reader r = {.at = 0};

	assert_int_equal(file_read(path, 1 << 24, data, &r.size, fresh(&err)), OK);
	r.data = (const unsigned char *)*data;
	return r;
}

static void check_head(struct events_reader *r, int64_t first)
{
	struct events_record record;

	assert_int_equal(events_next(r, &record, fresh(&err)), EVENTS_FOUND);
	assert_int_equal(record.kind, EVENTS_VERSION);
	assert_int_equal(events_next(r, &record, fresh(&err)), EVENTS_FOUND);
	assert_int_equal(record.kind, EVENTS_START);
	assert_true(record.step == first);
}

static void random_scalars_read_back_the_same(void **state)
{
	struct random r = random_start("events");
	static struct written written[200];
	struct events e = {0};
	struct events_reader reader;
	struct events_record record;
	char *data;
	(void)state;

	assert_int_equal(events_open(&e, folder, 7, fresh(&err)), OK);
	for (size_t i = 0; i < ARRAY_SIZE(written); i++) {
		make_up(&r, &written[i]);
		write_record(&e, &written[i]);
	}
	events_close(&e);
	reader = open_file(e.path, &data);
	check_head(&reader, 7);
	for (size_t i = 0; i < ARRAY_SIZE(written); i++)
		check_record(&reader, &written[i]);
	assert_int_equal(events_next(&reader, &record, fresh(&err)), EVENTS_END);
	free(data);
	events_remove_all(folder);
	assert_false(events_has_any(folder));
}

/* A file of a few steps, as bytes. */
static struct events_reader some_file(char **data, char path[PATH_MAX])
{
	static const struct events_scalar scalars[] = {{"loss", 0.25}, {"grad_norm", 3}};
	struct events e = {0};

	assert_int_equal(events_open(&e, folder, 0, fresh(&err)), OK);
	for (int step = 0; step < 5; step++)
		assert_int_equal(events_add(&e, step, scalars, 2, fresh(&err)), OK);
	events_close(&e);
	strcpy(path, e.path);
	return open_file(e.path, data);
}

static enum events_found read_all(struct events_reader *r)
{
	struct events_record record;
	enum events_found found;

	do
		found = events_next(r, &record, fresh(&err));
	while (found == EVENTS_FOUND);
	return found;
}

static void every_truncation_is_recognised(void **state)
{
	char *data, path[PATH_MAX];
	struct events_reader whole = some_file(&data, path);
	size_t boundary = 0;
	(void)state;

	for (size_t size = 0; size <= whole.size; size++) {
		struct events_reader r = {.data = whole.data, .size = size};
		enum events_found found = read_all(&r);

		if (found == EVENTS_END)
			boundary = size;
		else
			assert_int_equal(found, EVENTS_TORN);
		assert_int_equal(r.at, boundary);
	}
	assert_int_equal(boundary, whole.size);
	free(data);
	events_remove_all(folder);
}

static void every_changed_byte_is_recognised(void **state)
{
	char *data, path[PATH_MAX];
	struct events_reader whole = some_file(&data, path);
	(void)state;

	for (size_t i = 0; i < whole.size; i++) {
		struct events_reader r = {.data = whole.data, .size = whole.size};

		data[i] ^= 0x10;
		assert_int_equal(read_all(&r), EVENTS_BAD);
		assert_int_equal(err.code, ERR_FAILED);
		data[i] ^= 0x10;
	}
	free(data);
	events_remove_all(folder);
}

/* A run that was killed has left half a record; what goes on is a later file. */
static void what_goes_on_is_a_later_file_behind_whole_ones(void **state)
{
	char *data, path[PATH_MAX];
	struct events_reader whole = some_file(&data, path);
	struct events e = {0};
	(void)state;

	assert_int_equal(truncate(path, (off_t)whole.size - 3), 0);
	free(data);
	assert_int_equal(events_open(&e, folder, 3, fresh(&err)), OK);
	events_close(&e);
	assert_true(strcmp(e.path, path) > 0);
	whole = open_file(path, &data);
	assert_int_equal(read_all(&whole), EVENTS_END);
	free(data);
	whole = open_file(e.path, &data);
	check_head(&whole, 3);
	free(data);
	events_remove_all(folder);
}

/* A disk that is full in the middle of a record: it is taken back, and the next one is whole.
 */
static void what_cannot_be_written_whole_is_taken_back(void **state)
{
	const struct events_scalar scalar = {"loss", 1};
	struct rlimit before, limit;
	struct events e = {0};
	struct events_reader r;
	struct stat was, is;
	char *data;
	(void)state;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(events_open(&e, folder, 0, fresh(&err)), OK);
	assert_int_equal(fstat(e.fd, &was), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = (struct rlimit){.rlim_cur = (rlim_t)was.st_size + 10,
				.rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(events_add(&e, 1, &scalar, 1, fresh(&err)), ERR_FAILED);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(fstat(e.fd, &is), 0);
	assert_int_equal(is.st_size, was.st_size);
	assert_int_equal(events_add(&e, 2, &scalar, 1, fresh(&err)), OK);
	events_close(&e);
	r = open_file(e.path, &data);
	assert_int_equal(read_all(&r), EVENTS_END);
	free(data);
	events_remove_all(folder);
}

static void what_is_not_open_takes_nothing(void **state)
{
	struct events e = {0};
	(void)state;

	assert_int_equal(events_add(&e, 0, &(struct events_scalar){"loss", 1}, 1, fresh(&err)),
			 OK);
	events_close(&e);
	assert_int_equal(events_open(&e, "/nowhere/at/all", 0, fresh(&err)), ERR_USAGE);
	assert_false(e.is_open);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checksums_are_those_of_the_standard),
		cmocka_unit_test(random_scalars_read_back_the_same),
		cmocka_unit_test(every_truncation_is_recognised),
		cmocka_unit_test(every_changed_byte_is_recognised),
		cmocka_unit_test(what_goes_on_is_a_later_file_behind_whole_ones),
		cmocka_unit_test(what_cannot_be_written_whole_is_taken_back),
		cmocka_unit_test(what_is_not_open_takes_nothing),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
