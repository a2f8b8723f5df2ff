/*
 * test_fenced.c - the device that proves what the host touches: its addresses kill, its kernels
 * compute what the CPU's do, and what was not awaited has not happened.
 */
#include "operands.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

/* The signal that ends a process which does that; 0: it lives. */
static int dies_of(void (*fn)(struct device *dev, void *arg), struct device *dev, void *arg)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
		signal(SIGSEGV, SIG_DFL); /* not cmocka's, nor a sanitizer's */
		signal(SIGBUS, SIG_DFL);
		signal(SIGABRT, SIG_DFL);
		fn(dev, arg);
		_exit(0);
	}
	assert_true(waitpid(child, &status, 0) == child);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static struct device *fenced_new(void)
{
	return device_new("fenced", "", 1);
}

/* ---- addresses ---- */

/* Systems differ in what they call an address that can't be. */
static bool faults(int signal_number)
{
	return signal_number == SIGSEGV || signal_number == SIGBUS;
}

static void read_it(struct device *dev, void *arg)
{
	(void)dev;
	(void)*(volatile char *)arg;
}

static void write_it(struct device *dev, void *arg)
{
	(void)dev;
	*(volatile char *)arg = 1;
}

static void read_through_host(struct device *dev, void *arg)
{
	read_it(dev, device_host_begin(dev, QUEUE_COMPUTE, arg, 64, HOST_READS));
}

static enum status some_memory(void *arg, size_t bytes, void **out, struct error *err)
{
	(void)err;
	*out = *(void **)arg = calloc(1, bytes);
	return OK;
}

static void addresses_kill(void **state)
{
	struct device *dev = fenced_new();
	void *own = memory_new(dev, 64), *shared, *source = NULL;
	struct error err = {0};
	(void)state;

	device_share(dev, some_memory, NULL, &source);
	assert_int_equal(
		device_alloc_shared(dev, MEMORY_COMM, 64, "shared memory", &shared, &err), OK);
	for (int i = 0; i < 2; i++) {
		void *address = i ? shared : own;

		assert_true(faults(dies_of(read_it, dev, address)));
		assert_true(faults(dies_of(write_it, dev, address)));
		assert_true(faults(dies_of(read_it, dev, (char *)address + 63)));
		assert_int_equal(dies_of(read_through_host, dev, address), 0);
	}
	/* Others reach what the source has given. */
	assert_ptr_equal(device_host_begin(dev, QUEUE_SEND, shared, 64, HOST_READS), source);
	device_close(dev);
	free(source);
}

static void clear_of_the_host(struct device *dev, void *arg)
{
	device_clear(dev, arg, 1);
}

static void kernels_refuse_memory_of_the_host(void **state)
{
	struct device *dev = fenced_new();
	double number;
	(void)state;

	assert_int_equal(dies_of(clear_of_the_host, dev, &number), SIGABRT);
	assert_int_equal(dies_of(clear_of_the_host, dev, memory_new(dev, 8)), 0);
	device_close(dev);
}

/* ---- kernels ---- */

enum { ROWS = 7, WIDE = 33, OPERANDS = 12 };

/* All kernels, one after the other on the same operands; what they leave is in the operands
   and in numbers. Labels and weights are small integers in memory. */
