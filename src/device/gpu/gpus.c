/* gpus.c - see gpus.h */
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

bool gpus_named(const char *spec)
{
	return is_called(spec, "gpu") || is_called(spec, gpu_opencl.name);
}

void gpus_list(struct gpus *g)
{
	*g = (struct gpus){0};
	g->count = gpu_opencl.list(g->all, g->why, sizeof(g->why));
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

void gpus_choose(struct gpus *g, const char *spec)
{
	bool gpus_only = is_called(spec, "gpu");
	int count = 0;

	for (int i = 0; i < g->count; i++)
		if (!gpus_only || !g->all[i].is_cpu)
			g->all[count++] = g->all[i];
	if (g->count && !count)
		snprintf(g->why, sizeof(g->why), "OpenCL has CPUs only");
	g->count = count;
}
