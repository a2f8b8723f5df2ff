/* test_room.c - how much memory may be had, and who says so. */
#include "testing.h"

#include "base/room.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

static char folder[256];

static void put(const char *path, const char *text)
{
	char whole[600], *slash = whole;
	FILE *f;

	snprintf(whole, sizeof(whole), "%s/%s", folder, path);
	while ((slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		mkdir(whole, 0777);
		*slash = '/';
	}
	f = fopen(whole, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static struct room look(const char *list)
{
	char path[300];

	put("list", list);
	snprintf(path, sizeof(path), "%s/list", folder);
	return room_of_cgroups(folder, path);
}

static int make_cgroups(void **state)
{
	(void)state;
	test_folder(folder, sizeof(folder));
	/* the second kind, */
	put("memory.max", "max\n");
	put("memory.current", "999\n");
	put("a/memory.max", "1000000\n");
	put("a/memory.current", "700000\n");
	put("a/memory.stat", "anon 1\ninactive_file 100000\nactive_file 5\n");
	put("a/b/memory.max", "900000\n");
	put("a/b/memory.current", "100000\n");
	put("full/memory.max", "1000\n");
	put("full/memory.current", "5000\n");
	/* and the first */
	put("memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("memory/memory.usage_in_bytes", "5\n");
	put("memory/x/memory.limit_in_bytes", "2000000\n");
	put("memory/x/memory.usage_in_bytes", "600000\n");
	put("memory/x/memory.stat", "cache 1\ntotal_inactive_file 50000\n");
	return 0;
}

static int remove_cgroups(void **state)
{
	(void)state;
	test_folder_remove(folder);
	return 0;
}

/* Every cgroup above the process counts; what files take there gives way. */
static void the_tightest_cgroup_decides(void **state)
{
	struct room room;
	(void)state;

	assert_true(look("0::/\n").free == UINT64_MAX);
	assert_true(look("nonsense\n").free == UINT64_MAX);
	assert_true(look("0::/a\n").free == 400000);
	assert_true(look("0::/a/b\n").free == 400000); /* a is tighter than b */
	assert_true(look("0::/a/b/not/there\n").free == 400000);
	assert_true(look("0::/outside\n").free == UINT64_MAX);
	assert_true(look("0::/full\n").free == 0);
	assert_true(look("3:cpu:/a\n4:memory:/x\n0::/\n").free == 1450000);
	room = look("4:memory:/x\n");
	assert_non_null(strstr(room.why,
			       "memory/x/memory.limit_in_bytes allows 1.9 MiB, of which "
			       "537.1 KiB are in use"));
	room = look("0::/a\n");
	assert_non_null(strstr(room.why, "/a/memory.max allows 976.6 KiB, of which 585.9 KiB"));
}

static struct rlimit limit(int resource, uint64_t bytes)
{
	struct rlimit old, new;

	getrlimit((unsigned)resource, &old);
	new = (struct rlimit){.rlim_cur = bytes, .rlim_max = old.rlim_max};
	assert_int_equal(setrlimit((unsigned)resource, &new), 0);
	return old;
}

static void limits_of_the_process_are_named_with_their_value(void **state)
{
	static const struct {
		enum room_kind kind;
		int resource;
		const char *name;
	} kinds[] = {
		{ROOM_ADDRESSES, RLIMIT_AS, "'ulimit -v 8388608' allows 8.0 GiB, of which"},
		{ROOM_OWN, RLIMIT_DATA, "'ulimit -d 8388608' allows 8.0 GiB, of which"},
		{ROOM_FILE, RLIMIT_FSIZE, "'ulimit -f 8388608' allows 8.0 GiB"}};
	(void)state;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip(); /* they take more addresses than that */
#endif
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct error err = {0};
		struct rlimit old = limit(kinds[i].resource, 8ull << 30);
		struct room room = room_of(kinds[i].kind);

		assert_int_equal(
			room_check(kinds[i].kind, room.free, "a thing takes", fresh(&err)), OK);
		assert_int_equal(
			room_check(kinds[i].kind, 9ull << 30, "a thing takes", fresh(&err)),
			ERR_MEMORY);
		setrlimit((unsigned)kinds[i].resource, &old);
		assert_true(room.free <= 8ull << 30 && room.free > 7ull << 30);
		assert_non_null(strstr(room.why, kinds[i].name));
		assert_non_null(strstr(err.msg, "a thing takes 9.0 GiB, but "));
		assert_non_null(strstr(err.msg, room.why));
		assert_true(room_of(kinds[i].kind).free == UINT64_MAX ||
			    old.rlim_cur != RLIM_INFINITY);
	}
}

/* What the kernel refuses is beyond what room_of says there is. */
static void there_is_as_much_as_it_says(void **state)
{
	struct rlimit old;
	uint64_t most;
	void *p;
	(void)state;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip();
#endif
	old = limit(RLIMIT_AS, 8ull << 30);
	most = room_of(ROOM_ADDRESSES).free & ~4095ull;
	p = mmap(NULL, most + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(p == MAP_FAILED);
	p = mmap(NULL, most - (1 << 20), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(p != MAP_FAILED);
	munmap(p, most - (1 << 20));
	setrlimit(RLIMIT_AS, &old);
}

/* Whoever gets no memory for some small thing says why, without asking for it. */
static void an_error_names_the_limit_that_is_used_up(void **state)
{
	struct error err = {0};
	struct rlimit old;
	(void)state;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip();
#endif
	FAIL(&err, ERR_MEMORY, "no memory");
	assert_string_equal(err.hint, "");
	old = limit(RLIMIT_AS, 8ull << 30);
	FAIL(fresh(&err), ERR_MEMORY, "no memory"); /* there is enough */
	assert_string_equal(err.hint, "");
	limit(RLIMIT_AS, 4 << 20);
	FAIL(fresh(&err), ERR_MEMORY, "no memory");
	HINT(&err, "try less");
	setrlimit(RLIMIT_AS, &old);
	assert_non_null(strstr(err.hint, "'ulimit -v 4096' allows 4.0 MiB, of which"));
	assert_non_null(strstr(err.hint, "; try less"));
	HINT(&err, "'ulimit -f 1' allows 1.0 KiB"); /* who knows better */
	assert_string_equal(err.hint, "'ulimit -f 1' allows 1.0 KiB");
	FAIL(fresh(&err), ERR_FAILED, "something else");
	assert_string_equal(err.hint, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tightest_cgroup_decides),
		cmocka_unit_test(limits_of_the_process_are_named_with_their_value),
		cmocka_unit_test(there_is_as_much_as_it_says),
		cmocka_unit_test(an_error_names_the_limit_that_is_used_up),
	};

	return cmocka_run_group_tests(tests, make_cgroups, remove_cgroups);
}