static void run_all(struct device *dev, struct operand *o, enum dtype type, double numbers[4])
{
	struct view none = {0};
	size_t matrix = device_matrix_size(dev, WIDE, WIDE);
	float *param = memory_new(dev, matrix * 4), *m = memory_new(dev, matrix * 4);
	float *v = memory_new(dev, matrix * 4), weights[WIDE * WIDE];
	void *working = memory_new(dev, matrix * 4), *grad = memory_new(dev, matrix * 4);
	double *sums = memory_new(dev, 4 * sizeof(*sums));
	int32_t *labels = memory_new(dev, ROWS * sizeof(*labels));
	int32_t *host = device_host_begin(dev, QUEUE_COMPUTE, labels, ROWS * sizeof(*labels),
					  HOST_WRITES);
	struct linear l = {.rows = ROWS,
			   .out = WIDE,
			   .in = WIDE,
			   .weight = type == DTYPE_F32 ? (void *)param : working,
			   .bias = o[0].v.data,
			   .x = o[1].v,
			   .y = o[2].v,
			   .saved = o[3].v,
			   .act = ACT_GELU,
			   .type = type};
	struct norm n = {.kind = NORM_LAYER,
			 .rows = ROWS,
			 .columns = WIDE,
			 .x = o[4].v,
			 .y = o[5].v,
			 .dx = o[6].v,
			 .saved = o[10].v,
			 .weight = o[0].v.data,
			 .bias = o[0].v.data,
			 .dweight = o[7].v.data,
			 .dbias = o[8].v.data,
			 .type = type,
			 .grad_type = type,
			 .eps = 1e-5f};
	struct class_slice c = {.rows = ROWS,
				.columns = WIDE,
				.y = o[2].v,
				.dy = o[5].v,
				.labels = labels,
				.stats = memory_new(dev, ROWS * CLASS_STATS * sizeof(float)),
				.slices = 1,
				.scale = 0.1f};
	struct update u = {.kind = OPT_ADAMW,
			   .lr = 0.01f,
			   .beta1 = 0.9f,
			   .beta2 = 0.99f,
			   .eps = 1e-8f,
			   .grad_scale = 1,
			   .correction1 = 0.1f,
			   .correction2 = 0.01f,
			   .param = param,
			   .grad = grad,
			   .grad_type = type,
			   .working = type == DTYPE_F32 ? NULL : working,
			   .working_type = type,
			   .m = m,
			   .v = v};
	struct dropout d = {.p = 0.5, .seed = 1, .columns = WIDE};

	for (int i = 0; i < ROWS; i++)
		host[i] = i;
	device_host_end(dev, QUEUE_COMPUTE, labels, ROWS * sizeof(*labels), HOST_WRITES);
	rng_uniform(4, 5, 0, WIDE * WIDE, -1, 1, weights);
	device_matrix_write(dev, param, DTYPE_F32, WIDE, WIDE, 0, WIDE, weights);
	if (type != DTYPE_F32)
		device_cast(dev, param, DTYPE_F32, working, type, matrix);
	device_clear(dev, sums, 4);
	device_forward(dev, &l);
	device_mse(dev, o[2].v, o[11].v, o[9].v, ROWS, WIDE, 0.1f, &sums[0]);
	device_class_stats(dev, &c);
	device_class_loss(dev, &c, &sums[0], &sums[1]);
	device_add(dev, o[9].v, o[5].v, ROWS, WIDE);
	l.y = o[9].v;
	device_backward_input(dev, &l);
	l.x = o[4].v;
	l.weight = grad;
	device_backward_weight(dev, &l);
	device_update(dev, &u, matrix, &sums[2]);
	device_sum_squares(dev, grad, type, matrix, 0.5, &sums[3]);
	device_norm_forward(dev, &n);
	device_norm_backward_weight(dev, &n);
	device_norm_backward_input(dev, &n);
	device_activate(dev, o[5].v, o[0].v, none, ROWS, WIDE, ACT_TANH);
	device_derive(dev, o[6].v, o[5].v, ROWS, WIDE, ACT_TANH);
	device_dropout(dev, o[6].v, o[6].v, ROWS, WIDE, &d);
	device_copy(dev, o[2].v, 3, o[6].v, 1, ROWS, 20);
	device_numbers(dev, sums, 4, numbers);
	for (int i = 0; i < OPERANDS; i++)
		operand_read(dev, &o[i]);
	device_matrix_read(dev, param, DTYPE_F32, WIDE, WIDE, 0, WIDE, weights);
	for (int i = 0; i < 4; i++)
		numbers[i] += (double)weights[i * WIDE];
}

