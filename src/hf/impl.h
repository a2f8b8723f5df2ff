/* impl.h - what the files that read a folder share. Only for hf/. */
#ifndef KOLM_HF_IMPL_H
#define KOLM_HF_IMPL_H

#include "hf/hf.h"

/* A tensor by its name, or NULL; and also as the model without its head calls it. */
struct hf_found *hf_find(const struct hf_source *s, const char *name);
struct hf_found *hf_find_part(const struct hf_source *s, const char *name);

/* match.c: holds the tensors against the model; makes the plan. */
enum status hf_match(struct hf_source *s, struct error *err);

#endif
