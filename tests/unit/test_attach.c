/* test_attach.c - looking at the status board of another process's run. */
#include "testing.h"

#include "base/file.h"
#include "base/folder.h"
#include "launch/attach.h"
#include "launch/board.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>

static const struct grid square = {2, 2, 1};

static struct shm_memory *board_of_run(void)
{
	struct shm_memory *memory;
	struct error err = {0};

	assert_int_equal(shm_prepare(&memory, 4, false, 0, -1, fresh(&err)), OK);
	for (int i = 0; i < 4; i++) {
		board_of(memory, i)->number = i;
		board_of(memory, i)->pid = 4000 + i;
		board_of(memory, i)->pulse.steps = 1000;
		board_of(memory, i)->pulse.step = 120;
	}
	return memory;
}

static void others_can_look_while_it_is_there(void **state)
{
	struct shm_memory *memory = board_of_run();
	struct rank r = {.memory = memory, .locals = 4};
	char folder[256], runs[300];
	struct folder claimed = {0};
	struct attachment a;
	struct survey *s;
	struct error err = {0};
	(void)state;

	test_folder(folder, sizeof(folder));
	snprintf(runs, sizeof(runs), "%s/one", folder);
	assert_int_equal(mkdir(runs, 0777), 0);
	assert_int_equal(attach_open(&a, runs, fresh(&err)), ERR_FAILED);
	assert_non_null(strstr(err.msg, "is not running"));
	assert_int_equal(folder_claim(&claimed, runs, fresh(&err)), OK);
	assert_int_equal(attach_open(&a, runs, fresh(&err)), ERR_FAILED);
	assert_non_null(strstr(err.msg, "has not come to its steps yet"));
	folder_release(&claimed);
	assert_int_equal(attach_open(&a, runs, fresh(&err)), ERR_FAILED);
	assert_non_null(strstr(err.msg, "is not running"));
	assert_int_equal(attach_newest(&a, folder, fresh(&err)), ERR_FAILED);
	assert_int_equal(attach_publish(&r, &square, runs, fresh(&err)), OK);
	assert_int_equal(attach_newest(&a, folder, fresh(&err)), OK);
	assert_string_equal(a.folder, runs);
	attach_close(&a);
	assert_int_equal(attach_open(&a, runs, fresh(&err)), OK);
	assert_int_equal(a.locals, 4);
	assert_int_equal(survey_create(&s, &a.grid, a.locals, 0, fresh(&err)), OK);
	survey_take(s, a.memory, 0);
	assert_int_equal(s->step, 120);
	assert_int_equal(s->ranks[3].pid, 4003);
	assert_true(attach_alive(&a));
	/* The run has ended, and its memory is another's now. */
	shm_release(memory);
	assert_false(attach_alive(&a));
	attach_close(&a);
	memory = board_of_run();
	assert_int_equal(attach_open(&a, runs, fresh(&err)), ERR_FAILED);
	assert_non_null(strstr(err.msg, "is not running (any more)"));
	attach_withdraw(runs);
	assert_int_equal(rmdir(runs), 0);
	test_folder_remove(folder);
	survey_free(s);
	shm_release(memory);
}

/* Memory that goes on being cut and grown while others look at it. */
static _Atomic bool cutting;

static void *cut_and_grow(void *arg)
{
	struct shm_memory *memory = arg;
	off_t whole = (off_t)shm_size(4, 0);

	while (cutting)
		for (off_t size = 0; size <= 1 << 16; size += 1 << 12)
			if (ftruncate(shm_fd(memory), size))
				return memory;
	return ftruncate(shm_fd(memory), whole) ? memory : NULL;
}

