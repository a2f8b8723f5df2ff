/* gate.h - y = act(a) * b of what goes in, a and b side by side: half as wide. */
#ifndef KOLM_MODEL_GATE_H
#define KOLM_MODEL_GATE_H

#include "model/layer.h"

struct gate_config {
	enum activation act;
};

extern const struct layer_ops layer_gate;

#endif
