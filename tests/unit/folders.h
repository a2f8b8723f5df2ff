/* folders.h - for tests: a folder for each of them, and processes that own folders. */
#ifndef KOLM_TESTS_FOLDERS_H
#define KOLM_TESTS_FOLDERS_H

#include "testing.h"

#include "base/file.h"
#include "base/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char base[256];

static inline int make_base(void **state)
{
	(void)state;
	test_folder(base, sizeof(base));
	return 0;
}

static inline int remove_base(void **state)
{
	(void)state;
	test_folder_remove(base);
	return 0;
}

static inline const char *in_base(const char *name)
{
	static char paths[4][512];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", base, name);
	return path;
}

static inline bool exists(const char *path)
{
	struct stat info;

	return !lstat(path, &info);
}

static inline void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static inline bool holds(const char *path, const char *text)
{
	char *data;
	size_t size;
	bool same;

	assert_int_equal(file_read(path, 1000, &data, &size, NULL), OK);
	same = !strcmp(data, text);
	free(data);
	return same;
}

static inline int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

/* A process that claims a folder and waits to be killed; with a child of its own, if asked. */
static inline pid_t start_owner(const char *path, pid_t *child)
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

static inline void end(pid_t pid)
{
	assert_true(pid > 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_base, remove_base)

#endif
