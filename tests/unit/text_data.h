/* text_data.h - for tests of what language models learn from: a device, options, texts. */
#ifndef KOLM_TESTS_TEXT_DATA_H
#define KOLM_TESTS_TEXT_DATA_H

#include "folders.h"
#include "texts.h"

#include "data/data.h"

static struct error err;
static struct device *dev;

static inline int open_device(void **state)
{
	struct device_options o = {.threads = 2, .ranks = 1};

	make_base(state);
	return device_open(&dev, "cpu", &o, fresh(&err)) != OK;
}

static inline int close_device(void **state)
{
	device_close(dev);
	return remove_base(state);
}

static inline struct data_options options(const char *spec, int sequence)
{
	return (struct data_options){
		.spec = spec, .sequence = sequence, .holdout = 0.1, .seed = 7};
}

static inline void opened(struct data *d, const struct data_options *o)
{
	if (data_open(d, o, fresh(&err)) != OK)
		fail_msg("%s", err.msg);
}

static inline void refused(const struct data_options *o, const char *why, const char *hint)
{
	struct data d;

	assert_int_equal(data_open(&d, o, fresh(&err)), ERR_USAGE);
	if (!strstr(err.msg, why) || !strstr(err.hint, hint))
		fail_msg("'%s' (%s) should say '%s' (%s)", err.msg, err.hint, why, hint);
}

/* A text of n bytes no piece of which comes twice: numbers of 16 bit. */
static inline void put_places(const char *path, int n)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	for (int i = 0; i < n; i++)
		fputc(i % 2 ? 1 + i / 2 / 250 : 1 + i / 2 % 250, f);
	fclose(f);
}

static inline const char *spec_of(const char *path)
{
	static char specs[4][600];
	static int next;
	char *spec = specs[next++ % 4];

	snprintf(spec, sizeof(specs[0]), "text:%s", path);
	return spec;
}

#define DATA_TEST(name) cmocka_unit_test_setup_teardown(name, open_device, close_device)

#endif
