/*
 * analysis.h - what can be concluded from a few measured numbers: lines, Amdahl's law,
 * links, saturation, and whether a difference is more than noise. Pure functions.
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

/* Karp and Flatt: the serial fraction that a measured speed-up stands for. */
double karp_flatt(double speedup, double ranks);

/*
 * Time grows as fixed + per_sample * batch; throughput comes near to 1 / per_sample.
 * reached: the smallest measured batch with at least the given share of that, or NAN;
 * half: the batch that has half of it.
 */
struct saturation {
	double fixed, per_sample, half, reached, r2;
	bool ok;
};
struct saturation fit_saturation(const double *batch, const double *time, int n, double share);

/* Roofline: what flops/s are possible at so many flops per byte, and what limits them. */
struct roof {
	double gflops, ridge; /* ridge: flops per byte where memory stops to be the limit */
	bool memory_bound;
};
struct roof roofline(double peak_gflops, double gb_per_s, double flops_per_byte);

/* Are two measured values different, given their spreads and how often they were taken? */
enum verdict { SAME, HIGHER, LOWER, UNKNOWN };
struct measured {
	double value, spread;
	int count;
};
enum verdict compare(struct measured a, struct measured b);

#endif
