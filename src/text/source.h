/* source.h - files of text, mapped and never read whole, and finding them below a folder. */
#ifndef KOLM_TEXT_SOURCE_H
#define KOLM_TEXT_SOURCE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Begins as {0}. A small file is a copy, so that any number of them can be open at once. */
struct source {
	const char *at;
	size_t size;
	int64_t changed;  /* ns since 1970 */
	void *map, *copy; /* one of them */
};

/* A regular file. */
enum status source_open(struct source *s, const char *path, struct error *err);
void source_close(struct source *s);
/* Fails if somebody has changed it since. */
enum status source_check(const struct source *s, const char *path, struct error *err);

/* Names of files. Begins as {0}. */
struct source_list {
	char **paths;
	size_t count, capacity;
	size_t left_out; /* files of folders that are no text */
};

/*
 * Add a file; or, of a folder and those below it, every regular file in the order of the names
 * (byte by byte), but for hidden ones, links, and what is no text: files with a zero byte among
 * the first 8,000, as git has it.
 */
enum status source_list_add(struct source_list *l, const char *path, struct error *err);
void source_list_release(struct source_list *l);

#endif
