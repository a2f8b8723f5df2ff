/*
 * test_no_allocation.c - kolm train allocates nothing between its first and its last
 * step, nor does kolm generate between tokens. The linker sends kolm's calls of malloc and its
 * kin here; a line of output per step, or a token, tells when one is over.
 */
#include "testing.h"

#include "cmd/cmd.h"

#include <sys/mman.h>

/* Ranks are processes of their own: what they count is in memory that all share. */
static struct shared {
	_Atomic int allocations;
	int at_step[256], steps;
} * shared;

static int map_shared(void **state)
{
	(void)state;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	return shared == MAP_FAILED;
}

static void count(void)
{
	if (shared)
		shared->allocations++;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t m);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t a, size_t n);
void *__real_mmap(void *a, size_t n, int p, int f, int d, off_t o);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t m);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t a, size_t n);
void *__wrap_mmap(void *a, size_t n, int p, int f, int d, off_t o);
void __wrap_free(void *p);

void *__wrap_malloc(size_t n)
{
	count();
	return __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t m)
{
	count();
	return __real_calloc(n, m);
}

void *__wrap_realloc(void *p, size_t n)
{
	count();
	return __real_realloc(p, n);
}

void *__wrap_aligned_alloc(size_t a, size_t n)
{
	count();
	return __real_aligned_alloc(a, n);
}

void *__wrap_mmap(void *a, size_t n, int p, int f, int d, off_t o)
{
	count();
	return __real_mmap(a, n, p, f, d, o);
}

void __wrap_free(void *p)
{
	__real_free(p);
}

/* Standard output goes here: at each line, how many allocations there were so far. */
static ssize_t on_output(void *cookie, const char *text, size_t n)
{
	(void)cookie;
	for (size_t i = 0; i < n; i++)
		if (text[i] == '\n' && shared->steps < (int)ARRAY_SIZE(shared->at_step))
			shared->at_step[shared->steps++] = shared->allocations;
	return (ssize_t)n;
}

/* Tokens come one at a time. */
static ssize_t on_token(void *cookie, const char *text, size_t n)
{
	(void)cookie, (void)text;
	if (shared->steps < (int)ARRAY_SIZE(shared->at_step))
		shared->at_step[shared->steps++] = shared->allocations;
	return (ssize_t)n;
}

static void check_text(const char *what, const char **argv, int argc)
{
	enum { TOKENS = 150 }; /* the context is full several times */
	cookie_io_functions_t functions = {.write = on_token};
	FILE *saved = stdout;
	struct error err = {0};
	enum status st;

	memset((void *)shared, 0, sizeof(*shared));
	stdout = fopencookie(NULL, "w", functions);
	st = cmd_generate(argc, (char *const *)argv, &err);
	fclose(stdout);
	stdout = saved;
	if (st != OK)
		fail_msg("%s: %s", what, err.msg);
	assert_true(shared->steps >= TOKENS && shared->at_step[0] > 0);
	if (shared->at_step[TOKENS - 1] != shared->at_step[1])
		fail_msg("%s: %d allocations between tokens 1 and %d", what,
			 shared->at_step[TOKENS - 1] - shared->at_step[1], TOKENS - 1);
}

static void check_run(const char *what, const char **argv, int argc)
{
	cookie_io_functions_t functions = {.write = on_output};
	FILE *saved = stdout;
	struct error err = {0};
	enum status st;

	memset((void *)shared, 0, sizeof(*shared));
	stdout = fopencookie(NULL, "w", functions);
	st = cmd_train(argc, (char *const *)argv, &err);
	fclose(stdout);
	stdout = saved;
	if (st != OK)
		fail_msg("%s: %s", what, err.msg);
	assert_int_equal(shared->steps, 20);
	/* The count itself must work: setting up a run does allocate. */
	assert_true(shared->at_step[0] > 0);
	if (shared->at_step[19] != shared->at_step[1])
		fail_msg("%s: %d allocations between steps 1 and 19", what,
			 shared->at_step[19] - shared->at_step[1]);
}

