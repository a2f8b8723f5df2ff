/*
 * test_gpu_times.c - stamps of a GPU's queues, on whatever OpenCL this machine has: on the
 * machine's clock, in order, beyond what a driver has under way, and copies that are recorded.
 */
#include "base/clock.h"
#include "device/gpu/driver.h"
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>

enum { ELEMENTS = 1 << 16, MANY = 2 * GPU_STAMPS + 100 };

struct fixture {
	struct device *dev;
	struct records records;
	float *memory;
};

static int open_device(void **state)
{
	struct device_options o = {.threads = 1};
	struct fixture *f = calloc(1, sizeof(*f));
	struct error err = {0};

	assert_non_null(f);
	assert_int_equal(device_open(&f->dev, "opencl:0", &o, &err), OK);
	assert_int_equal(device_alloc(f->dev, MEMORY_WORKSPACE, ELEMENTS * sizeof(float),
				      "a test", (void **)&f->memory, &err),
			 OK);
	assert_int_equal(records_init(&f->records, 64, &err), OK);
	assert_false(device_has_stamps(f->dev));
	assert_int_equal(device_observe(f->dev, &f->records, &err), OK);
	assert_true(device_has_stamps(f->dev));
	*state = f;
	return 0;
}

static int close_device(void **state)
{
	struct fixture *f = *state;

	device_close(f->dev);
	records_release(&f->records);
	free(f);
	return 0;
}

static void work(const struct fixture *f)
{
	device_clear(f->dev, (double *)f->memory, ELEMENTS / 2);
}

static void times_are_the_machines(void **state)
{
	const struct fixture *f = *state;
	int64_t before = clock_ns(), error, first, last;

	first = device_stamp(f->dev, QUEUE_COMPUTE);
	for (int i = 0; i < 20; i++)
		work(f);
	last = device_stamp(f->dev, QUEUE_COMPUTE);
	error = device_settle(f->dev);
	assert_true(error >= 0);
	/* As exact as a look at both clocks was, then and now: other programs may have come
	   between. */
	error += 1000 * 1000;
	assert_true(device_time_of(f->dev, first) >= before - error);
	assert_true(device_time_of(f->dev, last) <= clock_ns() + error);
	assert_true(device_time_of(f->dev, last) - device_time_of(f->dev, first) > 1000);
}

static void stamps_are_in_order(void **state)
{
	const struct fixture *f = *state;
	int64_t first = device_stamp(f->dev, QUEUE_COMPUTE), last = first, at;

	for (int i = 1; i < MANY; i++) {
		if (i % 1024 == 0)
			work(f);
		at = device_stamp(f->dev, QUEUE_COMPUTE);
		assert_int_equal(at, last + 1);
		last = at;
	}
	device_settle(f->dev);
	for (at = first; at < last; at++)
		assert_true(device_time_of(f->dev, at) <= device_time_of(f->dev, at + 1));
}

/* What another queue waited for is not after what it did then. */
static void queues_share_a_clock(void **state)
{
	const struct fixture *f = *state;
	int64_t computed, sent;

	for (int i = 0; i < 20; i++)
		work(f);
	computed = device_stamp(f->dev, QUEUE_COMPUTE);
	device_await(f->dev, QUEUE_SEND, device_mark(f->dev, QUEUE_COMPUTE));
	sent = device_stamp(f->dev, QUEUE_SEND);
	device_settle(f->dev);
	assert_true(device_time_of(f->dev, computed) <= device_time_of(f->dev, sent));
}

static const struct record *only(const struct fixture *f, enum record_kind kind)
{
	const struct record *found = NULL;

	for (int64_t i = 0; i < records_kept(&f->records); i++)
		if (records_at(&f->records, i)->kind == (int)kind) {
			assert_null(found);
			found = records_at(&f->records, i);
		}
	assert_non_null(found);
	return found;
}

static void copies_are_recorded(void **state)
{
	struct fixture *f = *state;
	size_t bytes = ELEMENTS * sizeof(float);
	const struct record *out, *in;

	f->records.count = 0;
	work(f);
	device_await(f->dev, QUEUE_SEND, device_mark(f->dev, QUEUE_COMPUTE));
	device_host_begin(f->dev, QUEUE_SEND, f->memory, bytes, HOST_READS_WRITES);
	device_host_end(f->dev, QUEUE_SEND, f->memory, bytes, HOST_READS_WRITES);
	device_settle(f->dev);
	out = only(f, RECORD_OUT);
	in = only(f, RECORD_IN);
	assert_true(out->stamped && in->stamped);
	assert_int_equal(out->bytes, bytes);
	assert_int_equal(in->bytes, bytes);
	assert_true(device_time_of(f->dev, out->begin) < device_time_of(f->dev, out->end));
	assert_true(device_time_of(f->dev, out->end) <= device_time_of(f->dev, in->begin));
	assert_true(device_time_of(f->dev, in->begin) <= device_time_of(f->dev, in->end));
	assert_int_equal(only(f, RECORD_WAIT)->of, RECORD_OUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_the_machines),
		cmocka_unit_test(stamps_are_in_order),
		cmocka_unit_test(queues_share_a_clock),
		cmocka_unit_test(copies_are_recorded),
	};
	struct gpus there;

#ifdef __SANITIZE_THREAD__
	printf("skipped: drivers have threads that nobody has told ThreadSanitizer of\n");
	return 77;
#endif
	gpus_list(&there);
	gpus_choose(&there, "opencl");
	if (!there.count) {
		printf("skipped: %s\n", there.why);
		return 77;
	}
	return cmocka_run_group_tests(tests, open_device, close_device);
}
