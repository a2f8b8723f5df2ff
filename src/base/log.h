/*
 * log.h - what kolm says while it works. Results go to standard output, notes and
 * warnings to standard error. Errors are not logged: they travel up to main.
 */
#ifndef KOLM_BASE_LOG_H
#define KOLM_BASE_LOG_H

enum log_level { LOG_QUIET, LOG_NORMAL, LOG_VERBOSE };

void log_set_level(enum log_level level);

void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_verbose(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Warnings are printed at every level. */
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
