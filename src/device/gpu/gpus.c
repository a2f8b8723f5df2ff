/* gpus.c - see gpus.h */
#include "base/util.h"
#include "device/gpu/driver.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* "name" or "name:..." */
static bool is_called(const char *spec, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(spec, name, n) && (!spec[n] || spec[n] == ':');
}

#define DRIVER(name) &gpu_##name,
static const struct gpu_driver *const drivers[] = {GPU_DRIVERS(DRIVER)};
_Static_assert(ARRAY_SIZE(drivers) == GPU_DRIVER_COUNT, "gpus.h");

bool gpus_named(const char *spec)
{
	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++)
		if (is_called(spec, drivers[i]->name))
			return true;
	return is_called(spec, "gpu");
}

void gpus_list(struct gpus *g)
{
	*g = (struct gpus){0};
	for (int i = 0; i < GPU_DRIVER_COUNT; i++) {
		struct gpu_info found[GPU_DEVICES];
		int n = drivers[i]->list(found, g->whys[i], sizeof(g->whys[i]));

		n = imin(n, GPU_DEVICES - g->count);
		memcpy(g->all + g->count, found, (size_t)n * sizeof(*found));
		g->count += n;
	}
	/* What most people have not is said last. */
	snprintf(g->why, sizeof(g->why), "%.150s; %.150s", g->whys[1], g->whys[0]);
}

static bool move_all(int fd, char *data, size_t size, bool reads)
{
	while (size > 0) {
		ssize_t n = reads ? read(fd, data, size) : write(fd, data, size);

		if (n == 0 || (n < 0 && errno != EINTR))
			return false;
		data += n > 0 ? n : 0;
		size -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

void gpus_ask(struct gpus *g)
{
	int ends[2], status;
	bool answered = false;
	pid_t child;

	*g = (struct gpus){0};
	snprintf(g->why, sizeof(g->why), "the drivers of this machine could not be asked");
	if (pipe(ends))
		return;
	fflush(NULL); /* what waits there is the parent's */
	child = fork();
	if (child == 0) {
		gpus_list(g);
		_exit(!move_all(ends[1], (char *)g, sizeof(*g), false));
	}
	close(ends[1]);
	if (child > 0) {
		struct gpus said;

		answered = move_all(ends[0], (char *)&said, sizeof(said), true);
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		if (answered)
			*g = said;
		else
			snprintf(g->why, sizeof(g->why),
				 "a driver of this machine fails as soon as it is asked");
	}
	close(ends[0]);
}

/* Does the name count it? */
static bool is_meant(const char *spec, const struct gpu_info *i)
{
	if (is_called(spec, "gpu"))
		return !i->is_cpu;
	return is_called(spec, i->driver);
}

void gpus_choose(struct gpus *g, const char *spec)
{
	bool any = is_called(spec, "gpu");
	int count = 0;

	for (int i = 0; i < g->count; i++)
		if (is_meant(spec, &g->all[i]) &&
		    (!any || !count || !strcmp(g->all[i].driver, g->all[0].driver)))
			g->all[count++] = g->all[i];
	for (int i = 0; i < GPU_DRIVER_COUNT; i++)
		if (is_called(spec, drivers[i]->name))
			snprintf(g->why, sizeof(g->why), "%s", g->whys[i]);
	if (g->count && any)
		snprintf(g->why, sizeof(g->why), "OpenCL has CPUs only; %s", g->whys[0]);
	g->count = count;
}
