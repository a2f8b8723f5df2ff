/* source.c - see source.h */
#include "text/source.h"
#include "text/grow.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROBE = 8000, SMALL = 1 << 16 };

static int64_t changed_at(const struct stat *info)
{
	return info->st_mtim.tv_sec * INT64_C(1000000000) + info->st_mtim.tv_nsec;
}

static enum status map(struct source *s, int fd, const char *path, struct error *err)
{
	void *at = mmap(NULL, s->size, PROT_READ, MAP_PRIVATE, fd, 0);

	if (at == MAP_FAILED)
		return FAIL(err, ERR_FAILED, "can't map %s: %s", path, strerror(errno));
	madvise(at, s->size, MADV_SEQUENTIAL);
	s->at = s->map = at;
	return OK;
}

static enum status copy(struct source *s, int fd, const char *path, struct error *err)
{
	char *bytes = malloc(s->size + 1);
	ssize_t n;

	if (!bytes)
		return FAIL(err, ERR_MEMORY, "no memory for %s", path);
	s->at = s->copy = bytes;
	for (size_t done = 0; done < s->size; done += (size_t)n) {
		n = read(fd, bytes + done, s->size - done);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return FAIL(err, ERR_FAILED, "can't read %s: %s", path,
				    n ? strerror(errno) : "it became shorter");
	}
	return OK;
}

enum status source_open(struct source *s, const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat info;
	enum status st;

	*s = (struct source){.at = ""};
	if (fd < 0 || fstat(fd, &info)) {
		st = FAIL(err, ERR_USAGE, "can't read %s: %s", path, strerror(errno));
		HINT(err, "check the name and that you may read it");
	} else if (!S_ISREG(info.st_mode)) {
		st = FAIL(err, ERR_USAGE, "can't read %s: not a regular file", path);
		HINT(err, "give the name of a file of text");
	} else {
		s->size = (size_t)info.st_size;
		s->changed = changed_at(&info);
		st = s->size < SMALL ? copy(s, fd, path, err) : map(s, fd, path, err);
	}
	if (fd >= 0)
		close(fd);
	if (st != OK)
		source_close(s);
	return st;
}

void source_close(struct source *s)
{
	if (s->map)
		munmap(s->map, s->size);
	free(s->copy);
	*s = (struct source){0};
}

enum status source_check(const struct source *s, const char *path, struct error *err)
{
	struct stat info;

	if (!stat(path, &info) && (size_t)info.st_size == s->size &&
	    changed_at(&info) == s->changed)
		return OK;
	FAIL(err, ERR_FAILED, "%s changed while it was read", path);
	return HINT(err, "wait until it is written, and start again");
}

static enum status add_path(struct source_list *l, const char *path, struct error *err)
{
	enum status st;

	TRY(grow_array((void **)&l->paths, sizeof(*l->paths), l->count + 1, &l->capacity, err));
	l->paths[l->count] = strdup(path);
	if (!l->paths[l->count])
		st = FAIL(err, ERR_MEMORY, "no memory for the names of files");
	else
		l->count++;
out:
	return st;
}

static enum status is_text(const char *path, bool *is, struct error *err)
{
	struct source s;
	enum status st;

	TRY(source_open(&s, path, err));
	*is = !memchr(s.at, '\0', s.size < PROBE ? s.size : PROBE);
	source_close(&s);
out:
	return st;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static enum status add_entry(struct source_list *l, FTS *tree, FTSENT *entry, struct error *err)
{
	enum status st = OK;
	bool is = false;

	switch (entry->fts_info) {
	case FTS_D:
		if (entry->fts_level > 0 && entry->fts_name[0] == '.')
			fts_set(tree, entry, FTS_SKIP);
		break;
	case FTS_F:
		if (entry->fts_level > 0 && entry->fts_name[0] == '.')
			break;
		TRY(is_text(entry->fts_path, &is, err));
		if (is)
			TRY(add_path(l, entry->fts_path, err));
		else
			l->left_out++;
		break;
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		st = FAIL(err, ERR_USAGE, "can't read %s: %s", entry->fts_path,
			  strerror(entry->fts_errno));
		break;
	}
out:
	return st;
}

static enum status add_folder(struct source_list *l, const char *path, struct error *err)
{
	char *const roots[] = {(char *)path, NULL};
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
	size_t before = l->count;
	enum status st = OK;
	FTSENT *entry;

	if (!tree)
		return FAIL(err, ERR_USAGE, "can't read %s: %s", path, strerror(errno));
	while ((entry = fts_read(tree)))
		TRY(add_entry(l, tree, entry, err));
	if (l->count == before) {
		st = FAIL(err, ERR_USAGE, "the folder %s has no files of text", path);
		HINT(err, "hidden files, links, and files with zero bytes do not count");
	}
out:
	fts_close(tree);
	return st;
}

enum status source_list_add(struct source_list *l, const char *path, struct error *err)
{
	struct stat info;

	if (!stat(path, &info) && S_ISDIR(info.st_mode))
		return add_folder(l, path, err);
	return add_path(l, path, err);
}

void source_list_release(struct source_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->paths[i]);
	free(l->paths);
	*l = (struct source_list){0};
}
