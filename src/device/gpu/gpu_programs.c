/* gpu_programs.c - the kernels' texts, which are a part of this binary, as programs of the
   driver. */
#include "base/text.h"
#include "base/util.h"
#include "device/gpu/gpu.h"

#include <stdlib.h>

enum { TEXTS = 2 }; /* of a program, behind sizes.h and common.h */

extern const char gpu_text_rows[], gpu_text_norm[], gpu_text_tokens[], gpu_text_classes[],
	gpu_text_sums[], gpu_text_attention[], gpu_text_attention_backward[];

static const struct {
	const char *name, *texts[TEXTS];
} programs[] = {
	[GPU_PROGRAM_rows] = {"rows", {gpu_text_rows}},
	[GPU_PROGRAM_norm] = {"norm", {gpu_text_norm}},
	[GPU_PROGRAM_tokens] = {"tokens", {gpu_text_tokens}},
	[GPU_PROGRAM_classes] = {"classes", {gpu_text_classes}},
	[GPU_PROGRAM_sums] = {"sums", {gpu_text_sums}},
	[GPU_PROGRAM_attention] = {"attention",
				   {gpu_text_attention, gpu_text_attention_backward}},
};

static const struct {
	const char *name;
	enum gpu_program_id program;
} kernels[] = {
#define KERNEL(name, program, ...) {#name, GPU_PROGRAM_##program},
	GPU_KERNELS(KERNEL)
#undef KERNEL
};

/* All that a program depends on is its name in the cache. */
static enum status key_of(const struct gpu_source *s, struct text *key, struct error *err)
{
	text_init(key);
	text_add(key, s->defines);
	for (int i = 0; i < s->count; i++)
		text_add(key, s->texts[i]);
	if (!key->failed)
		return OK;
	return FAIL(err, ERR_MEMORY, "no memory for the kernels '%s'", s->name);
}

enum status gpu_build_one(struct gpu *g, const char *name, const char *const *texts, int count,
			  const char *defines, struct gpu_program **out, struct error *err)
{
	const char *all[TEXTS + 2] = {gpu_text_sizes, gpu_text_common};
	struct text lines, key;
	struct gpu_source source = {.name = name, .texts = all, .count = count + 2};
	void *binary = NULL, *kept;
	size_t size = 0;
	enum status st;

	for (int i = 0; i < count; i++)
		all[i + 2] = texts[i];
	text_init(&lines);
	text_add(&lines, g->is_reversed ? "#define REVERSED\n" : "");
	text_add(&lines, defines);
	source.defines = lines.data;
	TRY(key_of(&source, &key, err));
	kept = binary = gpu_cache_read(g, key.data, &size);
	TRY(g->driver->build(g->context, &source, &binary, &size, out, err));
	if (binary != kept && binary)
		gpu_cache_write(g, key.data, binary, size);
out:
	free(binary);
	text_release(&key);
	text_release(&lines);
	return st;
}

enum status gpu_build(struct gpu *g, struct error *err)
{
	struct gpu_program *built[GPU_PROGRAM_COUNT];
	enum status st = OK;

	for (int i = 0; i < GPU_PROGRAM_COUNT; i++)
		TRY(gpu_build_one(g, programs[i].name, programs[i].texts,
				  programs[i].texts[1] ? 2 : 1, "", &built[i], err));
	for (int i = 0; i < GPU_KERNEL_COUNT; i++)
		TRY(g->driver->kernel(g->context, built[kernels[i].program], kernels[i].name,
				      &g->kernels[i], err));
out:
	return st;
}
