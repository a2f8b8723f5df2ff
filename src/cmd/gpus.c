/* gpus.c - see gpus.h */
#include "cmd/gpus.h"
#include "device/gpus.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Asked once, as no command lives to see others. */
static const struct gpus *ask_once(void)
{
	static struct gpus there;
	static bool is_known;

	if (!is_known)
		gpus_ask(&there);
	is_known = true;
	return &there;
}

int gpus_count(const char *device)
{
	bool is_auto = !strcmp(device, "auto");
	struct gpus there;

	if (!is_auto && !gpus_named(device))
		return 0;
	if (strchr(device, ':')) /* one of them */
		return 1;
	there = *ask_once();
	gpus_choose(&there, is_auto ? "gpu" : device);
	return there.count;
}

enum status gpus_resolve(char *device, size_t size, bool will_fork, struct error *err)
{
	bool is_auto = !strcmp(device, "auto");
	struct gpus there;
	enum status st = OK;

	if (!is_auto && !gpus_named(device))
		return OK;
	if (will_fork)
		there = *ask_once();
	else
		gpus_list(&there);
	gpus_choose(&there, is_auto ? "gpu" : device);
	if (!is_auto)
		TRY(gpus_check(device, &there, err));
	if (is_auto)
		snprintf(device, size, "%s", there.count ? "gpu" : "cpu");
	/* From here on it is known which driver that is: what is planned depends on it. */
	if (!strncmp(device, "gpu", 3) && !strcmp(there.all[0].driver, "cuda")) {
		char rest[32];

		snprintf(rest, sizeof(rest), "%.31s", device + 3);
		snprintf(device, size, "cuda%s", rest);
	}
out:
	return st;
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
