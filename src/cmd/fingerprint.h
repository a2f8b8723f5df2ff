/*
 * fingerprint.h - every bit that the steps of a run leave, as a text that two runs can be
 * compared by: losses, norms, and the SHA-256 of every tensor and its gradient after each step.
 */
#ifndef KOLM_CMD_FINGERPRINT_H
#define KOLM_CMD_FINGERPRINT_H

#include "base/text.h"
#include "engine/engine.h"

#define FINGERPRINT_FILE "fingerprint.txt"

/*
 * Lines "STEP\tNAME\tVALUE" in the order in which a step computes them: the loss, gradients by
 * tensor ("gradient of layers.0.weight"), their norm, the loss scale and whether the step was
 * skipped, tensors. Rank 0 has them.
 */
struct fingerprint {
	bool on;
	struct text lines;
};

void fingerprint_init(struct fingerprint *f);
void fingerprint_release(struct fingerprint *f);
/* After a step, by every rank. */
enum status fingerprint_add(struct fingerprint *f, struct engine *e, const struct model *m,
			    int step, const struct step_result *result, struct error *err);
enum status fingerprint_write(const struct fingerprint *f, const char *folder,
			      struct error *err);

#endif
