/* impl.h - what the parts of the data share. Only for data/. */
#ifndef KOLM_DATA_IMPL_H
#define KOLM_DATA_IMPL_H

#include "data/data.h"

/* Hidden numbers behind a made-up sample. */
enum { FACTORS = 4 };

/* Samples first .. first+rows-1, which device_parallel has made. */
struct made_job {
	struct data *d;
	int64_t first;
	int rows;
	const struct batch *b;
};

/* words.c: made-up tokens, of so many different ones; rows are samples. */
int data_words(int vocabulary);
void data_make_tokens(void *arg, int part, int parts);

/* windows.c: so many samples from the first on. */
void data_windows(struct data *d, int64_t first, int samples, const struct batch *b);
void data_held_out_windows(struct data *d, int64_t first, int samples, const struct batch *b);
/* The token of the held-out part that a held-out sample begins with. */
uint64_t data_held_out_place(const struct data *d, int64_t sample);

/* language.c: data of a language model. */
enum status data_open_language(struct data *d, const struct data_options *o, struct error *err);
void data_close_language(struct data *d);
/* text.c: a part of that: what --data text: or tokens: names. */
enum status data_open_text(struct data *d, const struct data_options *o, struct error *err);
/* text_tokenizer.c: parts of that: the tokenizer that is asked for, learned from the text if
   need be; that of ready tokens, if somebody has it. */
struct corpus;
enum status data_open_tokenizer(struct tokenizer **out, const struct corpus *text,
				const char *cache, const struct data_options *o,
				struct error *err);
enum status data_match_tokenizer(struct data *d, const struct data_options *o,
				 struct error *err);

/* The same order for the same seed and stream. */
void data_shuffle(int32_t *order, int64_t n, uint64_t seed, uint64_t stream);

/* scale.c: means and deviations of the training samples, to d->form; then the samples by them.
 */
enum status data_measure(struct data *d, bool scale_target, struct error *err);
void data_scale(struct table *t, const struct data_form *f);

#endif
