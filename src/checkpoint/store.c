/* store.c - see store.h */
#include "checkpoint/store.h"
#include "base/file.h"
#include "checkpoint/impl.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum status store_init(struct store *s, const char *run, struct error *err)
{
	*s = (struct store){0};
	return file_path(s->place, run, CHECKPOINTS, err);
}

enum status store_describe(struct store *s, enum checkpoint_part part,
			   struct safetensors_entry *entries, size_t count, struct error *err)
{
	struct store_file *f = &s->files[part];
	enum status st;

	assert(count > 0);
	TRY(safetensors_describe(&f->head, entries, count, err));
	f->size = f->head.len + entries[count - 1].end;
	f->there = true;
out:
	return st;
}

enum status store_add_tokenizer(struct store *s, const char *json, size_t size,
				struct error *err)
{
	struct store_file *f = &s->files[FILE_TOKENIZER];

	text_init(&f->head);
	text_add_n(&f->head, json, size);
	if (f->head.failed)
		return FAIL(err, ERR_MEMORY, "no memory for a tokenizer of %zu bytes", size);
	f->size = size;
	f->there = true;
	return OK;
}

void store_release(struct store *s)
{
	for (int i = 0; i < CHECKPOINT_FILES; i++)
		text_release(&s->files[i].head);
	*s = (struct store){0};
}

void store_name(struct store *s, int64_t step)
{
	int n;

	s->step = step;
	/* The folder of the run is ours alone: nobody else makes such a name. */
	n = snprintf(s->temporary, sizeof(s->temporary), "%s/step-%lld.tmp.%016llx", s->place,
		     (long long)step, (unsigned long long)step);
	assert(n < (int)sizeof(s->temporary)); /* file_path has left room for it */
	(void)n;
}

static enum status failed(const char *path, struct error *err)
{
	int code = errno;

	FAIL(err, ERR_FAILED, "can't write %.300s: %s", path, strerror(code));
	if (code == ENOSPC || code == EDQUOT)
		return HINT(err, "free some space; --save-last keeps fewer checkpoints");
	if (code == ENOENT)
		return HINT(err, "--run-dir must be in a file system that all machines share");
	return ERR_FAILED;
}

/* Room for all of it now, where the file system can say so. */
static enum status reserve(int fd, uint64_t size)
{
	if (!fallocate(fd, 0, 0, (off_t)size))
		return OK;
	if (errno != EOPNOTSUPP && errno != ENOSYS)
		return ERR_FAILED;
	return ftruncate(fd, (off_t)size) ? ERR_FAILED : OK;
}

static enum status begin_file(const char *path, const struct store_file *f, struct error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	enum status st = OK;

	if (fd < 0)
		return failed(path, err);
	if (reserve(fd, f->size) != OK)
		st = failed(path, err);
	else
		st = file_write_fd(fd, path, f->head.data, f->head.len, err);
	/* Who writes the rest takes care of that. */
	if (st == OK && f->head.len == f->size && fsync(fd))
		st = failed(path, err);
	if (close(fd) && st == OK)
		st = failed(path, err);
	return st;
}

enum status store_begin(const struct store *s, struct error *err)
{
	char path[PATH_MAX];
	enum status st;

	TRY(file_make_folder(s->place, err));
	store_abort(s); /* of a run that was killed here */
	if (mkdir(s->temporary, 0777)) {
		st = failed(s->temporary, err);
		goto out;
	}
	for (int i = 0; i < CHECKPOINT_FILES; i++) {
		if (!s->files[i].there)
			continue;
		TRY(file_path(path, s->temporary, checkpoint_file_names[i], err));
		TRY(begin_file(path, &s->files[i], err));
	}
out:
	if (st != OK)
		store_abort(s);
	return st;
}

