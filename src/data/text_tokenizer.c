/* text_tokenizer.c - which tokenizer a text for language models has; see data.h */
#include "data/impl.h"
#include "text/learned.h"

#include <string.h>

/* Of a learned vocabulary; more characters than that are for bpe. */
enum { BPE_VOCABULARY = 4096, CHARACTERS = 256 };

/* Characters are those of the whole text, as nanoGPT has it; pieces are learned from what is to
   be learned from. */
static enum status learn(struct tokenizer **out, enum tokenizer_kind kind,
			 const struct corpus *text, const char *cache,
			 const struct data_options *o, struct error *err)
{
	bool bpe = kind == TOKENIZER_BPE, made;
	struct tokenizer_plan plan = {.kind = kind,
				      .vocabulary = !bpe	    ? 0
						    : o->vocabulary ? o->vocabulary
								    : BPE_VOCABULARY,
				      .end_of_text = bpe ? END_OF_TEXT : NULL,
				      .watch = o->watch};
	size_t bytes = bpe ? (size_t)((double)text->bytes * (1 - o->holdout)) : text->bytes;

	return tokenizer_of_text(out, cache, text, bytes, &plan, &made, err);
}

/* char if that does, otherwise bpe. */
static enum status choose(struct tokenizer **out, const struct corpus *text, const char *cache,
			  const struct data_options *o, struct error *err)
{
	struct error why = {0};
	enum status st = ERR_USAGE;

	if (o->vocabulary <= CHARACTERS)
		st = learn(out, TOKENIZER_CHAR, text, cache, o, &why);
	if (st == OK && (tokenizer_vocabulary(*out) <= CHARACTERS || o->vocabulary))
		return OK;
	if (st != OK && st != ERR_USAGE)
		return error_copy(err, &why);
	tokenizer_free(*out);
	*out = NULL;
	return learn(out, TOKENIZER_BPE, text, cache, o, err);
}

enum status data_open_tokenizer(struct tokenizer **out, const struct corpus *text,
				const char *cache, const struct data_options *o,
				struct error *err)
{
	const char *name = o->tokenizer ? o->tokenizer : "auto";

	if (!strcmp(name, "auto"))
		return choose(out, text, cache, o, err);
	if (!strcmp(name, "char"))
		return learn(out, TOKENIZER_CHAR, text, cache, o, err);
	if (!strcmp(name, "bpe"))
		return learn(out, TOKENIZER_BPE, text, cache, o, err);
	return tokenizer_open(out, name, err);
}

/* Of ready tokens only a name is known, unless somebody has the tokenizer. */
enum status data_match_tokenizer(struct data *d, const struct data_options *o,
				 struct error *err)
{
	const char *name = o->tokenizer ? o->tokenizer : "auto";
	enum status st;

	if (!strcmp(name, "auto"))
		return OK;
	if (!strcmp(name, "char") || !strcmp(name, "bpe")) {
		FAIL(err, ERR_USAGE, "--tokenizer %s, but %.200s has no text to learn it from",
		     name, o->spec);
		return HINT(err, "give the tokenizer.json that the tokens were made with");
	}
	TRY(tokenizer_open(&d->text.tokenizer, name, err));
	if (strcmp(tokenizer_sha256(d->text.tokenizer), d->text.tokens.of.tokenizer_sha256)) {
		FAIL(err, ERR_USAGE, "%.200s was made with another tokenizer than %.200s",
		     d->text.tokens.name, name);
		return HINT(err, "its SHA-256 is %.16s..., this one's %.16s...",
			    d->text.tokens.of.tokenizer_sha256,
			    tokenizer_sha256(d->text.tokenizer));
	}
out:
	return st;
}
