/*
 * train_bpe.c - the merges of a byte-level BPE: over and over, the most frequent pair of tokens
 * within words becomes a token; of equally frequent ones, that of the smallest ids.
 *
 * Words are counted once and merged as long as they live, each once however often it is in the
 * text. Counts of pairs are kept up to date with every change. The heap is not: a count in it
 * may be too large, and is looked at again when its turn comes. What it costs is the sum of
 * what changes, not the number of merges times the text.
 */
#include "text/impl.h"
#include "text/bag.h"
#include "text/grow.h"
#include "text/heap.h"
#include "text/letters.h"
#include "text/words.h"

#include <stdlib.h>
#include <string.h>

enum { LOOK_EVERY = 1 << 20, LOOK_MERGES = 64 };

struct word {
	size_t at, size; /* in the symbols */
	int64_t count;
};

/* A word in which a pair was, and the next of these; there may be fewer by now. */
struct occurrence {
	size_t word, next; /* next: 1 + its place; 0: the last */
};

struct pair {
	int32_t left, right;
	int64_t count;
	size_t first;  /* occurrence: 1 + its place; 0: none */
	bool is_fresh; /* it is more frequent than the heap knows */
};

struct trainer {
	struct tokenizer *t;
	struct bag bag;
	int32_t *symbols;
	struct word *words; /* (bag.count) */
	struct pair *pairs;
	size_t pair_count, pair_capacity;
	struct lookup pair_of;
	struct occurrence *occurrences;
	size_t occurrence_count, occurrence_capacity;
	struct heap heap;
	size_t *fresh; /* pairs */
	size_t fresh_count, fresh_capacity;
};

static void trainer_release(struct trainer *r)
{
	bag_release(&r->bag);
	lookup_release(&r->pair_of);
	heap_release(&r->heap);
	free(r->symbols);
	free(r->words);
	free(r->pairs);
	free(r->occurrences);
	free(r->fresh);
}

static enum status look(const struct text_watch *w, int64_t done, int64_t total,
			struct error *err)
{
	return w->look ? w->look(w->arg, done, total, err) : OK;
}

static enum status count_words(struct trainer *r, const struct text_watch *watch,
			       const struct text_piece *text, struct error *err)
{
	size_t seen = 0;
	enum status st = OK;

	for (size_t at = 0, n; at < text->size; at += n) {
		n = word_length(text->at + at, text->size - at);
		TRY(bag_add(&r->bag, text->at + at, n, err));
		if (at - seen > LOOK_EVERY) {
			TRY(look(watch, 0, 1, err));
			seen = at;
		}
	}
out:
	return st;
}

static enum status spell_words(struct trainer *r, struct error *err)
{
	size_t total = 0;

	for (size_t i = 0; i < r->bag.count; i++)
		total += r->bag.words[i].size;
	r->symbols = reallocarray(NULL, total + 1, sizeof(*r->symbols));
	r->words = reallocarray(NULL, r->bag.count + 1, sizeof(*r->words));
	if (!r->symbols || !r->words)
		return FAIL(err, ERR_MEMORY, "no memory for %zu words of %zu bytes",
			    r->bag.count, total);
	total = 0;
	for (size_t i = 0; i < r->bag.count; i++) {
		const struct bag_word *w = &r->bag.words[i];

		r->words[i] = (struct word){total, w->size, w->count};
		for (size_t k = 0; k < w->size; k++)
			r->symbols[total++] = r->t->of_byte[(unsigned char)w->at[k]];
	}
	return OK;
}

static enum status find_pair(struct trainer *r, int32_t left, int32_t right, size_t *place,
			     struct error *err)
{
	int64_t known = lookup_get(&r->pair_of, pair_key(left, right));
	enum status st = OK;

	if (known < 0) {
		TRY(grow_array((void **)&r->pairs, sizeof(*r->pairs), r->pair_count + 1,
			       &r->pair_capacity, err));
		known = (int64_t)r->pair_count++;
		r->pairs[known] = (struct pair){.left = left, .right = right};
		TRY(lookup_put(&r->pair_of, pair_key(left, right), known, err));
	}
	*place = (size_t)known;
out:
	return st;
}

/* A pair is in a word once more. */
static enum status add_pair(struct trainer *r, int32_t left, int32_t right, size_t word,
			    struct error *err)
{
	struct pair *p;
	size_t place;
	enum status st;

	TRY(find_pair(r, left, right, &place, err));
	p = &r->pairs[place];
	p->count += r->words[word].count;
	if (!p->is_fresh) {
		TRY(grow_array((void **)&r->fresh, sizeof(*r->fresh), r->fresh_count + 1,
			       &r->fresh_capacity, err));
		r->fresh[r->fresh_count++] = place;
		p->is_fresh = true;
	}
	/* Words come one after the other: if it is known to be in this one, that is the last.
	 */
	if (p->first && r->occurrences[p->first - 1].word == word)
		return OK;
	TRY(grow_array((void **)&r->occurrences, sizeof(*r->occurrences),
		       r->occurrence_count + 1, &r->occurrence_capacity, err));
	r->occurrences[r->occurrence_count++] = (struct occurrence){word, p->first};
	p->first = r->occurrence_count;
out:
	return st;
}

static void drop_pair(struct trainer *r, int32_t left, int32_t right, size_t word)
{
	int64_t place = lookup_get(&r->pair_of, pair_key(left, right));

	assert(place >= 0);
	r->pairs[place].count -= r->words[word].count;
}

