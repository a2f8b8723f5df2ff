/*
 * gpu_cache.c - what is worth keeping from run to run: built programs, and how products are
 * cut. The folder is the caller's; without one, or if it can't be written to, nothing is kept.
 */
#include "base/file.h"
#include "device/gpu/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 64 << 20 };

/* Of one device, one driver and one name only. */
static uint64_t hash(uint64_t h, const char *s)
{
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3;
	return (h ^ 0xff) * 0x100000001b3; /* where one ends and the next begins */
}

static enum status path_of(const struct gpu *g, const char *name, char path[PATH_MAX],
			   struct error *err)
{
	uint64_t h = 0xcbf29ce484222325;
	char file[64];

	h = hash(h, g->info.driver);
	h = hash(h, g->info.name);
	h = hash(h, g->info.version);
	h = hash(h, name);
	snprintf(file, sizeof(file), "gpu-%016llx", (unsigned long long)h);
	return file_path(path, g->cache, file, err);
}

void *gpu_cache_read(const struct gpu *g, const char *name, size_t *size)
{
	struct error err = {0};
	char path[PATH_MAX], *data = NULL;

	*size = 0;
	if (!g->cache || path_of(g, name, path, &err) != OK ||
	    file_read(path, LARGEST, &data, size, &err) != OK)
		return NULL;
	return data;
}

void gpu_cache_write(const struct gpu *g, const char *name, const void *data, size_t size)
{
	struct error err = {0};
	char path[PATH_MAX];

	if (g->cache && size && file_make_folder(g->cache, &err) == OK &&
	    path_of(g, name, path, &err) == OK)
		file_write_whole(path, data, size, &err);
}
