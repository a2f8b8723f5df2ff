/*
 * test_fork.c - a world of forked ranks without a supervisor: what they compute, what is said
 * when one fails, dies or hangs, and that nothing is left behind.
 */
#include "testing.h"

#include "base/clock.h"
#include "comm/fork.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* What ranks show to the test. */
struct shown {
	_Atomic int sum;
	_Atomic int pids[64];
};

static struct shown *shown;

static int show(void **state)
{
	(void)state;
	shown = mmap(NULL, sizeof(*shown), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	return shown == MAP_FAILED;
}

static int hide(void **state)
{
	(void)state;
	return munmap(shown, sizeof(*shown));
}

static int count_files(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(folder))
		n++;
	closedir(folder);
	return n;
}

/* No child, zombie or not, no rank that lives on, no file. */
static void nothing_is_left(int files)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	for (size_t i = 0; i < ARRAY_SIZE(shown->pids); i++) {
		if (shown->pids[i])
			assert_int_equal(kill(shown->pids[i], 0), -1);
		shown->pids[i] = 0; /* it may be somebody else's soon */
	}
	assert_int_equal(count_files(), files);
}

static enum status add_up(struct comm *world, void *arg, struct error *err)
{
	float *x;
	enum status st;

	shown->pids[comm_rank(world)] = getpid();
	TRY(comm_alloc(world, sizeof(*x), (void **)&x, err));
	*x = (float)comm_rank(world) + *(float *)arg;
	TRY(comm_run(world, COMM_ALLREDUCE, x, 1, DTYPE_F32, 0, err));
	shown->sum += (int)*x;
out:
	return st;
}

static void ranks_work_together(void **state)
{
	static const int sizes[] = {1, 2, 5, 16};
	int files = count_files();
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		int n = sizes[i];
		float more = 3;
		struct error err = {0};

		shown->sum = 0;
		if (comm_fork(n, add_up, &more, &err) != OK)
			fail_msg("%s", err.msg);
		assert_int_equal(shown->sum, n * (n * (n - 1) / 2 + 3 * n));
		assert_int_equal(err.code, OK);
		nothing_is_left(files);
	}
}

enum how { FAIL_WITH_WORDS, FAIL_WITHOUT, KILL, EXIT };

/* Rank 1 fails; rank 0 waits for it; others, if any, hang and ignore what they can. */
static enum status one_fails(struct comm *world, void *arg, struct error *err)
{
	enum how how = *(enum how *)arg;
	int me = comm_rank(world);

	shown->pids[me] = getpid();
	if (me == 0)
		return comm_run(world, COMM_BARRIER, NULL, 0, DTYPE_F32, 0, err);
	signal(SIGTERM, SIG_IGN);
	if (me > 1)
		for (;;)
			pause();
	usleep(20 * 1000);
	if (how == KILL)
		raise(SIGKILL);
	if (how == EXIT)
		_exit(0); /* before the others: that is no success */
	if (how == FAIL_WITHOUT)
		return ERR_FAILED;
	FAIL(err, ERR_USAGE, "no data for %d", me);
	return HINT(err, "give it some");
}

static void check_failure(enum how how, enum status code, const char *msg, const char *hint)
{
	for (int ranks = 2; ranks <= 4; ranks += 2) {
		int files = count_files();
		struct error err = {0};
		double begin = clock_ms();

		assert_int_equal(comm_fork(ranks, one_fails, &how, &err), code);
		assert_int_equal(err.code, code);
		assert_non_null(strstr(err.msg, msg));
		assert_string_equal(err.hint, hint);
		/* Those that wait go at once, those that hang a second later. */
		assert_true(clock_ms() - begin < (ranks == 2 ? 900 : 5000));
		nothing_is_left(files);
	}
}

static void the_words_of_who_fails_come_back(void **state)
{
	(void)state;
	check_failure(FAIL_WITH_WORDS, ERR_USAGE, ": no data for 1", "give it some");
	check_failure(FAIL_WITHOUT, ERR_FAILED, "ended without a message", "");
}

static void who_is_killed_is_named(void **state)
{
	(void)state;
	check_failure(KILL, ERR_FAILED, "rank 1 of ", "");
	check_failure(KILL, ERR_FAILED, " was ended by signal 9 (Killed)", "");
	check_failure(EXIT, ERR_FAILED, "ended without a message", "");
}

static void no_world_has_no_ranks(void **state)
{
	struct error err = {0};
	(void)state;

	assert_int_equal(comm_fork(0, add_up, NULL, &err), ERR_USAGE);
	assert_int_equal(comm_fork(RANKS_MAX + 1, add_up, NULL, fresh(&err)), ERR_USAGE);
	assert_string_equal(err.hint, "from 1 to 4096");
}

/* A program that has its children collected by the kernel. */
static void ignored_children_are_heard_all_the_same(void **state)
{
	float more = 0;
	enum how how = FAIL_WITH_WORDS;
	struct error err = {0};
	(void)state;

	signal(SIGCHLD, SIG_IGN);
	assert_int_equal(comm_fork(3, add_up, &more, &err), OK);
	assert_int_equal(comm_fork(2, one_fails, &how, &err), ERR_USAGE);
	signal(SIGCHLD, SIG_DFL);
}

/* Who adopts orphans may be slow to collect them: those that are dead do not count. */
static bool is_alive(int pid)
{
	char path[64], text[256] = "", *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return false;
	end = fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
	fclose(f);
	return end && end[2] != 'Z' && end[2] != 'X';
}

static enum status hang(struct comm *world, void *arg, struct error *err)
{
	(void)arg;
	shown->pids[comm_rank(world)] = getpid();
	while (pause())
		;
	return FAIL(err, ERR_FAILED, "never");
}

/* Ranks do not outlive a parent that is killed: then they are the kernel's children. */
static void ranks_die_with_their_parent(void **state)
{
	pid_t parent;
	(void)state;

	memset(shown, 0, sizeof(*shown));
	parent = fork();
	if (parent == 0) {
		comm_fork(2, hang, NULL, NULL);
		_exit(0);
	}
	while (!shown->pids[0] || !shown->pids[1])
		usleep(1000);
	kill(parent, SIGKILL);
	waitpid(parent, NULL, 0);
	for (int i = 0; i < 2000 && (is_alive(shown->pids[0]) || is_alive(shown->pids[1])); i++)
		usleep(1000);
	assert_false(is_alive(shown->pids[0]));
	assert_false(is_alive(shown->pids[1]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_work_together),
		cmocka_unit_test(the_words_of_who_fails_come_back),
		cmocka_unit_test(who_is_killed_is_named),
		cmocka_unit_test(no_world_has_no_ranks),
		cmocka_unit_test(ignored_children_are_heard_all_the_same),
		cmocka_unit_test(ranks_die_with_their_parent),
	};

	return cmocka_run_group_tests(tests, show, hide);
}
