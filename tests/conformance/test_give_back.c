/*
 * test_give_back.c - groups and memory come and go thousands of times in one world, for all
 * transports, and what a world takes stays what one round of it takes.
 */
#include "ranks.h"

#include <dirent.h>
#include <sys/stat.h>

enum {
	ROUNDS = 2000,
	LARGE = 3 << 20,  /* bytes: more than a huge page, now and then */
	MOST = 160 << 20, /* that all of it may take; without giving back it would be 800 MB */
};

/* Of the memory that ranks share, as this process has it open: addresses, and pages. */
static void measure_shared(int64_t *bytes, int64_t *pages)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;

	*bytes = *pages = 0;
	while (folder && (entry = readdir(folder))) {
		char path[300], target[300];
		ssize_t n;
		struct stat st;

		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		n = readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		if (!strstr(target, "memfd:kolm") || stat(path, &st))
			continue;
		*bytes += st.st_size;
		*pages += st.st_blocks * 512;
	}
	if (folder)
		closedir(folder);
}

static int64_t resident(void)
{
	long size, pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	CHECK(f && fscanf(f, "%ld %ld", &size, &pages) == 2, "no statm");
	fclose(f);
	return pages * 4096;
}

static float *take(struct comm *world, size_t n)
{
	float *x = rank_alloc(world, n * sizeof(*x));

	for (size_t i = 0; i < n; i += 1 + n / 100)
		CHECK(x[i] == 0, "memory that was used before is not zero: %g", (double)x[i]);
	CHECK(x[n - 1] == 0, "at its end");
	return x;
}

static void sum(struct comm *group, float *x, size_t n, float value)
{
	struct error err = {0};

	for (size_t i = 0; i < n; i++)
		x[i] = value;
	CHECK(comm_run(group, COMM_ALLREDUCE, x, n, DTYPE_F32, 0, &err) == OK, "%s", err.msg);
	for (size_t i = 0; i < n; i += 1 + n / 100)
		CHECK(x[i] == value * (float)comm_size(group), "%g of %d", (double)x[i],
		      comm_size(group));
}

static void pass_on(struct comm *world, float *out, float *in, size_t n)
{
	int ranks = comm_size(world), me = comm_rank(world);
	struct comm_request send, receive;

	out[n - 1] = (float)me + 1;
	comm_irecv(world, (me + ranks - 1) % ranks, 0, in, n * sizeof(*in), &receive);
	comm_isend(world, (me + 1) % ranks, 0, out, n * sizeof(*out), &send);
	rank_wait(&send);
	rank_wait(&receive);
	CHECK(in[n - 1] == (float)((me + ranks - 1) % ranks + 1), "%g", (double)in[n - 1]);
}

/* All ranks, and the even or the odd ones; round by round other ranks free first. */
static void open_two(struct comm *world, struct comm *groups[2])
{
	int n = comm_size(world), me = comm_rank(world), all[RANKS_MAX], half[RANKS_MAX], k = 0;
	struct error err = {0};

	for (int i = 0; i < n; i++) {
		all[i] = i;
		if (i % 2 == me % 2)
			half[k++] = i;
	}
	CHECK(comm_create(&groups[0], world, COMM_FOR_REPLICAS, all, n, &err) == OK, "%s",
	      err.msg);
	CHECK(comm_create(&groups[1], world, COMM_FOR_SLICES, half, k, &err) == OK, "%s",
	      err.msg);
}

static void come_and_go(struct comm *world, void *arg)
{
	struct random own = *(struct random *)arg, common = own;
	int64_t before = resident(), bytes, pages;
	float *kept = take(world, 100);

	own.next += 1000 * (uint64_t)comm_rank(world);
	kept[99] = 7;
	for (int round = 0; round < ROUNDS; round++) {
		size_t n = (size_t)random_int(&common, 1, round % 100 ? 3000 : LARGE / 4);
		size_t private = (size_t)random_int(&own, 1, round % 100 ? 2000 : LARGE / 4);
		struct comm *groups[2];
		float *x, *y, *z;

		open_two(world, groups);
		x = take(world, n);
		y = take(world, private);
		z = take(world, n);
		y[private - 1] = 3;
		sum(groups[round % 2], x, n, (float)(round % 7));
		comm_give_back(world, y);
		pass_on(world, x, z, n);
		comm_free(groups[(round + comm_rank(world)) % 2]);
		comm_give_back(world, x);
		sum(world, z, 1, 2);
		comm_give_back(world, z);
		comm_free(groups[(round + comm_rank(world) + 1) % 2]);
	}
	CHECK(kept[99] == 7, "what was kept is %g", (double)kept[99]);
	comm_give_back(world, NULL);
	measure_shared(&bytes, &pages);
	CHECK(bytes <= MOST, "the shared memory has grown to %lld bytes", (long long)bytes);
	CHECK(pages <= MOST, "it holds %lld bytes", (long long)pages);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	CHECK(resident() - before < MOST, "%lld bytes more", (long long)(resident() - before));
#else
	(void)before; /* they keep what is freed */
#endif
}

static void worlds_do_not_grow(void **state)
{
	struct random r = random_start("come and go");
	(void)state;

	run_self(come_and_go, &r);
	run_ranks(4, come_and_go, &r);
}

#ifndef KOLM_TEST_MPI
static void worlds_of_threads_do_not_grow(void **state)
{
	struct random r = random_start("come and go");
	(void)state;

	run_threads(3, come_and_go, &r);
}
#endif

/* Nobody waits for those who are late with freeing before there is no place left. */
static void run_ahead(struct comm *world, void *arg)
{
	int all[RANKS_MAX], me = comm_rank(world);
	struct comm *groups[20];
	struct error err = {0};

	(void)arg;
	for (int i = 0; i < comm_size(world); i++)
		all[i] = i;
	for (int round = 0; round < 6; round++) {
		for (int i = 0; i < 20; i++) {
			CHECK(comm_create(&groups[i], world, COMM_FOR_REPLICAS, all,
					  comm_size(world), &err) == OK,
			      "%s", err.msg);
			if (me == 0)
				comm_free(groups[i]); /* never used, and never waited for */
		}
		for (int i = 0; i < 20 && me > 0; i++)
			comm_free(groups[i]);
	}
}

static void who_frees_late_is_waited_for(void **state)
{
	(void)state;
	run_ranks(4, run_ahead, NULL);
}

/* So many at a time, and no more: an error on every rank. */
static void too_many(struct comm *world, void *arg)
{
	int all[RANKS_MAX], n = 0;
	struct comm *groups[64];
	struct error err = {0};

	(void)arg;
	for (int i = 0; i < comm_size(world); i++)
		all[i] = i;
	while (n < 64 && comm_create(&groups[n], world, COMM_FOR_REPLICAS, all,
				     comm_size(world), &err) == OK)
		n++;
	CHECK(n == 23 && strstr(err.msg, "more than 24 groups of ranks at a time"), "%d: %s", n,
	      err.msg);
	while (n > 0)
		comm_free(groups[--n]);
}

static void groups_at_a_time_are_limited(void **state)
{
	(void)state;
	run_ranks(2, too_many, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(worlds_do_not_grow),
#ifndef KOLM_TEST_MPI
		cmocka_unit_test(worlds_of_threads_do_not_grow),
#endif
		cmocka_unit_test(who_frees_late_is_waited_for),
		cmocka_unit_test(groups_at_a_time_are_limited),
	};

	ranks_begin();
	return ranks_end(cmocka_run_group_tests(tests, NULL, NULL));
}
