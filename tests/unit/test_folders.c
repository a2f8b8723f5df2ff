/* test_folders.c - a folder belongs to one process at a time; what killed ones leave goes. */
#include "folders.h"

#include <stdatomic.h>

enum { PROCESSES = 6, ROUNDS = 40 };

static void a_claimed_folder_is_refused_with_its_owner(void **state)
{
	pid_t owner = start_owner(in_base("run"), NULL);
	char wanted[64];
	struct error err = {0};
	struct folder f;
	(void)state;

	snprintf(wanted, sizeof(wanted), "/run is in use by process %d", (int)owner);
	assert_int_equal(folder_claim(&f, in_base("run"), fresh(&err)), ERR_FAILED);
	if (!strstr(err.msg, wanted))
		fail_msg("'%s' should say '%s'", err.msg, wanted);
	assert_false(folder_inherit(&f, in_base("run")));
	end(owner);
	assert_true(exists(in_base("run/.lock"))); /* and in nobody's way */
	assert_int_equal(folder_claim(&f, in_base("run"), fresh(&err)), OK);
	folder_release(&f);
}

/* What an owner has forked may still write: the folder is free when all of them are gone. */
static void forks_hold_it_until_they_end(void **state)
{
	struct timespec pause = {.tv_nsec = 200 * 1000 * 1000};
	pid_t child, owner = start_owner(in_base("run"), &child), killer;
	struct error err = {0};
	struct folder f;
	(void)state;

	end(owner);
	assert_true(child > 0);
	assert_false(folder_inherit(&f, in_base("run")));
	killer = fork();
	if (killer == 0) {
		nanosleep(&pause, NULL);
		put(in_base("killed"), "");
		kill(child, SIGKILL);
		_exit(0);
	}
	/* The fork of an owner that is dead is waited for. */
	assert_int_equal(folder_claim(&f, in_base("run"), fresh(&err)), OK);
	assert_true(exists(in_base("killed")));
	waitpid(killer, NULL, 0);
	folder_release(&f);
}

static void what_a_killed_owner_left_goes(void **state)
{
	static const char *const left[] = {"summary.json.tmp.0123456789abcdef",
					   "a.tmp.ffffffffffffffff"};
	static const char *const kept[] = {"summary.json", "notes.tmp.1",
					   "b.tmp.0123456789abcdeg", ".tmp.0123456789abcdef",
					   "c.tmp.0123456789abcdef0"};
	struct folder f;
	struct error err = {0};
	char path[128];
	(void)state;

	for (int inherit = 0; inherit < 2; inherit++) {
		end(start_owner(in_base("run"), NULL));
		for (size_t i = 0; i < ARRAY_SIZE(left); i++) {
			snprintf(path, sizeof(path), "run/%s", left[i]);
			put(in_base(path), "half");
		}
		for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
			snprintf(path, sizeof(path), "run/%s", kept[i]);
			put(in_base(path), "whole");
		}
		if (inherit)
			assert_true(folder_inherit(&f, in_base("run")));
		else
			assert_int_equal(folder_claim(&f, in_base("run"), fresh(&err)), OK);
		assert_int_equal(count_entries(in_base("run")), ARRAY_SIZE(kept) + 1);
		folder_release(&f);
		assert_int_equal(count_entries(in_base("run")), ARRAY_SIZE(kept));
		/* Left in order, there is nothing to inherit. */
		assert_false(folder_inherit(&f, in_base("run")));
	}
}

static void folders_made_in_vain_go(void **state)
{
	struct error err = {0};
	struct folder f;
	(void)state;

	assert_int_equal(folder_claim(&f, in_base("a/b/c"), fresh(&err)), OK);
	folder_release(&f);
	assert_false(exists(in_base("a")));
	assert_int_equal(mkdir(in_base("old"), 0777), 0);
	assert_int_equal(folder_claim(&f, in_base("old"), fresh(&err)), OK);
	folder_release(&f);
	assert_true(exists(in_base("old")));
	assert_int_equal(folder_claim(&f, in_base("a/b"), fresh(&err)), OK);
	put(in_base("a/b/file"), "");
	folder_release(&f);
	assert_int_equal(count_entries(in_base("a/b")), 1);
	folder_release(&f); /* once more does nothing */
	/* One that is in use keeps its name, the way there included. */
	assert_int_equal(folder_claim(&f, in_base("way/../there"), fresh(&err)), OK);
	put(in_base("there/file"), "");
	folder_release(&f);
	assert_true(exists(in_base("way/../there/file")));
	assert_int_equal(folder_claim(&f, in_base("vain/../gone"), fresh(&err)), OK);
	folder_release(&f);
	assert_false(exists(in_base("vain")) || exists(in_base("gone")));
}

/* Links in a folder that others may write to lead nowhere. */
static void a_lock_is_never_another_file(void **state)
{
	struct error err = {0};
	struct folder f;
	(void)state;

	put(in_base("victim"), "precious");
	assert_int_equal(mkdir(in_base("run"), 0777), 0);
	for (int kind = 0; kind < 3; kind++) {
		if (kind == 0)
			assert_int_equal(symlink("../victim", in_base("run/.lock")), 0);
		if (kind == 1)
			assert_int_equal(link(in_base("victim"), in_base("run/.lock")), 0);
		if (kind == 2)
			assert_int_equal(mkfifo(in_base("run/.lock"), 0666), 0);
		assert_int_equal(folder_claim(&f, in_base("run"), fresh(&err)), ERR_USAGE);
		assert_non_null(strstr(err.msg, "run/.lock"));
		assert_true(holds(in_base("victim"), "precious"));
		assert_int_equal(unlink(in_base("run/.lock")), 0);
	}
}

/* Processes that claim one folder again and again, and are killed now and then: never two at
   once, and never none that can. */
static void claims_exclude_each_other(void **state)
{
	struct random r = random_start("claims");
	_Atomic int *inside =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	_Atomic int *taken = inside + 1;
	const char *path = in_base("x/y");
	pid_t pids[PROCESSES];
	(void)state;

	for (int i = 0; i < PROCESSES; i++) {
		int until = random_int(&r, 1, ROUNDS);

		pids[i] = fork();
		if (pids[i])
			continue;
		for (int k = 0; k < ROUNDS; k++) {
			struct timespec work = {.tv_nsec = 200 * 1000};
			struct folder f;
			struct error err = {0};

			if (folder_claim(&f, path, fresh(&err)) != OK) {
				if (!strstr(err.msg, "is in use by"))
					_exit(3);
				continue;
			}
			if (atomic_fetch_add(inside, 1) != 0)
				_exit(2);
			atomic_fetch_add(taken, 1);
			nanosleep(&work, NULL);
			atomic_fetch_sub(inside, 1);
			if (k == until)
				raise(SIGKILL); /* as it is: locked */
			folder_release(&f);
		}
		_exit(0);
	}
	for (int i = 0; i < PROCESSES; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		if (WIFEXITED(status) && WEXITSTATUS(status))
			fail_msg("%s", WEXITSTATUS(status) == 2 ? "two owners at once"
								: "refused for another reason");
	}
	assert_true(*taken >= PROCESSES);
	munmap((void *)inside, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_claimed_folder_is_refused_with_its_owner),
		TEST(forks_hold_it_until_they_end),
		TEST(what_a_killed_owner_left_goes),
		TEST(folders_made_in_vain_go),
		TEST(a_lock_is_never_another_file),
		TEST(claims_exclude_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
