/*
 * events_read.c - reading; see events.h. Strict: what kolm would not have written is bad, also
 * where TensorBoard would take it.
 */
#include "trace/events.h"
#include "trace/events_impl.h"

#include <string.h>

/* What is left to be read; the first thing that does not fit is remembered. */
struct span {
	const unsigned char *at, *end;
	const char *wrong;
};

static void complain(struct span *s, const char *what)
{
	s->wrong = s->wrong ? s->wrong : what;
	s->at = s->end;
}

static uint64_t take_fixed(struct span *s, int n)
{
	uint64_t value = 0;

	if (s->end - s->at < n) {
		complain(s, "a number is cut short");
		return 0;
	}
	for (int i = 0; i < n; i++)
		value |= (uint64_t)*s->at++ << 8 * i;
	return value;
}

static uint64_t take_varint(struct span *s)
{
	uint64_t value = 0;

	for (int shift = 0; shift < 64; shift += 7) {
		uint64_t byte = take_fixed(s, 1);

		/* Of the tenth byte one bit is left, and a number has one form only. */
		if ((shift == 63 && byte > 1) || (shift && !byte)) {
			complain(s, "a number is too long");
			return 0;
		}
		value |= (byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	return value;
}

static void expect(struct span *s, int key)
{
	if (take_varint(s) != (uint64_t)key)
		complain(s, "it has an unexpected member");
}

static struct span take_bytes(struct span *s)
{
	uint64_t n = take_varint(s);
	struct span part = {.at = s->at, .end = s->at};

	if (n > (uint64_t)(s->end - s->at)) {
		complain(s, "a member is longer than what it is in");
		return part;
	}
	part.end += n;
	s->at = part.end;
	return part;
}

/* Nothing is left of a part, and nothing was wrong in it. */
static void finish(struct span *s, struct span *part)
{
	if (part->at != part->end)
		complain(part, "it has an unexpected member");
	if (part->wrong)
		complain(s, part->wrong);
}

static void read_scalar(struct span *s, struct events_record *record)
{
	struct span value, tag;
	uint32_t bits;
	size_t n;

	expect(s, SUMMARY_VALUE);
	value = take_bytes(s);
	if (record->count == EVENTS_SCALARS_MAX) {
		complain(s, "it has too many values");
		return;
	}
	expect(&value, VALUE_TAG);
	tag = take_bytes(&value);
	n = (size_t)(tag.end - tag.at);
	if (n >= EVENTS_TAG_MAX || memchr(tag.at, '\0', n)) {
		complain(s, "a tag is no name");
		return;
	}
	memcpy(record->scalars[record->count].tag, tag.at, n);
	record->scalars[record->count].tag[n] = '\0';
	expect(&value, VALUE_SIMPLE);
	bits = (uint32_t)take_fixed(&value, 4);
	memcpy(&record->scalars[record->count].value, &bits, sizeof(bits));
	record->count++;
	finish(s, &value);
}

static void read_event(struct span *s, struct events_record *record)
{
	uint64_t bits, key;
	struct span what;

	*record = (struct events_record){.count = 0};
	expect(s, EVENT_WALL_TIME);
	bits = take_fixed(s, 8);
	memcpy(&record->wall_time, &bits, sizeof(bits));
	expect(s, EVENT_STEP);
	record->step = (int64_t)take_varint(s);
	key = take_varint(s);
	what = take_bytes(s);
	if (key == EVENT_FILE_VERSION) {
		record->kind = EVENTS_VERSION;
		if (what.end - what.at != (ptrdiff_t)strlen(EVENTS_FILE_VERSION) ||
		    memcmp(what.at, EVENTS_FILE_VERSION, strlen(EVENTS_FILE_VERSION)))
			complain(&what, "it has another version");
		what.at = what.end;
	} else if (key == EVENT_SESSION_LOG) {
		record->kind = EVENTS_START;
		expect(&what, LOG_STATUS);
		if (take_varint(&what) != LOG_START)
			complain(&what, "it has another state");
	} else if (key == EVENT_SUMMARY) {
		record->kind = EVENTS_SCALARS;
		while (what.at < what.end)
			read_scalar(&what, record);
	} else {
		complain(s, "it has an unexpected member");
	}
	finish(s, &what);
	if (s->at != s->end)
		complain(s, "it has an unexpected member");
}

static enum events_found bad(const struct events_reader *r, const char *why, struct error *err)
{
	FAIL(err, ERR_FAILED, "an event file has no good record at byte %zu: %s", r->at, why);
	return EVENTS_BAD;
}

enum events_found events_next(struct events_reader *r, struct events_record *record,
			      struct error *err)
{
	const unsigned char *at = r->data + r->at;
	size_t left = r->size - r->at;
	struct span head = {.at = at, .end = at + left}, event, tail;
	uint64_t length;

	if (!left)
		return EVENTS_END;
	if (left < RECORD_HEAD)
		return EVENTS_TORN;
	length = take_fixed(&head, 8);
	if (take_fixed(&head, 4) != masked_crc(at, 8))
		return bad(r, "the checksum of the length differs", err);
	if (length > SIZE_MAX / 2 || left < RECORD_HEAD + length + RECORD_TAIL)
		return EVENTS_TORN;
	event = (struct span){.at = at + RECORD_HEAD, .end = at + RECORD_HEAD + length};
	tail = (struct span){.at = event.end, .end = event.end + RECORD_TAIL};
	if (take_fixed(&tail, RECORD_TAIL) != masked_crc(event.at, (size_t)length))
		return bad(r, "its checksum differs", err);
	read_event(&event, record);
	if (event.wrong)
		return bad(r, event.wrong, err);
	if ((r->at == 0) != (record->kind == EVENTS_VERSION))
		return bad(r, "the version comes first, and once", err);
	r->at += RECORD_HEAD + (size_t)length + RECORD_TAIL;
	return EVENTS_FOUND;
}
