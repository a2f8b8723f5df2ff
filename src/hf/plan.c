/* plan.c - which tensor of transformers is which of kolm's; see hf.h */
#include "hf/hf.h"
#include "base/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const hf_kind_names[] = {NAMES_OF(HF_KINDS)};
#define OURS(name, theirs, ours, loader)    ours,
#define CLASSES(name, theirs, ours, loader) loader,
const char *const hf_model_names[] = {HF_KINDS(OURS)};
const char *const hf_classes[] = {HF_KINDS(CLASSES)};

/* What rows and columns are counted in. */
enum size { ONE, DIM, DIM_3, FFN, VOCAB, CONTEXT, QUERIES, KEYS };

struct line {
	const char *ours, *theirs; /* without the number of a block */
	enum size rows, columns;
	bool transposed;
};

/* clang-format off */
static const struct line gpt2_first[] = {
	{"tokens.weight", "transformer.wte.weight", VOCAB, DIM, false},
	{"positions.weight", "transformer.wpe.weight", CONTEXT, DIM, false},
	{0},
};
static const struct line gpt2_block[] = {
	{"norm1.weight", "ln_1.weight", DIM, ONE, false},
	{"norm1.bias", "ln_1.bias", DIM, ONE, false},
	{"attention.qkv.weight", "attn.c_attn.weight", DIM_3, DIM, true},
	{"attention.qkv.bias", "attn.c_attn.bias", DIM_3, ONE, false},
	{"attention.out.weight", "attn.c_proj.weight", DIM, DIM, true},
	{"attention.out.bias", "attn.c_proj.bias", DIM, ONE, false},
	{"norm2.weight", "ln_2.weight", DIM, ONE, false},
	{"norm2.bias", "ln_2.bias", DIM, ONE, false},
	{"mlp.up.weight", "mlp.c_fc.weight", FFN, DIM, true},
	{"mlp.up.bias", "mlp.c_fc.bias", FFN, ONE, false},
	{"mlp.down.weight", "mlp.c_proj.weight", DIM, FFN, true},
	{"mlp.down.bias", "mlp.c_proj.bias", DIM, ONE, false},
	{0},
};
static const struct line gpt2_last[] = {
	{"norm.weight", "transformer.ln_f.weight", DIM, ONE, false},
	{"norm.bias", "transformer.ln_f.bias", DIM, ONE, false},
	{0},
};
static const struct line llama_first[] = {
	{"tokens.weight", "model.embed_tokens.weight", VOCAB, DIM, false},
	{0},
};
static const struct line llama_block[] = {
	{"norm1.weight", "input_layernorm.weight", DIM, ONE, false},
	{"attention.qkv.weight", "self_attn.q_proj.weight", QUERIES, DIM, false},
	{"attention.qkv.weight", "self_attn.k_proj.weight", KEYS, DIM, false},
	{"attention.qkv.weight", "self_attn.v_proj.weight", KEYS, DIM, false},
	{"attention.out.weight", "self_attn.o_proj.weight", DIM, QUERIES, false},
	{"norm2.weight", "post_attention_layernorm.weight", DIM, ONE, false},
	{"mlp.gate_up.weight", "mlp.gate_proj.weight", FFN, DIM, false},
	{"mlp.gate_up.weight", "mlp.up_proj.weight", FFN, DIM, false},
	{"mlp.down.weight", "mlp.down_proj.weight", DIM, FFN, false},
	{0},
};
static const struct line llama_last[] = {
	{"norm.weight", "model.norm.weight", DIM, ONE, false},
	{"head.weight", "lm_head.weight", VOCAB, DIM, false},
	{0},
};

static const struct {
	const struct line *first, *block, *last;
	const char *blocks; /* before the number */
} lists[] = {
	[HF_GPT2] = {gpt2_first, gpt2_block, gpt2_last, "transformer.h"},
	[HF_LLAMA] = {llama_first, llama_block, llama_last, "model.layers"},
};
/* clang-format on */

