/*
 * error.h - how a failure travels from where it happens to main.
 *
 * A function that can fail returns enum status and takes struct error last. The
 * struct is empty at first ({0}) and filled once, where the failure happens, with the
 * values involved and a hint; callers pass it up untouched. What fails after that, while
 * things are cleaned up, is a consequence: it does not get in. Who goes on in spite of a
 * failure gives what may fail a struct of its own, or clears it.
 */
#ifndef KOLM_BASE_ERROR_H
#define KOLM_BASE_ERROR_H

#include <assert.h>
#include <stdbool.h>

enum status {
	OK = 0,
	ERR_FAILED,	 /* the work itself failed: disk full, broken pipe */
	ERR_USAGE,	 /* wrong option, configuration or input file */
	ERR_MEMORY,	 /* the device or the machine has no memory left */
	ERR_INTERRUPTED, /* Ctrl-C */
	ERR_TERMINATED,	 /* SIGTERM */
	ERR_HANGUP,	 /* SIGHUP: the terminal is gone */
};

struct error {
	enum status code;
	int exit_code;	/* what the process should exit with; 0: as code says */
	bool reported;	/* somebody has printed it already */
	bool closed;	/* another failure was turned away: so are its hints */
	char msg[512];	/* what failed, with the values involved */
	char hint[256]; /* what the reader can do about it; may be empty */
};

/* Fill err (which may be NULL) and return code; one that is filled stays as it is, and its own
   code is returned. ERR_MEMORY with a limit of this process that
   is used up (ulimit) has that for a hint, and what is added comes behind it. */
enum status error_set(struct error *err, enum status code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Add the hint to a filled err and return its code. */
enum status error_hint(struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Fill err, as error_set does, with what another one says. */
enum status error_copy(struct error *err, const struct error *from);

/* Forget it: something new begins. */
void error_clear(struct error *err);

/* Print it as one line, with control characters escaped, once: not if somebody has done so
 * already. */
void error_print(struct error *err);

/* The status of a run that SIGINT, SIGTERM or SIGHUP has stopped, and the signal's name. */
enum status error_of_signal(int number, const char **name);

/* The process exit code that stands for this status. */
int error_exit_code(enum status code);

/* A failure is never OK: who gets OK may use what was made for it. */
static inline enum status error_not_ok(enum status code)
{
	assert(code != OK);
	return code;
}

#define FAIL(err, code, ...) error_not_ok(error_set((err), (code), __VA_ARGS__))
#define HINT(err, ...)	     error_not_ok(error_hint((err), __VA_ARGS__))
#define TRY(call)                        \
	do {                             \
		if ((st = (call)) != OK) \
			goto out;        \
	} while (0)

#endif