static enum status write_at(int fd, const char *path, const char *data, size_t size,
			    uint64_t at, struct error *err)
{
	while (size) {
		ssize_t n = pwrite(fd, data, size, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return failed(path, err);
		data += n;
		at += (uint64_t)n;
		size -= (size_t)n;
	}
	return OK;
}

/* Rows that are one behind the other in the file as well go at once. */
static enum status write_piece(int fd, const char *path, const struct store_file *f,
			       const struct store_piece *p, struct error *err)
{
	bool whole = p->stride == p->row_bytes;
	int64_t times = whole ? 1 : p->rows;
	size_t bytes = whole ? (size_t)p->rows * p->row_bytes : p->row_bytes;
	enum status st = OK;

	for (int64_t i = 0; i < times; i++)
		TRY(write_at(fd, path, (const char *)p->data + (size_t)i * bytes, bytes,
			     f->head.len + p->at + (uint64_t)i * p->stride, err));
out:
	return st;
}

enum status store_write(const struct store *s, const struct store_piece *pieces, size_t n,
			struct error *err)
{
	char path[PATH_MAX];
	enum status st = OK;
	int fd = -1;

	for (int part = 0; part < PART_COUNT; part++) {
		if (!s->files[part].there)
			continue;
		TRY(file_path(path, s->temporary, checkpoint_file_names[part], err));
		fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0) {
			st = failed(path, err);
			goto out;
		}
		for (size_t i = 0; i < n; i++)
			if (pieces[i].part == (enum checkpoint_part)part)
				TRY(write_piece(fd, path, &s->files[part], &pieces[i], err));
		if (fsync(fd)) {
			st = failed(path, err);
			goto out;
		}
		close(fd);
		fd = -1;
	}
out:
	if (fd >= 0)
		close(fd);
	return st;
}

enum status store_stream_open(struct store_stream *w, const struct store *s,
			      enum checkpoint_part part, struct error *err)
{
	enum status st;

	w->fd = -1;
	TRY(file_path(w->path, s->temporary, checkpoint_file_names[part], err));
	w->fd = open(w->path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (w->fd < 0 || lseek(w->fd, (off_t)s->files[part].head.len, SEEK_SET) < 0)
		st = failed(w->path, err);
out:
	return st;
}

enum status store_stream_put(const struct store_stream *w, const void *data, size_t size,
			     struct error *err)
{
	return file_write_fd(w->fd, w->path, data, size, err);
}

enum status store_stream_close(struct store_stream *w, struct error *err)
{
	enum status st = OK;

	if (w->fd < 0)
		return OK;
	if (fsync(w->fd))
		st = failed(w->path, err);
	if (close(w->fd) && st == OK)
		st = failed(w->path, err);
	w->fd = -1;
	return st;
}

static enum status sync_folder(const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum status st = OK;

	if (fd < 0)
		return failed(path, err);
	if (fsync(fd) && errno != EINVAL)
		st = failed(path, err);
	close(fd);
	return st;
}

/* Sums of the files, and last of all the one of state.json itself. */
static enum status write_state(const struct store *s, struct json *j, char sha256[SHA256_TEXT],
			       struct error *err)
{
	char path[PATH_MAX], sum[SHA256_TEXT];
	uint64_t size;
	enum status st = OK;

	json_put_int(j, "step", s->step);
	json_begin_array(j, "files");
	for (int i = 0; i < CHECKPOINT_FILES; i++) {
		const struct store_file *f = &s->files[i];

		if (!f->there)
			continue;
		TRY(file_path(path, s->temporary, checkpoint_file_names[i], err));
		TRY(sha256_of_file(path, sum, &size, f->head.len,
				   i == PART_MODEL ? sha256 : NULL, err));
		json_begin_object(j, NULL);
		json_put_string(j, "name", checkpoint_file_names[i]);
		json_put_int(j, "size", (int64_t)size);
		json_put_string(j, "sha256", sum);
		json_end_object(j);
	}
	json_end_array(j);
	json_put_string(j, "weights_sha256", sha256);
	TRY(sha256_of(j->text.data, j->text.len, sum, err));
	json_put_string(j, "sha256", sum);
	json_end_object(j);
	TRY(file_path(path, s->temporary, "state.json", err));
	TRY(json_write_file(j, path, err));
out:
	return st;
}

enum status store_finish(const struct store *s, struct json *state, int keep,
			 char sha256[SHA256_TEXT], struct error *err)
{
	char final[PATH_MAX], name[32];
	enum status st;

	snprintf(name, sizeof(name), "step-%lld", (long long)s->step);
	TRY(file_path(final, s->place, name, err));
	TRY(write_state(s, state, sha256, err));
	TRY(sync_folder(s->temporary, err));
	/* One of that step may be there, a bad one above all: it is exchanged, and goes. */
	if (rename(s->temporary, final) &&
	    renameat2(AT_FDCWD, s->temporary, AT_FDCWD, final, RENAME_EXCHANGE)) {
		st = failed(final, err);
		goto out;
	}
	TRY(sync_folder(s->place, err));
	TRY(store_point_to(s->place, s->step, err));
	store_prune(s->place, keep);
out:
	store_abort(s);
	return st;
}
