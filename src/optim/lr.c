/* lr.c - see lr.h */
#include "optim/lr.h"

#include <math.h>

const char *const lr_kind_names[] = {NAMES_OF(LR_KINDS)};

/* 0 in the first step behind the warm-up, 1 in the last one; a single one is the first. */
static double progress(const struct lr_schedule *s, int64_t step)
{
	int64_t last = s->steps - 1 - s->warmup;

	return last > 0 ? (double)(step - s->warmup) / (double)last : 0;
}

/* Of the way down from lr to min, what is left; both ends are met exactly. */
static double between(const struct lr_schedule *s, double left)
{
	return s->lr * left + s->min * (1 - left);
}

double lr_at(const struct lr_schedule *s, int64_t step)
{
	if (step < s->warmup)
		return s->lr * (double)(step + 1) / (double)s->warmup;
	switch (s->kind) {
	case LR_CONSTANT:
		break;
	case LR_COSINE:
		return between(s, (1 + cos(M_PI * progress(s, step))) / 2);
	case LR_LINEAR:
		return between(s, 1 - progress(s, step));
	case LR_STEP:
		return fmax(s->min,
			    s->lr * pow(s->gamma, (double)((step - s->warmup) / s->every)));
	case LR_WSD:
		if (step >= s->steps - s->decay)
			return between(s, (double)(s->steps - 1 - step) / (double)s->decay);
		break;
	}
	return s->lr;
}

bool lr_is_constant(const struct lr_schedule *s)
{
	return s->kind == LR_CONSTANT && !s->warmup;
}
