/* match.c - are the tensors of a folder those of the model that config.json describes? See hf.h
 */
#include "hf/impl.h"
#include "base/log.h"
#include "base/util.h"

#include <string.h>

enum { SHOWN = 90 };

struct hf_found *hf_find_part(const struct hf_source *s, const char *name)
{
	struct hf_found *found = hf_find(s, name);
	const char *dot = strchr(name, '.');

	if (!found && dot &&
	    (!strncmp(name, "transformer.", 12) || !strncmp(name, "model.", 6)))
		found = hf_find(s, dot + 1);
	return found;
}

static void shape_text(const int64_t *shape, int dims, char *buf, size_t size)
{
	size_t n = 0;

	snprintf(buf, size, "[]");
	for (int d = 0; d < dims && n < size; d++)
		n += (size_t)snprintf(buf + n, size - n, "%s%lld%s", d ? ", " : "[",
				      (long long)shape[d], d == dims - 1 ? "]" : "");
}

static enum status check_part(const struct hf_part *p, const struct hf_found *found,
			      struct error *err)
{
	const struct safetensors_entry *e = found->entry;
	int64_t shape[2] = {p->transposed ? p->columns : p->rows,
			    p->transposed ? p->rows : p->columns};
	int dims = p->matrix ? 2 : 1;
	char there[128], wanted[64];

	if (e->dims != dims || memcmp(e->shape, shape, (size_t)dims * sizeof(*shape)) != 0) {
		shape_text(e->shape, e->dims, there, sizeof(there));
		shape_text(shape, dims, wanted, sizeof(wanted));
		FAIL(err, ERR_USAGE, "%.*s is %s, config.json makes it %s", SHOWN, e->name,
		     there, wanted);
		return HINT(err, "config.json is of another model than the tensors");
	}
	if (e->dtype != DTYPE_F32 && e->dtype != DTYPE_F16 && e->dtype != DTYPE_BF16) {
		FAIL(err, ERR_USAGE, "%.*s is of type %s", SHOWN, e->name,
		     e->foreign ? e->foreign : dtype_name(e->dtype));
		return HINT(err, "F32, F16 and BF16 can be imported");
	}
	return OK;
}

static enum status check_parts(struct hf_source *s, struct error *err)
{
	enum status st = OK;

	for (size_t i = 0; i < s->plan.count; i++) {
		const struct hf_part *p = &s->plan.parts[i];
		struct hf_found *found = hf_find_part(s, p->theirs);

		if (!found) {
			FAIL(err, ERR_USAGE, "there is no tensor %s", p->theirs);
			return HINT(err, "config.json says that the model has it");
		}
		TRY(check_part(p, found, err));
		found->used = true;
	}
out:
	return st;
}

/* Constants that some versions of transformers have put into files: masks, frequencies. */
static bool is_constant(const char *name)
{
	static const char *const ends[] = {".attn.bias", ".attn.masked_bias",
					   ".rotary_emb.inv_freq"};
	size_t n = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (n > strlen(ends[i]) && !strcmp(name + n - strlen(ends[i]), ends[i]))
			return true;
	return false;
}

static bool same_bytes(const struct hf_found *a, const struct hf_found *b)
{
	uint64_t size = a->entry->end - a->entry->begin;

	return a->entry->dtype == b->entry->dtype && size == b->entry->end - b->entry->begin &&
	       !memcmp(safetensors_data(a->file, a->entry), safetensors_data(b->file, b->entry),
		       size);
}

static enum status check_rest(const struct hf_source *s, struct error *err)
{
	const char *table = s->model.kind == HF_GPT2 ? "transformer.wte.weight"
						     : "model.embed_tokens.weight";

	for (size_t i = 0; i < s->count; i++) {
		const struct hf_found *f = &s->found[i];
		const char *name = f->entry->name;

		if (f->used || is_constant(name))
			continue;
		if (strcmp(name, "lm_head.weight") != 0) {
			FAIL(err, ERR_USAGE, "kolm has nothing for the tensor %.*s", SHOWN,
			     name);
			return HINT(err, "it is no part of the model that config.json "
					 "describes");
		}
		if (!same_bytes(f, hf_find_part(s, table))) {
			FAIL(err, ERR_USAGE,
			     "lm_head.weight is not the table of tokens, "
			     "though config.json ties the two");
			return HINT(err,
				    s->model.kind == HF_GPT2
					    ? "kolm's gpt has no head of its own"
					    : "write \"tie_word_embeddings\": false there");
		}
	}
	return OK;
}

static bool is_zero(const struct hf_found *f)
{
	const char *bytes = safetensors_data(f->file, f->entry);
	uint64_t size = f->entry->end - f->entry->begin;

	for (uint64_t i = 0; i < size; i++)
		if (bytes[i])
			return false;
	return true;
}

/* A model without biases that was trained elsewhere has learned some. */
static enum status settle_biases(struct hf_source *s, struct error *err)
{
	bool zero = true;

	for (size_t i = 0; i < s->plan.count && zero; i++)
		if (s->plan.parts[i].role == HF_ZEROS)
			zero = is_zero(hf_find_part(s, s->plan.parts[i].theirs));
	if (zero)
		return OK;
	log_info("its biases are no longer zero: a model with biases");
	s->model.bias = true;
	hf_plan_release(&s->plan);
	return hf_plan_make(&s->plan, &s->model, err);
}

enum status hf_match(struct hf_source *s, struct error *err)
{
	enum status st;

	TRY(hf_plan_make(&s->plan, &s->model, err));
	TRY(check_parts(s, err));
	TRY(check_rest(s, err));
	TRY(settle_biases(s, err));
out:
	return st;
}