static void kernels_give_the_bits_of_the_cpu(void **state)
{
	struct random r = random_start("kernels");
	(void)state;

	for (enum dtype type = DTYPE_F32; type <= DTYPE_BF16; type++) {
		struct device *dev[2] = {device_new("cpu", "", 1), fenced_new()};
		struct operand o[2][OPERANDS];
		double numbers[2][4];

		for (int i = 0; i < OPERANDS; i++) {
			o[0][i] =
				operand_new(dev[0], &r, ROWS, WIDE, i < 10 ? type : DTYPE_F32);
			o[1][i] = operand_copy(dev[1], &o[0][i]);
		}
		for (int i = 0; i < 2; i++)
			run_all(dev[i], o[i], type, numbers[i]);
		assert_memory_equal(numbers[0], numbers[1], sizeof(numbers[0]));
		assert_true(isfinite(numbers[0][0]) && numbers[0][0] != 0);
		for (int i = 0; i < OPERANDS; i++)
			assert_memory_equal(o[0][i].values, o[1][i].values,
					    o[0][i].n * sizeof(float));
		for (int i = 0; i < 2; i++) {
			for (int k = 0; k < OPERANDS; k++)
				operand_free(dev[i], &o[i][k]);
			device_close(dev[i]);
		}
	}
}

/* More than may wait: the oldest are run, and none is lost. */
static void all_work_is_done(void **state)
{
	struct random r = random_start("much work");
	struct device *dev = fenced_new();
	struct operand x = operand_new(dev, &r, 1, 5, DTYPE_F32);
	struct operand one = operand_new(dev, &r, 1, 5, DTYPE_F32);
	(void)state;

	for (size_t i = 0; i < one.n; i++)
		one.values[i] = 1;
	for (size_t i = 0; i < x.n; i++)
		x.values[i] = 0;
	operand_write(dev, &x);
	operand_write(dev, &one);
	for (int i = 0; i < 5000; i++)
		device_add(dev, x.v, one.v, 1, 5);
	operand_read(dev, &x);
	for (int i = 0; i < 5; i++)
		assert_true(value(&x, 0, i) == 5000);
	operand_free(dev, &x);
	operand_free(dev, &one);
	device_close(dev);
}

/* ---- order ---- */

/* What the host sees of a number through a queue. */
static float seen(struct device *dev, enum device_queue queue, struct operand *x)
{
	size_t bytes = view_bytes(x->v, 1);
	const float *host = device_host_begin(dev, queue, x->v.data, bytes, HOST_READS);
	float number = *host;

	device_host_end(dev, queue, x->v.data, bytes, HOST_READS);
	return number;
}

static struct operand number_new(struct device *dev, struct random *r, float number)
{
	struct operand o = operand_new(dev, r, 1, 1, DTYPE_F32);

	o.values[0] = number;
	operand_write(dev, &o);
	return o;
}

static void a_forgotten_event_is_seen(void **state)
{
	struct random r = random_start("events");
	struct device *dev = fenced_new();
	struct operand x = number_new(dev, &r, 0), one = number_new(dev, &r, 1);
	struct device_event first;
	(void)state;

	device_add(dev, x.v, one.v, 1, 1);
	assert_true(seen(dev, QUEUE_SEND, &x) == 0); /* nobody has awaited it */
	first = device_mark(dev, QUEUE_COMPUTE);
	device_add(dev, x.v, one.v, 1, 1);
	assert_true(seen(dev, QUEUE_SEND, &x) == 0);
	device_await(dev, QUEUE_SEND, first);
	assert_true(seen(dev, QUEUE_RECEIVE, &x) == 0);
	assert_true(seen(dev, QUEUE_SEND, &x) == 1); /* that, and no more */
	device_add(dev, x.v, one.v, 1, 1);
	/* From queue to queue. */
	device_await(dev, QUEUE_SEND, device_mark(dev, QUEUE_COMPUTE));
	device_await(dev, QUEUE_RECEIVE, device_mark(dev, QUEUE_SEND));
	device_add(dev, x.v, one.v, 1, 1);
	assert_true(seen(dev, QUEUE_RECEIVE, &x) == 3);
	assert_true(seen(dev, QUEUE_COMPUTE, &x) == 4); /* where kernels are: all of them */
	operand_free(dev, &x);
	operand_free(dev, &one);
	device_close(dev);
}

