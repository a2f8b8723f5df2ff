/* analysis.c - see analysis.h */
#include "study/analysis.h"

#include <math.h>

enum { POINTS_MAX = 64 };

/* Least squares with weights. */
static struct line_fit fit_weighted(const double *x, const double *y, const double *w, int n)
{
	double sw = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0, left = 0;
	struct line_fit f = {0};

	for (int i = 0; i < n; i++) {
		sw += w[i];
		sx += w[i] * x[i];
		sy += w[i] * y[i];
	}
	if (n < 2 || !(sw > 0) || !isfinite(sx) || !isfinite(sy))
		return f;
	for (int i = 0; i < n; i++) {
		double dx = x[i] - sx / sw, dy = y[i] - sy / sw;

		sxx += w[i] * dx * dx;
		sxy += w[i] * dx * dy;
		syy += w[i] * dy * dy;
	}
	if (!(sxx > 0))
		return f;
	f.slope = sxy / sxx;
	f.offset = sy / sw - f.slope * sx / sw;
	for (int i = 0; i < n; i++)
		left += w[i] * pow(y[i] - f.offset - f.slope * x[i], 2);
	/* A flat line explains nothing, and rounding must not make it less. */
	f.r2 = syy > 0 ? fmax(0, 1 - left / syy) : 1;
	f.ok = isfinite(f.slope) && isfinite(f.offset);
	return f;
}

struct line_fit fit_line(const double *x, const double *y, int n)
{
	double w[POINTS_MAX];

	n = n > POINTS_MAX ? POINTS_MAX : n;
	for (int i = 0; i < n; i++)
		w[i] = 1;
	return fit_weighted(x, y, w, n);
}

struct line_fit fit_link(const double *bytes, const double *time, int n)
{
	double w[POINTS_MAX], least = INFINITY;
	struct line_fit f;

	n = n > POINTS_MAX ? POINTS_MAX : n;
	for (int i = 0; i < n; i++) {
		if (!(time[i] > 0))
			return (struct line_fit){0};
		w[i] = 1 / (time[i] * time[i]);
		least = fmin(least, time[i]);
	}
	f = fit_weighted(bytes, time, w, n);
	/* No link is faster than at once, nor slower than its smallest message. */
	f.offset = fmin(fmax(f.offset, 0), least);
	f.ok = f.ok && f.slope > 0;
	return f;
}

struct amdahl fit_amdahl(const double *ranks, const double *time, int n)
{
	double share[POINTS_MAX];
	struct amdahl a = {0};
	struct line_fit f;

	n = n > POINTS_MAX ? POINTS_MAX : n;
	for (int i = 0; i < n; i++)
		share[i] = 1 / ranks[i];
	f = fit_line(share, time, n);
	a.serial = f.offset;
	a.parallel = f.slope;
	a.fraction = f.offset / (f.offset + f.slope);
	a.r2 = f.r2;
	a.ok = f.ok && f.slope > 0 && f.offset + f.slope > 0;
	return a;
}

double amdahl_limit(double fraction)
{
	return fraction > 0 ? 1 / fraction : INFINITY;
}
