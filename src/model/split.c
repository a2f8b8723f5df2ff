/* split.c - what is said where a layer can't be split as it is wanted; see layer.h */
#include "base/tree.h"
#include "base/util.h"
#include "model/layer.h"

#include <stdio.h>

const char *layer_split_option(int held)
{
	return held > 1 ? "--as-if mp=" : "--mp ";
}

const char *layer_split_list(int width, int held, char list[SPLIT_LIST])
{
	int n = 0;

	for (int i = 2; i <= width && n < SPLIT_LIST - 30; i++)
		if (width % i == 0 && (held == 1 || tree_has(i)))
			n += snprintf(list + n, SPLIT_LIST - (size_t)n, "%s%d", n ? ", " : "",
				      i);
	return n ? list : "1";
}

enum status layer_cannot_split(const struct layer *l, int width, const char *what,
			       struct error *err)
{
	const char *option = layer_split_option(l->held);
	char list[SPLIT_LIST];

	FAIL(err, ERR_USAGE, "the %d %s of %s do not divide by %s%d", width, what, l->name,
	     option, l->mp);
	return HINT(err, "%s%s would fit, or %lld of them", option,
		    layer_split_list(width, l->held, list), (long long)round_up(width, l->mp));
}
