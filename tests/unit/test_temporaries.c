/* test_temporaries.c - names of files and folders: nobody foresees them, no link leads
   elsewhere, and what the dead have left goes. */
#include "folders.h"

#include "trace/run.h"

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
		if (run_claim(&runs[i], "", RUN_IS_NEW, fresh(&err)) != OK)
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
	assert_int_equal(run_claim(&runs[0], "", RUN_IS_NEW, fresh(&err)), OK);
	assert_int_equal(count_entries("runs/dead"), 1);
	run_release(&runs[0]);
	assert_int_equal(chdir(before), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(temporary_folders_of_the_dead_go),
		TEST(temporary_names_can_not_be_foreseen),
		TEST(files_replace_links),
		TEST(paths_below_a_folder_have_no_links),
		TEST(runs_of_one_second_have_their_own_folders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
