/* split.c - what is said where a layer can't be split as it is wanted; see layer.h */
#include "base/tree.h"
#include "base/util.h"
#include "model/layer.h"

#include <stdio.h>

const char *layer_split_option(const struct layer *l)
{
	return l->held > 1 ? "--as-if mp=" : "--mp ";
}

enum status layer_cannot_split(const struct layer *l, int width, const char *what,
			       struct error *err)
{
	char list[128] = "";
	int n = 0;

	for (int i = 2; i <= width && n < 90; i++)
		if (width % i == 0 && (l->held == 1 || tree_has(i)))
			n += snprintf(list + n, sizeof(list) - (size_t)n, "%s%d", n ? ", " : "",
				      i);
	FAIL(err, ERR_USAGE, "the %d %s of %s do not divide by %s%d", width, what, l->name,
	     layer_split_option(l), l->mp);
	return HINT(err, "%s%s would fit, or %lld of them", layer_split_option(l),
		    *list ? list : "1", (long long)round_up(width, l->mp));
}