/* A receive into memory that a kernel has yet to read. */
static void what_is_overwritten_too_early_is_seen(void **state)
{
	struct random r = random_start("overwritten");
	(void)state;

	for (int awaited = 0; awaited < 2; awaited++) {
		struct device *dev = fenced_new();
		struct operand sum = number_new(dev, &r, 0), x = number_new(dev, &r, 1);
		size_t bytes = view_bytes(x.v, 1);
		float *host;

		device_add(dev, sum.v, x.v, 1, 1);
		if (awaited)
			device_await(dev, QUEUE_RECEIVE, device_mark(dev, QUEUE_COMPUTE));
		host = device_host_begin(dev, QUEUE_RECEIVE, x.v.data, bytes, HOST_WRITES);
		*host = 10;
		device_host_end(dev, QUEUE_RECEIVE, x.v.data, bytes, HOST_WRITES);
		assert_true(seen(dev, QUEUE_COMPUTE, &sum) == (awaited ? 1 : 10));
		operand_free(dev, &sum);
		operand_free(dev, &x);
		device_close(dev);
	}
}

struct taken {
	struct operand *from, *to;
	bool awaits;
};

static void take(struct device *dev, void *arg)
{
	const struct taken *t = arg;

	if (t->awaits)
		device_await(dev, QUEUE_COMPUTE, device_mark(dev, QUEUE_RECEIVE));
	device_add(dev, t->to->v, t->from->v, 1, 1);
}

static void what_came_in_has_to_be_awaited(void **state)
{
	struct random r = random_start("came in");
	struct device *dev = fenced_new();
	struct operand x = number_new(dev, &r, 0), sum = number_new(dev, &r, 1);
	size_t bytes = view_bytes(x.v, 1);
	(void)state;

	device_host_begin(dev, QUEUE_RECEIVE, x.v.data, bytes, HOST_WRITES);
	device_host_end(dev, QUEUE_RECEIVE, x.v.data, bytes, HOST_WRITES);
	assert_int_equal(dies_of(take, dev, &(struct taken){&x, &sum, false}), SIGABRT);
	assert_int_equal(dies_of(take, dev, &(struct taken){&sum, &sum, false}), 0);
	assert_int_equal(dies_of(take, dev, &(struct taken){&x, &sum, true}), 0);
	operand_free(dev, &x);
	operand_free(dev, &sum);
	device_close(dev);
}

/* Its workspace is on its account, as the CPU's is. */
static void accounts_are_those_of_the_cpu(void **state)
{
	struct device *dev[2] = {device_new("cpu", "", 2), device_new("fenced", "", 2)};
	(void)state;

	for (int i = 0; i < 2; i++)
		memory_new(dev[i], 1000);
	assert_memory_equal(device_memory(dev[0]), device_memory(dev[1]),
			    sizeof(struct memory_account));
	for (int i = 0; i < 2; i++)
		device_close(dev[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_kill),
		cmocka_unit_test(kernels_refuse_memory_of_the_host),
		cmocka_unit_test(kernels_give_the_bits_of_the_cpu),
		cmocka_unit_test(all_work_is_done),
		cmocka_unit_test(a_forgotten_event_is_seen),
		cmocka_unit_test(what_is_overwritten_too_early_is_seen),
		cmocka_unit_test(what_came_in_has_to_be_awaited),
		cmocka_unit_test(accounts_are_those_of_the_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
