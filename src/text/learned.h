/* learned.h - tokenizers that were learned from a text, kept in a folder. */
#ifndef KOLM_TEXT_LEARNED_H
#define KOLM_TEXT_LEARNED_H

#include "text/corpus.h"
#include "text/tokenizer.h"

/*
 * What tokenizer_train makes of the first so many bytes of a text. In the folder (NULL: none)
 * it is found again as long as plan and text stay what they are; *made says that it was not.
 * Several processes may ask at once.
 */
enum status tokenizer_of_text(struct tokenizer **out, const char *folder,
			      const struct corpus *text, size_t bytes,
			      const struct tokenizer_plan *plan, bool *made, struct error *err);

#endif
