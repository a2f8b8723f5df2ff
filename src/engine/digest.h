/* digest.h - one number for all weights, whatever the grid. */
#ifndef KOLM_ENGINE_DIGEST_H
#define KOLM_ENGINE_DIGEST_H

#include "base/sha256.h"
#include "engine/engine.h"

/*
 * The SHA-256 of the weights that the optimizer keeps, in fp32, tensor by tensor in the order
 * of their names: that of the tensors in a checkpoint's model.safetensors. Every rank calls it
 * between two steps; rank 0 has the text. Nothing is kept but some rows on their way.
 */
enum status digest_weights(struct engine *e, char text[SHA256_TEXT], struct error *err);
/* Where the ranks have parts of these only, it would take memory that was not planned. */
bool digest_is_cheap(const struct engine *e);

#endif
