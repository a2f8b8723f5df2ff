/*
 * events.h - numbers over steps as TensorBoard reads them: an event file in the run's folder.
 *
 * A file is a row of records: length, checksum of the length, an event, checksum of the event
 * (TFRecord). The first event names the version of the format, the second says from which step
 * on this file holds, so that TensorBoard forgets what files before it have of these steps. A
 * record is written by one call as soon as it is there; one that can't be written whole is
 * taken back.
 */
#ifndef KOLM_TRACE_EVENTS_H
#define KOLM_TRACE_EVENTS_H

#include "base/error.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EVENTS_SCALARS_MAX = 16, EVENTS_TAG_MAX = 48 };

struct events {
	bool is_open;
	int fd;
	char path[PATH_MAX];
};

struct events_scalar {
	const char *tag; /* shorter than EVENTS_TAG_MAX */
	double value;	 /* stored as fp32 */
};

/* A new file for the steps from first on. Those of the folder that end in half a record are cut
   behind the last whole one. */
enum status events_open(struct events *e, const char *folder, int64_t first, struct error *err);
/* Up to EVENTS_SCALARS_MAX numbers of a step. Allocates nothing; does nothing if e is not open.
 */
enum status events_add(struct events *e, int64_t step, const struct events_scalar *scalars,
		       size_t n, struct error *err);
void events_close(struct events *e);

/* Does a folder have event files? All of them go. */
bool events_has_any(const char *folder);
void events_remove_all(const char *folder);

/* Reading what was written: data is the caller's. */
struct events_reader {
	const unsigned char *data;
	size_t size, at; /* at: behind the last whole record */
};

enum events_kind { EVENTS_VERSION, EVENTS_START, EVENTS_SCALARS };

struct events_record {
	enum events_kind kind;
	double wall_time; /* seconds since 1970 */
	int64_t step;
	int count;
	struct {
		char tag[EVENTS_TAG_MAX];
		float value;
	} scalars[EVENTS_SCALARS_MAX];
};

enum events_found {
	EVENTS_FOUND,
	EVENTS_END,  /* the file ends here */
	EVENTS_TORN, /* it ends within a record */
	EVENTS_BAD,  /* no record that kolm would write: err says why */
};
enum events_found events_next(struct events_reader *r, struct events_record *record,
			      struct error *err);

#endif