static int size_of(const struct hf_model *m, enum size size)
{
	switch (size) {
	case ONE:
		return 1;
	case DIM:
		return m->dim;
	case DIM_3:
		return 3 * m->dim;
	case FFN:
		return m->ffn;
	case VOCAB:
		return m->vocab;
	case CONTEXT:
		return m->context;
	case QUERIES:
		return m->dim;
	case KEYS:
		return m->dim / m->heads * m->kv_heads;
	}
	return 0;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), k = strlen(end);

	return n >= k && !strcmp(text + n - k, end);
}

static void choose_role(struct hf_part *p, const struct hf_model *m)
{
	if (!m->bias && ends_with(p->ours, ".bias"))
		p->role = HF_ZEROS;
	if (m->kind == HF_LLAMA && m->tied && !strcmp(p->ours, "head.weight")) {
		p->role = HF_COPY;
		snprintf(p->theirs, sizeof(p->theirs), "%s", llama_first[0].theirs);
	}
}

/* block: its number, or -1. */
static void add(struct hf_plan *plan, const struct hf_model *m, const struct line *l, int block)
{
	struct hf_part *p = &plan->parts[plan->count];

	*p = (struct hf_part){.matrix = l->columns != ONE,
			      .transposed = l->transposed,
			      .rows = size_of(m, l->rows),
			      .columns = size_of(m, l->columns)};
	snprintf(p->ours, sizeof(p->ours), "%s", l->ours);
	snprintf(p->theirs, sizeof(p->theirs), "%s", l->theirs);
	if (block >= 0) {
		snprintf(p->ours, sizeof(p->ours), "blocks.%d.%s", block, l->ours);
		snprintf(p->theirs, sizeof(p->theirs), "%s.%d.%s", lists[m->kind].blocks, block,
			 l->theirs);
	}
	if (plan->count && !strcmp(p[-1].ours, p->ours))
		p->row = p[-1].row + p[-1].rows;
	choose_role(p, m);
	plan->count++;
}

static size_t length(const struct line *l)
{
	size_t n = 0;

	while (l[n].ours)
		n++;
	return n;
}

enum status hf_plan_make(struct hf_plan *p, const struct hf_model *m, struct error *err)
{
	const struct line *first = lists[m->kind].first, *block = lists[m->kind].block,
			  *last = lists[m->kind].last;
	size_t most = length(first) + (size_t)m->layers * length(block) + length(last);

	*p = (struct hf_plan){.parts = calloc(most + 1, sizeof(*p->parts))};
	if (!p->parts)
		return FAIL(err, ERR_MEMORY, "no memory for the names of %zu tensors", most);
	for (; first->ours; first++)
		add(p, m, first, -1);
	for (int i = 0; i < m->layers; i++)
		for (const struct line *l = block; l->ours; l++)
			add(p, m, l, i);
	for (; last->ours; last++)
		add(p, m, last, -1);
	return OK;
}

void hf_plan_release(struct hf_plan *p)
{
	free(p->parts);
	*p = (struct hf_plan){0};
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct hf_tensor *)a)->entry.name,
		      ((const struct hf_tensor *)b)->entry.name);
}

enum status hf_plan_ours(const struct hf_plan *p, struct hf_tensor **out, size_t *count,
			 struct error *err)
{
	struct hf_tensor *tensors = calloc(p->count + 1, sizeof(*tensors)), *t = tensors;

	*count = 0;
	if (!tensors)
		return FAIL(err, ERR_MEMORY, "no memory for the names of %zu tensors",
			    p->count);
	for (const struct hf_part *q = p->parts; q < p->parts + p->count; q++) {
		if (q->role == HF_ZEROS)
			continue;
		if (!q->row) {
			t = &tensors[(*count)++];
			*t = (struct hf_tensor){
				.entry = {.dtype = DTYPE_F32, .dims = q->matrix ? 2 : 1},
				.parts = q};
			snprintf(t->entry.name, sizeof(t->entry.name), "%s", q->ours);
		}
		t->count++;
		t->entry.shape[0] = q->row + q->rows;
		t->entry.shape[1] = q->columns;
	}
	qsort(tensors, *count, sizeof(*tensors), by_name);
	*out = tensors;
	return OK;
}
