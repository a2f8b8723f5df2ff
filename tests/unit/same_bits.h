/*
 * same_bits.h - a case of a kernel on every device that must give the same bits. It is included
 * behind what a case is for the test: struct fixture, with the device that it is on.
 */
#ifndef KOLM_TESTS_SAME_BITS_H
#define KOLM_TESTS_SAME_BITS_H

#include "tokens.h"

struct same_bits {
	struct fixture (*create)(struct device *dev, struct random *r, int i);
	void (*run)(struct fixture *f);
	void (*compare)(const struct fixture *a, const struct fixture *b);
	void (*release)(struct fixture *f);
	int rounds, reference_rounds; /* cases of a table; of the slow one */
};

/* Of every table; the devices are given the same random numbers. */
static inline void want_same_bits(const struct same_bits *s)
{
	struct random r = random_start("threads");

	for (const struct kernels *const *k = kernels_available(); *k; k++)
		for (int i = 0;
		     i < (*k == &kernels_reference ? s->reference_rounds : s->rounds); i++) {
			struct random again = r;
			struct fixture f[SAME_DEVICES];

			for (int d = 0; d < SAME_DEVICES; d++) {
				r = again;
				f[d] = s->create(same_device(d, (*k)->name, 64), &r, i);
				s->run(&f[d]);
				s->compare(&f[0], &f[d]);
			}
			for (int d = 0; d < SAME_DEVICES; d++) {
				s->release(&f[d]);
				device_close(f[d].dev);
			}
		}
}

#endif
