/*
 * log.h - what kolm says while it works. Results go to standard output, notes and
 * warnings to standard error, with control characters escaped. Errors are not logged: they
 * travel up to main.
 */
#ifndef KOLM_BASE_LOG_H
#define KOLM_BASE_LOG_H

#include "base/error.h"

enum log_level { LOG_QUIET, LOG_NORMAL, LOG_VERBOSE };

void log_set_level(enum log_level level);

void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_verbose(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Warnings are printed at every level. */
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* What belongs to an error that has been printed, at every level. */
void log_detail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Is everything out that went to standard output? Not if that is closed, full or gone. */
enum status log_flush_results(struct error *err);

#endif
