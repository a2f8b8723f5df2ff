/* events.c - writing; see events.h */
#include "trace/events.h"
#include "base/file.h"
#include "trace/events_impl.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PREFIX	 "events.out.tfevents."
#define TIME_MAX 9999999999 /* ten digits: names sort as times do */

enum {
	VALUE_MAX = EVENTS_TAG_MAX + 16, /* with its keys and lengths */
	RECORD_MAX = RECORD_HEAD + 64 + EVENTS_SCALARS_MAX * VALUE_MAX + RECORD_TAIL,
};

/* ---- bytes of a protobuf; all numbers are little-endian ---- */

struct bytes {
	unsigned char data[RECORD_MAX];
	size_t size;
};

static void put(struct bytes *b, const void *data, size_t n)
{
	assert(n <= sizeof(b->data) - b->size);
	memcpy(b->data + b->size, data, n);
	b->size += n;
}

static void put_fixed(struct bytes *b, uint64_t value, int n)
{
	for (int i = 0; i < n; i++)
		put(b, &(unsigned char){(unsigned char)(value >> 8 * i)}, 1);
}

static void put_varint(struct bytes *b, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put_fixed(b, (value & 0x7f) | 0x80, 1);
	put_fixed(b, value, 1);
}

static void put_bytes(struct bytes *b, int key, const void *data, size_t n)
{
	put_varint(b, (uint64_t)key);
	put_varint(b, n);
	put(b, data, n);
}

static void put_double(struct bytes *b, int key, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	put_varint(b, (uint64_t)key);
	put_fixed(b, bits, 8);
}

static void put_float(struct bytes *b, int key, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	put_varint(b, (uint64_t)key);
	put_fixed(b, bits, 4);
}

static double now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_REALTIME, &at);
	return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

/* An event with one member beside time and step, as a record at the end of the file. */
static enum status write_event(struct events *e, int64_t step, int key, const void *data,
			       size_t n, struct error *err)
{
	struct bytes event = {.size = 0}, record = {.size = 0};
	off_t start = lseek(e->fd, 0, SEEK_END);
	enum status st;

	put_double(&event, EVENT_WALL_TIME, now());
	put_varint(&event, EVENT_STEP);
	put_varint(&event, (uint64_t)step);
	put_bytes(&event, key, data, n);
	put_fixed(&record, event.size, 8);
	put_fixed(&record, masked_crc(record.data, 8), 4);
	put(&record, event.data, event.size);
	put_fixed(&record, masked_crc(event.data, event.size), 4);
	st = file_write_fd(e->fd, e->path, record.data, record.size, err);
	/* What follows half a record could not be read. */
	if (st != OK && start >= 0)
		(void)!ftruncate(e->fd, start);
	return st;
}

enum status events_add(struct events *e, int64_t step, const struct events_scalar *scalars,
		       size_t n, struct error *err)
{
	struct bytes summary = {.size = 0};

	if (!e->is_open)
		return OK;
	assert(n <= EVENTS_SCALARS_MAX);
	for (size_t i = 0; i < n; i++) {
		struct bytes value = {.size = 0};

		assert(strlen(scalars[i].tag) < EVENTS_TAG_MAX);
		put_bytes(&value, VALUE_TAG, scalars[i].tag, strlen(scalars[i].tag));
		put_float(&value, VALUE_SIMPLE, (float)scalars[i].value);
		put_bytes(&summary, SUMMARY_VALUE, value.data, value.size);
	}
	return write_event(e, step, EVENT_SUMMARY, summary.data, summary.size, err);
}

/* ---- the files of a folder ---- */

/* The next event file, or NULL. */
static const char *next_name(DIR *dir)
{
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, PREFIX, strlen(PREFIX)))
			return entry->d_name;
	return NULL;
}

bool events_has_any(const char *folder)
{
	DIR *dir = opendir(folder);
	bool any = next_name(dir);

	if (dir)
		closedir(dir);
	return any;
}

void events_remove_all(const char *folder)
{
	DIR *dir = opendir(folder);
	const char *name;

	while ((name = next_name(dir)))
		unlinkat(dirfd(dir), name, 0);
	if (dir)
		closedir(dir);
}

static void cut_torn(const char *path)
{
	struct events_record record;
	struct events_reader r = {.at = 0};
	enum events_found found;
	char *data = NULL;

	if (file_read(path, SIZE_MAX / 8, &data, &r.size, NULL) != OK)
		return;
	r.data = (const unsigned char *)data;
	do
		found = events_next(&r, &record, NULL);
	while (found == EVENTS_FOUND);
	if (found == EVENTS_TORN)
		(void)!truncate(path, (off_t)r.at);
	free(data);
}

/* TensorBoard reads files in the order of their names, so a new one is later than all that are
   there, whatever the clock says. */
static int64_t look_around(const char *folder)
{
	int64_t latest = (int64_t)time(NULL);
	DIR *dir = opendir(folder);
	char path[PATH_MAX];
	const char *name;

	while ((name = next_name(dir))) {
		int64_t theirs = strtoll(name + strlen(PREFIX), NULL, 10);

		if (theirs >= latest && theirs < TIME_MAX)
			latest = theirs + 1;
		if (file_path(path, folder, name, NULL) == OK)
			cut_torn(path);
	}
	if (dir)
		closedir(dir);
	return latest;
}

enum status events_open(struct events *e, const char *folder, int64_t first, struct error *err)
{
	char host[64] = "", name[128];
	struct bytes start = {.size = 0};
	enum status st;

	gethostname(host, sizeof(host) - 1);
	snprintf(name, sizeof(name), PREFIX "%010lld.%s.%d", (long long)look_around(folder),
		 host, (int)getpid());
	TRY(file_path(e->path, folder, name, err));
	e->fd = open(e->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC,
		     0666);
	if (e->fd < 0)
		return FAIL(err, ERR_USAGE, "can't write %s: %s", e->path, strerror(errno));
	e->is_open = true;
	TRY(write_event(e, 0, EVENT_FILE_VERSION, EVENTS_FILE_VERSION,
			strlen(EVENTS_FILE_VERSION), err));
	put_varint(&start, LOG_STATUS);
	put_varint(&start, LOG_START);
	TRY(write_event(e, first, EVENT_SESSION_LOG, start.data, start.size, err));
out:
	if (st != OK)
		events_close(e);
	return st;
}

void events_close(struct events *e)
{
	if (!e->is_open)
		return;
	(void)!fsync(e->fd);
	close(e->fd);
	e->is_open = false;
}
