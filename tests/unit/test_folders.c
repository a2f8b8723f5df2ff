/* test_folders.c - a folder belongs to one process at a time, and what killed ones leave goes.
 */
#include "testing.h"

#include "base/file.h"
#include "base/folder.h"
#include "trace/run.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { PROCESSES = 6, ROUNDS = 40 };

static char base[256];

static int make_base(void **state)
{
	(void)state;
	test_folder(base, sizeof(base));
	return 0;
}

static int remove_base(void **state)
{
	(void)state;
	test_folder_remove(base);
	return 0;
}

static const char *in_base(const char *name)
{
	static char paths[4][512];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", base, name);
	return path;
}

static bool exists(const char *path)
{
	struct stat info;

	return !lstat(path, &info);
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static bool holds(const char *path, const char *text)
{
	char *data;
	size_t size;
	bool same;

	assert_int_equal(file_read(path, 1000, &data, &size, NULL), OK);
	same = !strcmp(data, text);
	free(data);
	return same;
}

static int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

/* A process that claims a folder and waits to be killed; with a child of its own, if asked. */
static pid_t start_owner(const char *path, pid_t *child)
{
	pid_t *shared =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ready[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		struct folder f;

		if (folder_claim(&f, path, NULL) != OK)
			_exit(1);
		if (child) {
			pid_t own = fork();

			if (own)
				*shared = own;
		}
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	if (child)
		assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	if (child)
		*child = *shared;
	munmap(shared, 4096);
	return pid;
}

static void end(pid_t pid)
{
	assert_true(pid > 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

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

static int temporaries(void)
{
	DIR *dir = opendir(base);
	struct dirent *entry;
	int n = 0;

	while ((entry = readdir(dir)))
		n += !strncmp(entry->d_name, "kolm-tmp-", 9);
	closedir(dir);
	return n;
}

static void temporary_folders_of_the_dead_go(void **state)
{
	struct random r = random_start("temporary folders");
	struct folder mine, next;
	struct error err = {0};
	char file[PATH_MAX + 16];
	(void)state;

	setenv("TMPDIR", base, 1);
	assert_int_equal(folder_make_temporary(&mine, "test", fresh(&err)), OK);
	snprintf(file, sizeof(file), "%s/file", mine.path);
	put(file, "in use");
	assert_int_equal(mkdir(in_base("kolm-other"), 0700), 0);
	assert_int_equal(symlink("kolm-other", in_base("kolm-tmp-link-aaaaaa")), 0);
	put(in_base("kolm-other/file"), "somebody's");
	for (int round = 0; round < 20; round++) {
		struct timespec moment = {.tv_nsec = random_int(&r, 0, 3000) * 1000};
		pid_t pids[3];

		for (int i = 0; i < 3; i++) {
			pids[i] = fork();
			while (!pids[i]) {
				struct folder f;

				if (folder_make_temporary(&f, "child", NULL) != OK)
					_exit(1);
				if (access(f.path, W_OK)) /* taken for a dead one's */
					_exit(1);
				folder_remove_temporary(&f);
			}
		}
		nanosleep(&moment, NULL);
		for (int i = 0; i < 3; i++) {
			int status;

			kill(pids[i], SIGKILL);
			waitpid(pids[i], &status, 0);
			assert_true(WIFSIGNALED(status));
		}
	}
	assert_int_equal(folder_make_temporary(&next, "test", fresh(&err)), OK);
	assert_int_equal(temporaries(), 3); /* mine, next and the link */
	folder_remove_temporary(&next);
	snprintf(file, sizeof(file), "%s/file", mine.path);
	assert_true(holds(file, "in use"));
	assert_true(holds(in_base("kolm-other/file"), "somebody's"));
	folder_remove_temporary(&mine);
	assert_int_equal(temporaries(), 1);
	unsetenv("TMPDIR");
}

static void temporary_names_can_not_be_foreseen(void **state)
{
	struct file a, b;
	struct error err = {0};
	(void)state;

	assert_int_equal(file_create(&a, in_base("file"), fresh(&err)), OK);
	assert_int_equal(file_create(&b, in_base("file"), fresh(&err)), OK);
	assert_string_not_equal(a.temporary, b.temporary);
	assert_true(file_is_temporary(strrchr(a.temporary, '/') + 1));
	assert_int_equal(file_write(&a, "a", 1, fresh(&err)), OK);
	assert_int_equal(file_commit(&a, fresh(&err)), OK);
	file_abort(&b);
	assert_true(holds(in_base("file"), "a"));
	assert_int_equal(count_entries(base), 1);
}

/* What lies in the way of a file is replaced, not written to. */
static void files_replace_links(void **state)
{
	struct error err = {0};
	(void)state;

	put(in_base("victim"), "precious");
	assert_int_equal(symlink("victim", in_base("file")), 0);
	assert_int_equal(file_write_whole(in_base("file"), "new", 3, fresh(&err)), OK);
	assert_true(holds(in_base("victim"), "precious"));
	assert_true(holds(in_base("file"), "new"));
}

static void paths_below_a_folder_have_no_links(void **state)
{
	struct error err = {0};
	(void)state;

	assert_int_equal(mkdir(in_base("out"), 0777), 0);
	assert_int_equal(mkdir(in_base("out/runs"), 0777), 0);
	assert_int_equal(file_check_below(in_base("out/runs/a-1"), in_base("out"), fresh(&err)),
			 OK);
	assert_int_equal(symlink("..", in_base("out/runs/a-1")), 0);
	assert_int_equal(file_check_below(in_base("out/runs/a-1"), in_base("out"), fresh(&err)),
			 ERR_USAGE);
	assert_int_equal(file_check_below(in_base("out/runs/b-1"), in_base("out"), fresh(&err)),
			 OK);
	assert_int_equal(symlink("runs", in_base("out/other")), 0);
	assert_int_equal(
		file_check_below(in_base("out/other/b-1"), in_base("out"), fresh(&err)),
		ERR_USAGE);
	assert_non_null(strstr(err.msg, "out/other is a symbolic link"));
	/* Where the folder itself is, its user has chosen. */
	assert_int_equal(symlink("out", in_base("link")), 0);
	assert_int_equal(
		file_check_below(in_base("link/runs/b-1"), in_base("link"), fresh(&err)), OK);
}

/* Runs without a name get one each, within a second too. */
static void runs_of_one_second_have_their_own_folders(void **state)
{
	struct run runs[5] = {0};
	struct error err = {0};
	char before[PATH_MAX];
	(void)state;

	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir(base), 0);
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		if (run_claim(&runs[i], "", false, fresh(&err)) != OK)
			fail_msg("%s", err.msg);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(runs[i].folder, runs[k].folder);
	}
	for (size_t i = ARRAY_SIZE(runs); i-- > 0;)
		run_release(&runs[i]);
	assert_false(exists("runs"));
	/* What a killed run has left in runs/ goes when the next one starts. */
	end(start_owner("runs/dead", NULL));
	put("runs/dead/job.json", "{}");
	put("runs/dead/metrics.jsonl", "{}");
	put("runs/dead/summary.json.tmp.0123456789abcdef", "{");
	assert_int_equal(run_claim(&runs[0], "", false, fresh(&err)), OK);
	assert_int_equal(count_entries("runs/dead"), 1);
	run_release(&runs[0]);
	assert_int_equal(chdir(before), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_base, remove_base)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_claimed_folder_is_refused_with_its_owner),
		TEST(forks_hold_it_until_they_end),
		TEST(what_a_killed_owner_left_goes),
		TEST(folders_made_in_vain_go),
		TEST(a_lock_is_never_another_file),
		TEST(claims_exclude_each_other),
		TEST(temporary_folders_of_the_dead_go),
		TEST(temporary_names_can_not_be_foreseen),
		TEST(files_replace_links),
		TEST(paths_below_a_folder_have_no_links),
		TEST(runs_of_one_second_have_their_own_folders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