/* Attention, tables, blocks that compute again; on a grid rows are spread. */
static void check_language(const char *folder)
{
	const char *alone[] = {"--steps",   "20",	 "--model", "gpt",	  "--layers",
			       "2",	    "--heads",	 "2",	    "--dim",	  "32",
			       "--context", "9",	 "--vocab", "31",	  "--dropout",
			       "0.1",	    "--run-dir", folder,    "--overwrite"};
	const char *grid[] = {"--steps",
			      "20",
			      "--model",
			      "llama",
			      "--layers",
			      "2",
			      "--heads",
			      "4",
			      "--kv-heads",
			      "2",
			      "--dim",
			      "32",
			      "--context",
			      "10",
			      "--vocab",
			      "31",
			      "--dp",
			      "2",
			      "--pp",
			      "2",
			      "--mp",
			      "2",
			      "--zero",
			      "1",
			      "--micro-batches",
			      "2",
			      "--recompute",
			      "block",
			      "--precision",
			      "bf16",
			      "--sequence-parallel",
			      "--run-dir",
			      folder,
			      "--overwrite"};

	check_run("gpt", alone, ARRAY_SIZE(alone));
	check_run("llama on 2 x 2 x 2 ranks", grid, ARRAY_SIZE(grid));
}

static void a_step_allocates_nothing(void **state)
{
	char folder[256], csv[512], spec[600];
	FILE *f;
	(void)state;

	test_folder(folder, sizeof(folder));
	snprintf(csv, sizeof(csv), "%s/d.csv", folder);
	f = fopen(csv, "w");
	for (int i = 0; i < 50; i++)
		fprintf(f, "%d,%d,%d\n", i, i * i % 7, i % 3);
	fclose(f);
	snprintf(spec, sizeof(spec), "csv:%s", csv);
	{
		const char *plain[] = {"--steps", "20",	       "--dim", "96",	      "--depth",
				       "3",	  "--run-dir", folder,	"--overwrite"};
		const char *rich[] = {"--steps",     "20",
				      "--dim",	     "96",
				      "--depth",     "3",
				      "--run-dir",   folder,
				      "--overwrite", "--optimizer",
				      "adamw",	     "--clip-grad",
				      "1",	     "--micro-batches",
				      "4",	     "--activation",
				      "gelu",	     "--log-format",
				      "jsonl",	     "--tensorboard"};
		const char *table[] = {"--steps",     "20",	"--dim",     "96",
				       "--depth",     "3",	"--run-dir", folder,
				       "--overwrite", "--data", spec};
		const char *replicas[] = {"--steps",   "20",   "--dim",	     "96",
					  "--depth",   "3",    "--dp",	     "2",
					  "--run-dir", folder, "--overwrite"};

		check_run("plain", plain, ARRAY_SIZE(plain));
		check_run("adamw, clipping, accumulation", rich, ARRAY_SIZE(rich));
		check_run("csv", table, ARRAY_SIZE(table));
		check_run("two replicas", replicas, ARRAY_SIZE(replicas));
		check_language(folder);
	}
	test_folder_remove(folder);
}

static void a_token_allocates_nothing(void **state)
{
	char folder[256];
	(void)state;

	test_folder(folder, sizeof(folder));
	{
		const char *train[] = {"--model",   "gpt",	 "--layers", "2",
				       "--heads",   "2",	 "--dim",    "16",
				       "--context", "32",	 "--vocab",  "40",
				       "--batch",   "2",	 "--steps",  "20",
				       "--save",    "--run-dir", folder,     "--overwrite"};
		const char *one[] = {folder, "--tokens", "150", "--quiet", "--top-p", "0.9"};
		const char *four[] = {folder, "--tokens", "150",  "--quiet",
				      "--pp", "2",	  "--mp", "2"};

		check_run("a language model", train, ARRAY_SIZE(train));
		check_text("one rank", one, ARRAY_SIZE(one));
		check_text("four ranks", four, ARRAY_SIZE(four));
	}
	test_folder_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_allocates_nothing),
		cmocka_unit_test(a_token_allocates_nothing),
	};

	return cmocka_run_group_tests(tests, map_shared, NULL);
}
