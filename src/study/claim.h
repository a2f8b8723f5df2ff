/*
 * claim.h - what answers are made of: a relation between numbers of the results, and the
 * sentence that holds if it does.
 *
 * A claim is data in a study's file. It names a relation and a sentence for each outcome, so
 * that a sentence can't be said without its relation having been found:
 *
 *   "The step takes {step_ms}."                                 said as it is
 *   {"compare": "step_ms / step_ms[ranks=1]", "with": 1, "above": ..., "below": ...,
 *    "alike": ..., "unsure": "These runs can't tell: it is {range:2} times as long."}
 *   {"equal": "final_loss_range", "with": 0, "within": 0, "yes": ..., "no": ..., "unsure": ...}
 *   {"largest": {"communication": "comm_ms", ...} or "drop", "over": "ranks", "least": 0.02,
 *    "found": "... {largest} {largest_value:ms} ...", "only": ..., "alike": ..., "unsure": ...,
 *    "faint": ..., "none": ...}
 *   {"fit": "amdahl" or "line", "x": "ranks", "y": "step_ms", "good": "... {r2:3} ...",
 *    "poor": ..., "few": ..., "none": ...}
 *
 * Numbers are formulas in braces, {formula} or {formula:form}. A claim whose numbers are not
 * known, or are times of ranks that shared cores, is not made: its outcome is "unknown" or
 * "shared". "name" lets later claims ask for the outcome: "if": "linear=below", with a sentence
 * for the other case in "otherwise". What a fit has found ({serial}, {limit}, {slope}, ...) can
 * be used by later formulas of the same question, and what a claim with "word": "one" (or
 * "other") would say is not said, but is {one} in later sentences.
 */
#ifndef KOLM_STUDY_CLAIM_H
#define KOLM_STUDY_CLAIM_H

#include "study/results.h"

/* How well a law must explain the rows to be stated, and how many rows it takes. */
#define CLAIM_FIT_R2 0.9
enum { CLAIM_FIT_ROWS = 3 };

/* The least difference that counts, of so many paired repetitions: a few runs may agree by
   chance. */
double claim_margin(int repetitions, double wanted);

/* What relations have found, for sentences and later claims: numbers, and words. */
struct finding {
	struct constant numbers[24]; /* the last one has no name */
	struct {
		const char *name;
		char text[2 * STUDY_NAME_MAX];
	} words[8];
	int number_count, word_count;
};

/* Seen from one row: what has been claimed so far, and what the next claim is about. */
struct inquiry {
	const struct results *results;
	const struct row *row;
	json_t *claims; /* made so far, an array */
	struct finding found;
};

/*
 * The claim that this form becomes, as an object: relation, outcome, text ("" where nothing
 * is said), name, the formulas with their values, and the numbers in the text. NULL: its
 * "if" does not hold. The caller's.
 */
json_t *claim_make(struct inquiry *q, const json_t *form);

/* Was something found out? What is unknown, unsure or not asked is not. */
bool claim_is_decided(const json_t *claim);

/* Is a form right, and do its formulas name columns? */
enum status claim_check(const struct columns *c, const json_t *form, const char *where,
			struct error *err);

/* ---- relation.c ---- */

/* "compare", "equal", "largest", "fit", or "say" for a sentence without one. */
const char *relation_name(const json_t *form);
/* Its outcome; what it found goes to q->found and claim. */
const char *relation_find(struct inquiry *q, const json_t *form, json_t *claim);

/* ---- claim_text.c ---- */

void finding_number(struct finding *f, const char *name, double value);
void finding_word(struct finding *f, const char *name, const char *text);

enum telling { TOLD, NOT_KNOWN, SHARED_CORES };
/* Put numbers into a sentence; those that are used go to numbers, an array. */
enum telling claim_tell(const struct inquiry *q, const char *sentence, struct text *out,
			json_t *numbers);

/* Does a formula name columns (or what a relation finds)? */
enum status formula_check(const struct columns *c, const char *formula, const char *where,
			  struct error *err);
/* Do all formulas of a sentence name columns (or what a relation finds)? */
enum status sentence_check(const struct columns *c, const char *sentence, const char *where,
			   struct error *err);

#endif
