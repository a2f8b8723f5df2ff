/* gpus.c - see gpus.h */
#include "cmd/gpus.h"
#include "device/gpus.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status gpus_resolve(char *device, size_t size, bool will_fork, struct error *err)
{
	bool is_auto = !strcmp(device, "auto");
	struct gpus there;

	if (!is_auto && !gpus_named(device))
		return OK;
	(will_fork ? gpus_ask : gpus_list)(&there);
	gpus_choose(&there, is_auto ? "gpu" : device);
	if (!is_auto)
		return gpus_check(device, &there, err);
	snprintf(device, size, "%s", there.count ? "gpu" : "cpu");
	return OK;
}

const char *gpus_cache(void)
{
	static char path[PATH_MAX];
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n = -1;

	if (cache && *cache == '/')
		n = snprintf(path, sizeof(path), "%s/kolm", cache);
	else if (home && *home == '/')
		n = snprintf(path, sizeof(path), "%s/.cache/kolm", home);
	return n > 0 && n < (int)sizeof(path) ? path : NULL;
}
