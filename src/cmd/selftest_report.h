/* selftest_report.h - what kolm selftest has found, a line for each thing. Only for
   cmd/selftest*. */
#ifndef KOLM_CMD_SELFTEST_REPORT_H
#define KOLM_CMD_SELFTEST_REPORT_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { SELFTEST_LINES = 96 };

struct selftest_line {
	bool ok;
	char name[64];
	char detail[320];
};

/* In memory that ranks share with who has started them. */
struct selftest_report {
	char device[192]; /* as it describes itself */
	struct selftest_line lines[SELFTEST_LINES];
	int count;
};

struct selftest_plan {
	const char *device; /* as --device has it */
	uint64_t seed;
	int rounds; /* shapes of each kernel */
	struct selftest_report *report;
};

void selftest_add(struct selftest_report *r, bool ok, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Each in processes of its own, since none may fork that has a GPU open. A failure to start
   is a line too. */
void selftest_do_kernels(const struct selftest_plan *plan);	/* selftest_ranks.c */
void selftest_do_collectives(const struct selftest_plan *plan); /* selftest_ranks.c */
void selftest_do_runs(const struct selftest_plan *plan);	/* selftest_run.c */

#endif
