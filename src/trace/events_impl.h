/* events_impl.h - the format of an event file. Only for trace/events*. */
#ifndef KOLM_TRACE_EVENTS_IMPL_H
#define KOLM_TRACE_EVENTS_IMPL_H

#include "base/crc32c.h"

#define EVENTS_FILE_VERSION "brain.Event:2"

enum { RECORD_HEAD = 12, RECORD_TAIL = 4 }; /* length and its checksum; that of the event */

/* Field number and wire type, as a protobuf has them in front of a value. */
enum {
	WIRE_VARINT = 0,
	WIRE_DOUBLE = 1,
	WIRE_BYTES = 2,
	WIRE_FLOAT = 5,
};
#define KEY(field, wire) ((field) << 3 | (wire))
enum {
	EVENT_WALL_TIME = KEY(1, WIRE_DOUBLE),
	EVENT_STEP = KEY(2, WIRE_VARINT),
	EVENT_FILE_VERSION = KEY(3, WIRE_BYTES),
	EVENT_SUMMARY = KEY(5, WIRE_BYTES),
	EVENT_SESSION_LOG = KEY(7, WIRE_BYTES),
	SUMMARY_VALUE = KEY(1, WIRE_BYTES),
	VALUE_TAG = KEY(1, WIRE_BYTES),
	VALUE_SIMPLE = KEY(2, WIRE_FLOAT),
	LOG_STATUS = KEY(1, WIRE_VARINT),
	LOG_START = 1, /* a value of that */
};

/* A checksum of data that has a checksum in it is weak: TFRecord changes it. */
static inline uint32_t masked_crc(const void *data, size_t size)
{
	uint32_t crc = crc32c(data, size);

	return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

#endif