static void a_board_that_is_cut_short_harms_nobody(void **state)
{
	struct shm_memory *memory = board_of_run();
	struct rank r = {.memory = memory, .locals = 4};
	char folder[256];
	struct attachment a, b;
	struct survey *s;
	struct error err = {0};
	pthread_t cutter;
	void *failed;
	(void)state;

	test_folder(folder, sizeof(folder));
	assert_int_equal(attach_publish(&r, &square, folder, fresh(&err)), OK);
	assert_int_equal(attach_open(&a, folder, fresh(&err)), OK);
	assert_int_equal(survey_create(&s, &a.grid, a.locals, 0, fresh(&err)), OK);
	assert_int_equal(ftruncate(shm_fd(memory), 100), 0);
	assert_int_equal(attach_look(&a, fresh(&err)), ERR_FAILED);
	assert_non_null(strstr(err.msg, "is cut short"));
	assert_int_equal(attach_open(&b, folder, fresh(&err)), ERR_FAILED);
	assert_non_null(strstr(err.msg, "is cut short"));
	cutting = true;
	assert_int_equal(pthread_create(&cutter, NULL, cut_and_grow, memory), 0);
	for (int i = 0; i < 2000; i++) {
		attach_look(&a, fresh(&err));
		survey_take(s, a.memory, i);
		assert_int_equal(attach_open(&b, folder, fresh(&err)), ERR_FAILED);
	}
	cutting = false;
	pthread_join(cutter, &failed);
	assert_null(failed);
	/* As long as before, and yet another memory: the number in it is gone. */
	assert_int_equal(attach_look(&a, fresh(&err)), ERR_FAILED);
	assert_non_null(strstr(err.msg, "is not running"));
	survey_free(s);
	attach_close(&a);
	attach_withdraw(folder);
	test_folder_remove(folder);
	shm_release(memory);
}

/* What a file says is not believed. */
static void wrong_files_are_refused(void **state)
{
	static const char *const files[] = {
		"",
		"[]",
		"{\"schema\": \"kolm.job/1\"}",
		"{\"schema\": 7, \"pid\": \"x\"}",
		"{\"schema\": \"kolm.job/1\", \"pid\": -1, \"fd\": 0, \"token\": \"0123456789abcdef\", "
		"\"layout\": 1, \"ranks_here\": 1, \"grid\": {\"dp\": 1, \"pp\": 1, \"mp\": 1}}",
		"{\"schema\": \"kolm.job/1\", \"pid\": 1, \"fd\": 0, \"token\": \"zz\", "
		"\"layout\": 1, \"ranks_here\": 1, \"grid\": {\"dp\": 1, \"pp\": 1, \"mp\": 1}}",
		"{\"schema\": \"kolm.job/1\", \"pid\": 1, \"fd\": 0, \"token\": \"0123456789abcdef\", "
		"\"layout\": 1, \"ranks_here\": 64, \"grid\": {\"dp\": 1, \"pp\": 1, \"mp\": 1}}",
		"{\"schema\": \"kolm.job/1\", \"pid\": 1, \"fd\": 0, \"token\": \"0123456789abcdef\", "
		"\"layout\": 1, \"ranks_here\": 1, \"grid\": {\"dp\": 4096, \"pp\": 4096, \"mp\": 4096}}",
	};
	char folder[256], path[PATH_MAX];
	struct attachment a;
	struct error err = {0};
	(void)state;

	test_folder(folder, sizeof(folder));
	assert_int_equal(file_path(path, folder, "job.json", fresh(&err)), OK);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		assert_int_equal(
			file_write_whole(path, files[i], strlen(files[i]), fresh(&err)), OK);
		assert_int_equal(attach_open(&a, folder, fresh(&err)), ERR_USAGE);
		assert_null(a.memory);
		assert_true(*err.hint);
	}
	assert_int_equal(attach_open(&a, path, fresh(&err)), ERR_USAGE); /* a file, no folder */
	test_folder_remove(folder);
}

/* A process number that is somebody else's: a pipe, a terminal, a short file, other memory. */
static void only_the_right_memory_is_looked_at(void **state)
{
	struct shm_memory *memory = board_of_run(), *seen;
	uint64_t token = shm_token(memory);
	int pipes[2], small = memfd_create("small", MFD_CLOEXEC), me = getpid();
	(void)state;

	assert_int_equal(pipe(pipes), 0);
	assert_true(shm_look(&seen, 4, me, shm_fd(memory), token));
	shm_release(seen);
	assert_false(shm_look(&seen, 4, me, shm_fd(memory), token + 1));
	assert_false(shm_look(&seen, 2, me, shm_fd(memory), token));
	assert_false(shm_look(&seen, 4, me, pipes[0], token));
	assert_false(shm_look(&seen, 4, me, small, token));
	assert_false(shm_look(&seen, 4, me, 1000000, token));
	assert_false(shm_look(&seen, 4, 1 << 30, shm_fd(memory), token));
	close(pipes[0]);
	close(pipes[1]);
	close(small);
	shm_release(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_can_look_while_it_is_there),
		cmocka_unit_test(a_board_that_is_cut_short_harms_nobody),
		cmocka_unit_test(wrong_files_are_refused),
		cmocka_unit_test(only_the_right_memory_is_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
