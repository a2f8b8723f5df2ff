/*
 * analysis.h - laws through a few measured numbers: lines, Amdahl's law, links. Pure
 * functions.
 */
#ifndef KOLM_STUDY_ANALYSIS_H
#define KOLM_STUDY_ANALYSIS_H

#include <stdbool.h>

/* y = offset + slope x, by least squares; r2: the share of y's variance that it explains. */
struct line_fit {
	double offset, slope, r2;
	bool ok; /* two different x at least, all finite */
};
struct line_fit fit_line(const double *x, const double *y, int n);

/*
 * A message takes latency + bytes / bandwidth. Offset is the latency (not below the
 * smallest measured time by more than its share), slope the time per byte. Small messages
 * count as much as large ones: the relative error is made small.
 */
struct line_fit fit_link(const double *bytes, const double *time, int n);

/* Amdahl's law: the time on n ranks is serial + parallel / n. */
struct amdahl {
	double serial, parallel;
	double fraction; /* serial / (serial + parallel) */
	double r2;
	bool ok;
};
struct amdahl fit_amdahl(const double *ranks, const double *time, int n);
/* The largest speed-up with that serial fraction, INFINITY without one. */
double amdahl_limit(double fraction);

#endif
