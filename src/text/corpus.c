/* corpus.c - see corpus.h */
#include "text/corpus.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RECENT_S = 2 }; /* no clock of a file system is coarser */

static uint64_t mix(uint64_t h, const void *data, size_t n)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < n; i++)
		h = (h ^ bytes[i]) * 0x100000001b3;
	return h;
}

static void note_changes(struct corpus *c)
{
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < c->count; i++) {
		const struct source *s = &c->sources[i];

		h = mix(h, c->list.paths[i], strlen(c->list.paths[i]) + 1);
		h = mix(h, &s->size, sizeof(s->size));
		h = mix(h, &s->changed, sizeof(s->changed));
		if (s->changed > c->last_changed)
			c->last_changed = s->changed;
	}
	c->changed = c->count == 1 ? c->sources[0].changed : (int64_t)(h >> 1 | 1);
}

enum status corpus_open(struct corpus *c, const char *const *paths, size_t n, struct error *err)
{
	enum status st = OK;

	*c = (struct corpus){.name = strdup(n ? paths[0] : ""), .last_changed = INT64_MIN};
	for (size_t i = 0; i < n; i++)
		TRY(source_list_add(&c->list, paths[i], err));
	c->sources = calloc(c->list.count + 1, sizeof(*c->sources));
	c->pieces = calloc(c->list.count + 1, sizeof(*c->pieces));
	if (!c->name || !c->sources || !c->pieces) {
		st = FAIL(err, ERR_MEMORY, "no memory for %zu files", c->list.count);
		goto out;
	}
	for (; c->count < c->list.count; c->count++) {
		struct source *s = &c->sources[c->count];

		TRY(source_open(s, c->list.paths[c->count], err));
		c->pieces[c->count] =
			(struct text_piece){s->at, s->size, c->list.paths[c->count]};
		c->bytes += s->size;
	}
	note_changes(c);
out:
	if (st != OK)
		corpus_close(c);
	return st;
}

void corpus_close(struct corpus *c)
{
	for (size_t i = 0; i < c->count; i++)
		source_close(&c->sources[i]);
	source_list_release(&c->list);
	free(c->sources);
	free(c->pieces);
	free(c->name);
	*c = (struct corpus){0};
}

enum status corpus_check(const struct corpus *c, struct error *err)
{
	enum status st = OK;

	for (size_t i = 0; i < c->count; i++)
		TRY(source_check(&c->sources[i], c->list.paths[i], err));
out:
	return st;
}

void corpus_hash_end(const struct corpus *c, size_t piece, struct sha256 *sum)
{
	unsigned char size[8];

	for (int i = 0; i < 8; i++)
		size[i] = (unsigned char)(c->sources[piece].size >> 8 * i);
	if (c->count > 1)
		sha256_add(sum, size, sizeof(size));
}

enum status corpus_sha256(const struct corpus *c, char text[SHA256_TEXT], struct error *err)
{
	struct sha256 sum = {0};
	enum status st;

	TRY(sha256_begin(&sum, err));
	for (size_t i = 0; i < c->count; i++) {
		sha256_add(&sum, c->sources[i].at, c->sources[i].size);
		corpus_hash_end(c, i, &sum);
	}
	sha256_end(&sum, text);
out:
	return st;
}

int64_t corpus_settled(const struct corpus *c)
{
	return c->last_changed / 1000000000 + RECENT_S < time(NULL) ? c->changed : 0;
}
