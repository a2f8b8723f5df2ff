/*
 * fuzz_events.c - event files. Chance does not find checksums, so the input is also taken as
 * the events themselves, each behind a byte with its length, and framed here.
 */
#include "fuzz.h"

#include "trace/events.h"
#include "trace/events_impl.h"

static void read_all(const uint8_t *data, size_t size)
{
	struct events_reader r = {.data = data, .size = size};
	struct events_record record;
	struct error err = {0};
	enum events_found found;
	size_t before = 0;

	while ((found = events_next(&r, &record, &err)) == EVENTS_FOUND) {
		if (r.at <= before || r.at > size || record.count > EVENTS_SCALARS_MAX)
			abort();
		for (int i = 0; i < record.count; i++)
			if (strlen(record.scalars[i].tag) >= EVENTS_TAG_MAX)
				abort();
		before = r.at;
	}
	if ((found == EVENTS_BAD) != (err.code != OK) ||
	    (found == EVENTS_END) != (r.at == size))
		abort();
}

static size_t put(uint8_t *at, uint64_t value, int n)
{
	for (int i = 0; i < n; i++)
		at[i] = (uint8_t)(value >> 8 * i);
	return (size_t)n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *framed = malloc(size * (1 + RECORD_HEAD + RECORD_TAIL) + 1);
	size_t n = 0, length;

	read_all(data, size);
	for (size_t at = 0; at < size; at += length) {
		length = data[at++];
		if (length > size - at)
			length = size - at;
		put(framed + n, length, 8);
		put(framed + n + 8, masked_crc(framed + n, 8), 4);
		n += RECORD_HEAD;
		memcpy(framed + n, data + at, length);
		n += length;
		n += put(framed + n, masked_crc(data + at, length), RECORD_TAIL);
	}
	read_all(framed, n);
	free(framed);
	return 0;
}