static enum status push_fresh(struct trainer *r, struct error *err)
{
	enum status st = OK;

	for (size_t i = 0; i < r->fresh_count; i++) {
		struct pair *p = &r->pairs[r->fresh[i]];

		p->is_fresh = false;
		TRY(heap_push(&r->heap,
			      (struct heap_item){UINT64_MAX - (uint64_t)p->count,
						 pair_key(p->left, p->right)},
			      err));
	}
	r->fresh_count = 0;
out:
	return st;
}

static enum status count_pairs(struct trainer *r, struct error *err)
{
	enum status st = OK;

	for (size_t w = 0; w < r->bag.count; w++) {
		const int32_t *s = r->symbols + r->words[w].at;

		for (size_t i = 0; i + 1 < r->words[w].size; i++)
			TRY(add_pair(r, s[i], s[i + 1], w, err));
	}
	TRY(push_fresh(r, err));
out:
	return st;
}

/* Put the token that two make in their place, in all of a word. */
static enum status merge_word(struct trainer *r, size_t word, struct merge m, struct error *err)
{
	int32_t *s = r->symbols + r->words[word].at;
	size_t n = r->words[word].size, to = 0;
	enum status st = OK;

	for (size_t from = 0; from < n; to++) {
		if (from + 1 == n || s[from] != m.left || s[from + 1] != m.right) {
			s[to] = s[from++];
			continue;
		}
		from += 2;
		if (to) {
			drop_pair(r, s[to - 1], m.left, word);
			TRY(add_pair(r, s[to - 1], m.made, word, err));
		}
		if (from < n) {
			drop_pair(r, m.right, s[from], word);
			TRY(add_pair(r, m.made, s[from], word, err));
		}
		s[to] = m.made;
	}
	r->words[word].size = to;
out:
	return st;
}

static enum status merge_everywhere(struct trainer *r, size_t place, struct merge m,
				    struct error *err)
{
	size_t next = r->pairs[place].first;
	enum status st = OK;

	r->pairs[place].first = 0;
	while (next) {
		struct occurrence o = r->occurrences[next - 1];

		TRY(merge_word(r, o.word, m, err));
		next = o.next;
	}
	r->pairs[place].count = 0;
	TRY(push_fresh(r, err));
out:
	return st;
}

/* The token that two make. */
static enum status make_token(struct tokenizer *t, int32_t left, int32_t right, struct merge *m,
			      struct error *err)
{
	const struct token *parts[] = {&t->tokens[left], &t->tokens[right]};
	struct text bytes;
	enum status st;

	text_init(&bytes);
	for (int i = 0; i < 2; i++)
		text_add_n(&bytes, t->bytes.data + parts[i]->at, parts[i]->size);
	*m = (struct merge){left, right, t->count};
	if (bytes.failed)
		st = FAIL(err, ERR_MEMORY, "no memory for a token");
	else
		st = tokenizer_add_token(t, bytes.data, bytes.len, err);
	text_release(&bytes);
	return st;
}

static enum status merge_pairs(struct trainer *r, const struct tokenizer_plan *plan,
			       struct error *err)
{
	int first = r->t->count;
	enum status st = OK;
	struct heap_item best;
	struct merge m;

	while (r->t->count < plan->vocabulary && heap_pop(&r->heap, &best)) {
		int64_t place = lookup_get(&r->pair_of, best.second);
		const struct pair *p = &r->pairs[place];

		if (p->count <= 0)
			continue;
		if ((uint64_t)p->count != UINT64_MAX - best.first) {
			best.first = UINT64_MAX - (uint64_t)p->count;
			TRY(heap_push(&r->heap, best, err));
			continue;
		}
		TRY(make_token(r->t, p->left, p->right, &m, err));
		TRY(tokenizer_add_merge(r->t, m.left, m.right, m.made, err));
		TRY(merge_everywhere(r, (size_t)place, m, err));
		if (r->t->count % LOOK_MERGES == 0)
			TRY(look(&plan->watch, r->t->count - first, plan->vocabulary - first,
				 err));
	}
out:
	return st;
}

/* All bytes, in the order of their letters. */
static enum status add_bytes(struct tokenizer *t, struct error *err)
{
	struct letters letters;
	enum status st = OK;

	letters_init(&letters);
	for (int c = 0; c < LETTERS_END; c++) {
		char byte = (char)letters.byte[c];

		if (letters.byte[c] < 0)
			continue;
		t->of_byte[(unsigned char)byte] = t->count;
		TRY(tokenizer_add_token(t, &byte, 1, err));
	}
out:
	return st;
}

enum status train_bpe(struct tokenizer *t, const struct tokenizer_plan *plan,
		      const struct text_piece *texts, size_t n, struct error *err)
{
	struct trainer r = {.t = t};
	enum status st;

	TRY(add_bytes(t, err));
	if (plan->vocabulary < t->count || plan->vocabulary > VOCABULARY_MAX) {
		st = FAIL(err, ERR_USAGE, "a vocabulary of %d tokens can't be",
			  plan->vocabulary);
		HINT(err, "from %d (every byte%s) to %d", t->count,
		     plan->end_of_text ? " and the end of a text" : "", VOCABULARY_MAX);
		goto out;
	}
	for (size_t i = 0; i < n; i++)
		TRY(count_words(&r, &plan->watch, &texts[i], err));
	TRY(spell_words(&r, err));
	TRY(count_pairs(&r, err));
	TRY(merge_pairs(&r, plan, err));
out:
	trainer_release(&r);
	return st;
}
