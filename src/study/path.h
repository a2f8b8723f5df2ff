/*
 * path.h - one number or text out of a run's document: "step_ms.median", "rows.0.batch",
 * "max per_rank.peak_bytes". Of an array without a number: the word in front says what
 * becomes of its elements; with a rank, the elements of per_rank are that rank's only.
 */
#ifndef KOLM_STUDY_PATH_H
#define KOLM_STUDY_PATH_H

#include <jansson.h>

/* NAN: there is no such number. rank -1: all ranks. */
double path_value(const json_t *document, const char *path, int rank);

/* Sizes of a list, or ranges of whole numbers, one per element; the caller's, or NULL. */
char *path_text(const json_t *document, const char *path, int rank);

#endif
