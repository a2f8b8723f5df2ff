/* room.c - see room.h */
#include "base/room.h"
#include "base/file.h"
#include "base/units.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { TIGHT = 16 << 20 };

/* ---- limits of the process ---- */

static const struct {
	char option;
	int resource, unit; /* of the number that ulimit shows */
} ulimits[] = {
	[ROOM_ADDRESSES] = {'v', RLIMIT_AS, 1024},
	[ROOM_OWN] = {'d', RLIMIT_DATA, 1024},
	[ROOM_FILE] = {'f', RLIMIT_FSIZE, 1024},
};

/* Bytes in use, as /proc/self/statm has them in pages: size resident shared text lib data. */
static uint64_t in_use(enum room_kind kind)
{
	FILE *f = kind == ROOM_FILE ? NULL : fopen("/proc/self/statm", "re");
	unsigned long long size, data;
	bool ok = f && fscanf(f, "%llu %*u %*u %*u %*u %llu", &size, &data) == 2;

	if (f)
		fclose(f);
	if (!ok)
		return 0;
	return (kind == ROOM_OWN ? data : size) * (uint64_t)sysconf(_SC_PAGE_SIZE);
}

static struct room room_of_process(enum room_kind kind)
{
	struct room room = {.free = UINT64_MAX};
	uint64_t used = in_use(kind);
	char limit[32], have[32];
	struct rlimit r;

	if (getrlimit((unsigned)ulimits[kind].resource, &r) || r.rlim_cur == RLIM_INFINITY)
		return room;
	room.free = r.rlim_cur > used ? r.rlim_cur - used : 0;
	units_format_size(r.rlim_cur, limit, sizeof(limit));
	units_format_size(used, have, sizeof(have));
	snprintf(room.why, sizeof(room.why), "'ulimit -%c %llu' allows %s%s%s%s",
		 ulimits[kind].option, (unsigned long long)r.rlim_cur / ulimits[kind].unit,
		 limit, used ? ", of which " : "", used ? have : "", used ? " are in use" : "");
	return room;
}

/* ---- free memory ---- */

static bool read_number(const char *folder, const char *name, unsigned long long *out)
{
	char path[PATH_MAX];
	FILE *f = file_path(path, folder, name, NULL) == OK ? fopen(path, "re") : NULL;
	bool ok = f && fscanf(f, "%llu", out) == 1; /* "max": there is no limit */

	if (f)
		fclose(f);
	return ok;
}

/* The number behind a word in a file of such lines; 0 if there is none. */
static unsigned long long find_number(const char *folder, const char *file, const char *word)
{
	char path[PATH_MAX];
	FILE *f = file_path(path, folder, file, NULL) == OK ? fopen(path, "re") : NULL;
	unsigned long long value, found = 0;
	char line[256], name[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%127s %llu", name, &value) == 2 && !strcmp(name, word))
			found = value;
	if (f)
		fclose(f);
	return found;
}

/* Memory that is used for files gives way. */
static void look_at_cgroup(const char *folder, bool second, struct room *room)
{
	const char *name = second ? "memory.max" : "memory.limit_in_bytes";
	unsigned long long limit, cache, used = 0;
	char size[32], have[32];

	if (!read_number(folder, name, &limit))
		return;
	read_number(folder, second ? "memory.current" : "memory.usage_in_bytes", &used);
	cache = find_number(folder, "memory.stat",
			    second ? "inactive_file" : "total_inactive_file");
	used = used > cache ? used - cache : 0;
	used = used < limit ? used : limit;
	if (limit - used >= room->free)
		return;
	room->free = limit - used;
	units_format_size(limit, size, sizeof(size));
	units_format_size(used, have, sizeof(have));
	snprintf(room->why, sizeof(room->why), "%.120s/%s allows %s, of which %s are in use",
		 folder, name, size, have);
}

/* From its own cgroup up to the first; in a container the path may be one of outside. */
static void walk_up(const char *mount, char *path, bool second, struct room *room)
{
	char folder[PATH_MAX];

	for (;;) {
		char *slash = strrchr(path, '/');

		if (file_path(folder, mount, path, NULL) == OK)
			look_at_cgroup(folder, second, room);
		if (!slash)
			return;
		*slash = '\0';
	}
}

struct room room_of_cgroups(const char *mount, const char *list)
{
	struct room room = {.free = UINT64_MAX};
	FILE *f = fopen(list, "re");
	char line[PATH_MAX], first[PATH_MAX] = "";

	file_path(first, mount, "memory", NULL);
	while (f && fgets(line, sizeof(line), f)) {
		char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		path += *path == '/';
		if (!names[1])
			walk_up(mount, path, true, &room);
		else if (!strcmp(names + 1, "memory"))
			walk_up(first, path, false, &room);
	}
	if (f)
		fclose(f);
	return room;
}

static struct room room_of_machine(void)
{
	struct room room = room_of_cgroups("/sys/fs/cgroup", "/proc/self/cgroup");
	unsigned long long kib = find_number("/proc", "meminfo", "MemAvailable:");
	char size[32];

	if (!kib) /* it won't say */
		return room;
	kib += find_number("/proc", "meminfo", "SwapFree:");
	if (kib * 1024 < room.free) {
		room.free = kib * 1024;
		units_format_size(room.free, size, sizeof(size));
		snprintf(room.why, sizeof(room.why), "this machine has %s free", size);
	}
	return room;
}

struct room room_of(enum room_kind kind)
{
	return kind == ROOM_MEMORY ? room_of_machine() : room_of_process(kind);
}

enum status room_check(enum room_kind kind, uint64_t bytes, const char *what, struct error *err)
{
	struct room room = room_of(kind);
	char need[32];

	if (bytes <= room.free)
		return OK;
	units_format_size(bytes, need, sizeof(need));
	return FAIL(err, ERR_MEMORY, "%s %s, but %s", what, need, room.why);
}

void room_tightest(char *buf, size_t size)
{
	buf[0] = '\0';
	for (int kind = ROOM_ADDRESSES; kind <= ROOM_OWN; kind++) {
		struct room room = room_of((enum room_kind)kind);

		if (room.free < TIGHT)
			snprintf(buf, size, "%s", room.why);
	}
}
