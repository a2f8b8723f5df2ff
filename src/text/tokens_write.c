/* tokens_write.c - writing token files; see tokens.h */
#include "text/tokens.h"
#include "base/crc32c.h"
#include "text/grow.h"
#include "text/tokens_bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HASHED_AT_ONCE = 1 << 20 };

enum status tokens_create(struct tokens_writer *w, const char *path, int vocabulary,
			  struct error *err)
{
	static const unsigned char nothing[TOKENS_HEADING];
	enum status st;

	*w = (struct tokens_writer){.file = {.fd = -1},
				    .of = {.vocabulary = vocabulary},
				    .width = tokens_width((uint64_t)vocabulary)};
	w->block = calloc(TOKENS_BLOCK, (size_t)w->width);
	if (!w->block)
		return FAIL(err, ERR_MEMORY, "no memory for a block of ids");
	TRY(file_create(&w->file, path, err));
	TRY(file_write(&w->file, nothing, sizeof(nothing), err));
out:
	return st;
}

static enum status write_block(struct tokens_writer *w, struct error *err)
{
	size_t size = w->used * (size_t)w->width;
	enum status st = OK;

	if (!w->used)
		return OK;
	TRY(grow_array((void **)&w->sums, sizeof(*w->sums), w->sum_count + 1, &w->sum_capacity,
		       err));
	w->sums[w->sum_count++] = crc32c(w->block, size);
	TRY(file_write(&w->file, w->block, size, err));
	w->used = 0;
out:
	return st;
}

enum status tokens_put(struct tokens_writer *w, const int32_t *ids, size_t n, struct error *err)
{
	enum status st = OK;

	for (size_t i = 0; i < n; i++) {
		assert(ids[i] >= 0 && ids[i] < w->of.vocabulary);
		put_bytes(w->block + w->used * (size_t)w->width, w->width, (uint64_t)ids[i]);
		if (++w->used == TOKENS_BLOCK)
			TRY(write_block(w, err));
	}
	w->count += n;
out:
	return st;
}

static void put_sha256(unsigned char *p, const char *text)
{
	for (size_t i = 0; i < strlen(text) / 2; i++) {
		char two[3] = {text[2 * i], text[2 * i + 1], '\0'};

		p[i] = (unsigned char)strtoul(two, NULL, 16);
	}
}

static void make_heading(const struct tokens_writer *w, unsigned char p[TOKENS_HEADING])
{
	memset(p, 0, TOKENS_HEADING);
	memcpy(p, tokens_magic, sizeof(tokens_magic));
	put_bytes(p + AT_VERSION, 4, TOKENS_VERSION);
	put_bytes(p + AT_WIDTH, 4, (uint64_t)w->width);
	put_bytes(p + AT_COUNT, 8, w->count);
	put_bytes(p + AT_VOCABULARY, 4, (uint64_t)w->of.vocabulary);
	put_bytes(p + AT_BLOCK, 4, TOKENS_BLOCK);
	put_sha256(p + AT_TOKENIZER, w->of.tokenizer_sha256);
	put_sha256(p + AT_TEXT, w->of.text_sha256);
	put_bytes(p + AT_TEXT_SIZE, 8, w->of.text_size);
	put_bytes(p + AT_TEXT_CHANGED, 8, (uint64_t)w->of.text_changed);
	put_bytes(p + AT_SUM, 4, crc32c(p, AT_SUM));
}

enum status tokens_commit(struct tokens_writer *w, struct error *err)
{
	static const unsigned char zeros[4];
	unsigned char heading[TOKENS_HEADING], sum[4];
	enum status st;

	TRY(write_block(w, err));
	TRY(file_write(&w->file, zeros, -(w->count * (uint64_t)w->width) % 4, err));
	for (size_t i = 0; i < w->sum_count; i++) {
		put_bytes(sum, 4, w->sums[i]);
		TRY(file_write(&w->file, sum, 4, err));
	}
	make_heading(w, heading);
	if (lseek(w->file.fd, 0, SEEK_SET) != 0) {
		st = FAIL(err, ERR_FAILED, "can't write %s: %s", w->file.path, strerror(errno));
		goto out;
	}
	TRY(file_write(&w->file, heading, sizeof(heading), err));
	TRY(file_commit(&w->file, err));
out:
	return st;
}

