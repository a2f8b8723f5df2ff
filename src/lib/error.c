/* error.c - the library's errors, and names; see impl.h */
#include "lib/impl.h"
#include "base/version.h"

#include <stdio.h>
#include <string.h>

const char *kolm_version(void)
{
	return KOLM_VERSION;
}

static enum kolm_status status_of(enum status st)
{
	switch (st) {
	case OK:
		return KOLM_OK;
	case ERR_USAGE:
		return KOLM_USAGE;
	case ERR_MEMORY:
		return KOLM_MEMORY;
	case ERR_FAILED:
	case ERR_INTERRUPTED:
	case ERR_TERMINATED:
	case ERR_HANGUP:
		break;
	}
	return KOLM_FAILED;
}

enum kolm_status lib_error_out(const struct error *from, struct kolm_error *to)
{
	if (to) {
		to->status = status_of(from->code);
		snprintf(to->message, sizeof(to->message), "%s", from->msg);
		snprintf(to->hint, sizeof(to->hint), "%s", from->hint);
	}
	return status_of(from->code);
}

enum status lib_error_in(const struct kolm_error *from, struct error *to)
{
	enum status st = from->status == KOLM_USAGE    ? ERR_USAGE
			 : from->status == KOLM_MEMORY ? ERR_MEMORY
						       : ERR_FAILED;

	FAIL(to, st, "%s", *from->message ? from->message : "a layer or a rank failed");
	return *from->hint ? HINT(to, "%s", from->hint) : st;
}

bool lib_find_name(const char *what, const char *name, const char *const *names, int *out,
		   struct error *err)
{
	char list[160] = "";
	size_t n = 0;

	for (*out = 0; names[*out]; ++*out) {
		if (name && !strcmp(name, names[*out]))
			return true;
		n += (size_t)snprintf(list + n, n < sizeof(list) ? sizeof(list) - n : 0, "%s%s",
				      *out ? ", " : "", names[*out]);
	}
	FAIL(err, ERR_USAGE, "%s '%.64s' is unknown", what, name ? name : "NULL");
	HINT(err, "one of %s", list);
	return false;
}
