/*
 * test_launch.c - the supervisor tells the truth: the right rank, the right reason, the
 * right exit code, everything gone in time.
 */
#include "testing.h"

#include "base/clock.h"
#include "launch/launch.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* What ranks tell the test: their process ids, and how far they are. */
struct shared {
	_Atomic int pids[64], steps;
};

static struct shared *shared;

static int map_shared(void **state)
{
	(void)state;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	return shared == MAP_FAILED;
}

/* Nothing that this process has started may be left. */
static void nobody_is_left(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* Exchange sums for ever, or until *arg steps are done. */
static enum status exchange(struct rank *r, void *arg, struct error *err)
{
	enum status st;
	int limit = arg ? *(int *)arg : 1 << 30;
	float *x;

	shared->pids[r->number] = getpid();
	TRY(comm_alloc(r->world, 4096 * sizeof(float), (void **)&x, err));
	for (int step = 0; step < limit; step++) {
		rank_at(r, "step %d", step);
		for (int i = 0; i < 4096; i++)
			x[i] = 1;
		TRY(comm_run(r->world, COMM_ALLREDUCE, x, 4096, DTYPE_F32, 0, err));
		if (x[0] != (float)r->ranks)
			return FAIL(err, ERR_FAILED, "the sum is %g", (double)x[0]);
		if (r->number == 0)
			shared->steps = step + 1;
	}
out:
	return st;
}

static void ranks_run_and_end(void **state)
{
	struct error err = {0};
	int steps = 20;
	(void)state;

	for (int ranks = 1; ranks <= 16; ranks *= 2) {
		struct launch l = {.ranks = ranks, .timeout_ms = 10000};

		if (launch_run(&l, exchange, &steps, fresh(&err)) != OK)
			fail_msg("%d ranks: %s", ranks, err.msg);
		assert_int_equal(shared->steps, steps);
		nobody_is_left();
	}
}

static enum status check_environment(struct rank *r, void *arg, struct error *err)
{
	(void)arg;
	if (atoi(getenv("RANK")) != r->number || atoi(getenv("LOCAL_RANK")) != r->number ||
	    atoi(getenv("WORLD_SIZE")) != r->ranks)
		return FAIL(err, ERR_FAILED, "RANK=%s", getenv("RANK"));
	return OK;
}

static void ranks_know_who_they_are(void **state)
{
	struct launch l = {.ranks = 3};
	struct error err = {0};
	(void)state;

	assert_int_equal(launch_run(&l, check_environment, NULL, fresh(&err)), OK);
}

/* Rank *arg fails in its third step while the others wait for it. */
static enum status fail_one(struct rank *r, void *arg, struct error *err)
{
	int steps = 3;
	enum status st = exchange(r, &steps, err);

	if (st == OK && r->number == *(int *)arg) {
		FAIL(err, ERR_USAGE, "rank says: no data left");
		return HINT(err, "bring some");
	}
	return st == OK ? exchange(r, NULL, err) : st;
}

static void a_rank_that_fails_is_quoted(void **state)
{
	struct launch l = {.ranks = 4, .timeout_ms = 20000};
	struct error err = {0};
	(void)state;

	for (int culprit = 0; culprit < 4; culprit++) {
		char name[32];
		double start = clock_ms();

		snprintf(name, sizeof(name), "rank %d of 4", culprit);
		assert_int_equal(launch_run(&l, fail_one, &culprit, fresh(&err)), ERR_USAGE);
		assert_non_null(strstr(err.msg, name));
		assert_non_null(strstr(err.msg, "no data left"));
		assert_string_equal(err.hint, "bring some");
		assert_int_equal(err.exit_code, 2);
		assert_true(clock_ms() - start < 2000);
		nobody_is_left();
	}
}

static enum status crash_one(struct rank *r, void *arg, struct error *err)
{
	int steps = 3;
	enum status st = exchange(r, &steps, err);

	if (st == OK && r->number == *(int *)arg)
		raise(SIGSEGV);
	return st == OK ? exchange(r, NULL, err) : st;
}

static void a_crash_names_signal_and_place(void **state)
{
	struct launch l = {.ranks = 3, .timeout_ms = 20000};
	struct error err = {0};
	int culprit = 1;
	(void)state;

	assert_int_equal(launch_run(&l, crash_one, &culprit, fresh(&err)), ERR_FAILED);
	assert_int_equal(err.exit_code, 128 + SIGSEGV);
	assert_non_null(strstr(err.msg, "rank 1 of 3"));
	assert_non_null(strstr(err.msg, "signal 11"));
	assert_non_null(strstr(err.msg, "at step 2"));
	nobody_is_left();
}

/* From a process of its own: send a signal to a rank at a random moment. */
static pid_t shoot(struct random *r, int rank, int number)
{
	int after = random_int(r, 0, 30);
	pid_t pid = fork();

	if (pid)
		return pid;
	while (!shared->pids[rank])
		usleep(200);
	usleep((useconds_t)after * 1000);
	kill(shared->pids[rank], number);
	_exit(0);
}

static void a_killed_rank_is_named_every_time(void **state)
{
	struct random r = random_start("kills");
	(void)state;

	for (int i = 0; i < 50; i++) {
		struct launch l = {.ranks = random_int(&r, 1, 8), .timeout_ms = 20000};
		int victim = random_int(&r, 0, l.ranks - 1);
		struct error err = {0};
		char name[32];
		double start;
		pid_t shooter;

		memset((void *)shared, 0, sizeof(*shared));
		shooter = shoot(&r, victim, SIGKILL);
		start = clock_ms();
		snprintf(name, sizeof(name), "rank %d of %d", victim, l.ranks);
		assert_int_equal(launch_run(&l, exchange, NULL, fresh(&err)), ERR_FAILED);
		if (!strstr(err.msg, name) || !strstr(err.msg, "signal 9") ||
		    err.exit_code != 137)
			fail_msg("killed rank %d, got %d: %s", victim, err.exit_code, err.msg);
		assert_true(clock_ms() - start < 3000);
		waitpid(shooter, NULL, 0);
		nobody_is_left();
	}
}

static void a_stopped_rank_is_a_hang_with_its_name(void **state)
{
	struct random r = random_start("hangs");
	(void)state;

	for (int i = 0; i < 5; i++) {
		struct launch l = {.ranks = random_int(&r, 2, 6), .timeout_ms = 600};
		int victim = random_int(&r, 0, l.ranks - 1);
		struct error err = {0};
		char name[48];
		pid_t shooter;

		memset((void *)shared, 0, sizeof(*shared));
		shooter = shoot(&r, victim, SIGSTOP);
		assert_int_equal(launch_run(&l, exchange, NULL, fresh(&err)), ERR_FAILED);
		snprintf(name, sizeof(name), "rank %d of %d on ", victim, l.ranks);
		if (strncmp(err.msg, name, strlen(name)) ||
		    !strstr(err.msg, " hangs (it is stopped): last at step") ||
		    !strstr(err.msg, "for it in all-reduce"))
			fail_msg("stopped rank %d, got: %s", victim, err.msg);
		waitpid(shooter, NULL, 0);
		nobody_is_left();
	}
}

/* Rank 0 works on its own, with signs of life, longer than the timeout; others wait. */
static enum status busy_one(struct rank *r, void *arg, struct error *err)
{
	(void)arg;
	for (int i = 0; i < 15 && r->number == 0; i++) {
		rank_at(r, "part %d", i);
		usleep(100 * 1000);
	}
	return comm_run(r->world, COMM_BARRIER, NULL, 0, DTYPE_F32, 0, err);
}

static void waiting_for_one_that_works_is_no_hang(void **state)
{
	struct launch l = {.ranks = 3, .timeout_ms = 500};
	struct error err = {0};
	(void)state;

	if (launch_run(&l, busy_one, NULL, fresh(&err)) != OK)
		fail_msg("%s", err.msg);
}

/* Rank 1 leaves while the others expect it. */
static enum status leave_one(struct rank *r, void *arg, struct error *err)
{
	(void)arg;
	if (r->number == 1)
		return OK;
	return comm_run(r->world, COMM_BARRIER, NULL, 0, DTYPE_F32, 0, err);
}

static void one_that_left_is_named(void **state)
{
	struct launch l = {.ranks = 3, .timeout_ms = 500};
	struct error err = {0};
	(void)state;

	assert_int_equal(launch_run(&l, leave_one, NULL, fresh(&err)), ERR_FAILED);
	if (!strstr(err.msg, "rank 1 of 3 on ") ||
	    !strstr(err.msg, " has ended while others wait"))
		fail_msg("%s", err.msg);
	nobody_is_left();
}

/* A parent that ignores SIGCHLD hands that down; ranks must be collected all the same. */
static void an_ignored_sigchld_does_not_matter(void **state)
{
	struct launch l = {.ranks = 3, .timeout_ms = 5000};
	struct error err = {0};
	int steps = 3;
	(void)state;

	signal(SIGCHLD, SIG_IGN);
	assert_int_equal(launch_run(&l, exchange, &steps, fresh(&err)), OK);
	signal(SIGCHLD, SIG_DFL);
}

/* A signal to the supervisor itself, which runs in a process of its own. */
static void signal_supervisor(int number, int want_status)
{
	int ends[2], status;
	double start;
	pid_t pid;
	char byte;

	memset((void *)shared, 0, sizeof(*shared));
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		struct launch l = {.ranks = 3, .timeout_ms = 20000};
		struct error err = {0};
		enum status st = launch_run(&l, exchange, NULL, fresh(&err));

		_exit(error_exit_code(st));
	}
	close(ends[1]);
	while (shared->steps < 5)
		usleep(1000);
	kill(pid, number);
	start = clock_ms();
	waitpid(pid, &status, 0);
	if (number == SIGKILL)
		assert_true(WIFSIGNALED(status));
	else
		assert_int_equal(WEXITSTATUS(status), want_status);
	/* The pipe reaches its end when the last process that holds it is gone. */
	assert_int_equal(read(ends[0], &byte, 1), 0);
	assert_true(clock_ms() - start < 2000);
	close(ends[0]);
}

static void ranks_end_with_their_supervisor(void **state)
{
	(void)state;
	signal_supervisor(SIGINT, 130);
	signal_supervisor(SIGTERM, 143);
	signal_supervisor(SIGKILL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_run_and_end),
		cmocka_unit_test(ranks_know_who_they_are),
		cmocka_unit_test(a_rank_that_fails_is_quoted),
		cmocka_unit_test(a_crash_names_signal_and_place),
		cmocka_unit_test(a_killed_rank_is_named_every_time),
		cmocka_unit_test(a_stopped_rank_is_a_hang_with_its_name),
		cmocka_unit_test(waiting_for_one_that_works_is_no_hang),
		cmocka_unit_test(one_that_left_is_named),
		cmocka_unit_test(an_ignored_sigchld_does_not_matter),
		cmocka_unit_test(ranks_end_with_their_supervisor),
	};

	alarm(300); /* what these tests look for would otherwise show as a hang of their own */
	return cmocka_run_group_tests(tests, map_shared, NULL);
}