void tokens_abort(struct tokens_writer *w)
{
	file_abort(&w->file);
	free(w->block);
	free(w->sums);
	*w = (struct tokens_writer){.file = {.fd = -1}};
}

struct making {
	struct tokens_writer writer;
	const struct text_watch *watch;
	const struct corpus *text;
	size_t piece;  /* of it */
	size_t before; /* bytes of the pieces before that one */
	struct sha256 sum;
	size_t hashed; /* of the piece */
};

/* The sum goes along with the ids: the text is read once. */
static void hash_to(struct making *m, size_t end)
{
	sha256_add(&m->sum, m->text->pieces[m->piece].at + m->hashed, end - m->hashed);
	m->hashed = end;
}

static enum status look(const struct making *m, size_t done, struct error *err)
{
	if (!m->watch || !m->watch->look)
		return OK;
	return m->watch->look(m->watch->arg, (int64_t)(m->before + done),
			      (int64_t)m->text->bytes, err);
}

static enum status put_ids(void *arg, const int32_t *ids, size_t n, size_t done,
			   struct error *err)
{
	struct making *m = arg;
	enum status st;

	TRY(tokens_put(&m->writer, ids, n, err));
	if (done - m->hashed < HASHED_AT_ONCE)
		return OK;
	hash_to(m, done);
	TRY(look(m, done, err));
out:
	return st;
}

/* The next piece, and what is between it and the one before. */
static enum status add_piece(struct making *m, const struct tokenizer *t,
			     enum tokenizer_specials specials, struct error *err)
{
	const struct text_piece *p = &m->text->pieces[m->piece];
	struct text_sink sink = {put_ids, m};
	int32_t end = tokenizer_end_of_text(t);
	enum status st;

	if (m->piece && end >= 0)
		TRY(tokens_put(&m->writer, &end, 1, err));
	TRY(tokenizer_stream(t, p->at, p->size, specials, &sink, err));
	hash_to(m, p->size);
	corpus_hash_end(m->text, m->piece, &m->sum);
	m->before += p->size;
	m->hashed = 0;
	m->piece++;
out:
	return st;
}

/* What is wrong with a text is said with its name. */
static enum status fail_in(const char *name, const struct error *why, struct error *err)
{
	if (why->code != ERR_USAGE)
		return error_copy(err, why);
	FAIL(err, why->code, "%.200s: %.300s", name, why->msg);
	return *why->hint ? HINT(err, "%s", why->hint) : why->code;
}

enum status tokens_make(const char *path, const struct corpus *text, const struct tokenizer *t,
			enum tokenizer_specials specials, const struct text_watch *watch,
			struct error *err)
{
	struct making m = {.writer = {.file = {.fd = -1}}, .watch = watch, .text = text};
	struct tokens_origin *of = &m.writer.of;
	struct error why = {0};
	enum status st;

	TRY(sha256_begin(&m.sum, err));
	TRY(tokens_create(&m.writer, path, tokenizer_vocabulary(t), err));
	while (st == OK && m.piece < text->count)
		st = add_piece(&m, t, specials, &why);
	if (st != OK) {
		fail_in(text->pieces[m.piece].name, &why, err);
		goto out;
	}
	TRY(corpus_check(text, err));
	sha256_end(&m.sum, of->text_sha256);
	memcpy(of->tokenizer_sha256, tokenizer_sha256(t), SHA256_TEXT);
	of->text_size = text->bytes;
	of->text_changed = corpus_settled(text);
	TRY(tokens_commit(&m.writer, err));
out:
	sha256_drop(&m.sum);
	tokens_abort(&m.writer);
	return st;
}
