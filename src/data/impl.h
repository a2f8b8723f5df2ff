/* impl.h - what the parts of the data share. Only for data/. */
#ifndef KOLM_DATA_IMPL_H
#define KOLM_DATA_IMPL_H

#include "data/data.h"

/* Hidden numbers behind a made-up sample. */
enum { FACTORS = 4 };

/* The same order for the same seed and stream. */
void data_shuffle(int32_t *order, int64_t n, uint64_t seed, uint64_t stream);

/* scale.c: means and deviations of the training samples, to d->form; then the samples by them.
 */
enum status data_measure(struct data *d, bool scale_target, struct error *err);
void data_scale(struct table *t, const struct data_form *f);

#endif
