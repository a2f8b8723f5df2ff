/* names.c - what the lists of kernel.h and operation.h say about their members. */
#include "device/kernel.h"
#include "device/operation.h"

const char *const activation_names[] = {NAMES_OF(ACTIVATIONS)};
const char *const operation_names[] = {NAMES_OF(OPERATIONS)};
const char *const norm_names[] = {NAMES_OF(NORMS)};
const char *const optimizer_names[] = {NAMES_OF(OPTIMIZERS)};

enum activation_saves activation_saves(enum activation act)
{
#define SAVES(name, text, what) [ACT_##name] = ACT_SAVES_##what,
	static const enum activation_saves saves[] = {ACTIVATIONS(SAVES)};

	return saves[act];
}
