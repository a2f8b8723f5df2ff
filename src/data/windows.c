/* windows.c - samples of language models as windows of token files; see data.h */
#include "base/rng.h"
#include "base/stream.h"
#include "data/impl.h"

#include <string.h>

/* The window that begins at that token of a part; its last label is the token behind it. */
static void read_window(struct data *d, const struct token_part *p, uint64_t at,
			const struct batch *b, int row)
{
	size_t n = (size_t)d->sequence;
	int32_t *tokens = b->tokens ? b->tokens + row : NULL;
	int32_t *labels = b->labels ? b->labels + row : NULL;
	struct error *err = &d->text.failed;
	enum status st = OK;

	at += p->first;
	if (tokens)
		TRY(tokens_read(p->file, at, n, tokens, err));
	if (labels && tokens) {
		memcpy(labels, tokens + 1, (n - 1) * sizeof(*labels));
		TRY(tokens_read(p->file, at + n, 1, labels + n - 1, err));
	} else if (labels) {
		TRY(tokens_read(p->file, at + 1, n, labels, err));
	}
out:
	if (st != OK && tokens) /* the step that they are for goes on until somebody asks */
		memset(tokens, 0, n * sizeof(*tokens));
	if (st != OK && labels)
		memset(labels, 0, n * sizeof(*labels));
}

void data_windows(struct data *d, int64_t first, int samples, const struct batch *b)
{
	const struct token_part *p = &d->text.learned;
	uint64_t places = p->count - (uint64_t)d->sequence;

	for (int i = 0; i < samples; i++)
		read_window(d, p,
			    rng_below64(d->seed, stream_id(STREAM_WINDOW, 0),
					(uint64_t)(first + i), places),
			    b, i * d->sequence);
}

uint64_t data_held_out_place(const struct data *d, int64_t sample)
{
	unsigned __int128 window =
		(unsigned __int128)sample * (uint64_t)d->text.windows / (uint64_t)d->held_out;

	return (uint64_t)window * (uint64_t)d->sequence;
}

void data_held_out_windows(struct data *d, int64_t first, int samples, const struct batch *b)
{
	for (int i = 0; i < samples; i++)
		read_window(d, &d->text.held_out, data_held_out_place(d, first + i), b,
			    i * d->sequence);
}
