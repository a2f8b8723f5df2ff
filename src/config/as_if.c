/*
 * as_if.c - --as-if: the grid that decides about every bit, beside the one that runs; see
 * config.h
 */
#include "base/limits.h"
#include "base/tree.h"
#include "base/units.h"
#include "config/config.h"
#include "engine/sync.h"

#include <stdio.h>
#include <string.h>

static enum status bad_word(const struct config *c, const char *word, struct error *err)
{
	FAIL(err, ERR_USAGE, "--as-if %s: '%.32s' is not dp=V or mp=L, once each", c->as_if,
	     word);
	return HINT(err, "V and L are 1, 2, 4 ... %d, such as --as-if dp=4,mp=2", RANKS_MAX);
}

enum status config_read_as_if(struct config *c, struct error *err)
{
	char copy[sizeof(c->as_if)], *rest = copy, *word;

	c->as_if_dp = c->as_if_mp = 0;
	strcpy(copy, c->as_if);
	while (*c->as_if && (word = strsep(&rest, ","))) {
		int *to = !strncmp(word, "dp=", 3)   ? &c->as_if_dp
			  : !strncmp(word, "mp=", 3) ? &c->as_if_mp
						     : NULL;
		int64_t n;

		if (!to || *to || !units_parse_int(word + 3, &n) || n < 1 || n > RANKS_MAX ||
		    !tree_has((int)n))
			return bad_word(c, word, err);
		*to = (int)n;
	}
	if (*c->as_if && c->sequence_parallel) {
		FAIL(err, ERR_USAGE, "--as-if with --sequence-parallel");
		return HINT(err,
			    "which rows a norm's gradient is summed over on a rank depends "
			    "on --mp then: leave one of them out");
	}
	if (*c->as_if && c->grad_sync == SYNC_MASTER) {
		FAIL(err, ERR_USAGE, "--as-if with --grad-sync master");
		return HINT(err, "a master deals out samples by the number of replicas: use "
				 "--grad-sync ddp");
	}
	return OK;
}

static enum status check_axis(const char *name, int real, int *as_if, struct error *err)
{
	if (!*as_if)
		*as_if = real;
	if (!tree_has(*as_if)) {
		FAIL(err, ERR_USAGE, "--as-if with --%s %d, which is no power of two", name,
		     real);
		return HINT(err, "sums are taken in pairs: use 1, 2, 4 ...");
	}
	if (*as_if % real == 0)
		return OK;
	FAIL(err, ERR_USAGE, "--%s %d does not divide the %d of --as-if %s=%d", name, real,
	     *as_if, name, *as_if);
	return HINT(err,
		    "each rank has as many of them as the others: use a --%s of 1, 2, 4 "
		    "... %d",
		    name, *as_if);
}

enum status config_resolve_as_if(struct config *c, struct error *err)
{
	enum status st = OK;

	if (!*c->as_if)
		return OK;
	TRY(check_axis("dp", c->dp, &c->as_if_dp, err));
	TRY(check_axis("mp", c->mp, &c->as_if_mp, err));
	/* Whoever goes on with this on another grid goes on as if on the same. */
	snprintf(c->as_if, sizeof(c->as_if), "dp=%d,mp=%d", c->as_if_dp, c->as_if_mp);
out:
	return st;
}

static enum status not_divisible(const struct config *c, const char *what, int n,
				 struct error *err)
{
	int64_t divisor = (int64_t)c->as_if_dp * n,
		above = c->batch / divisor * divisor + divisor;

	FAIL(err, ERR_USAGE, "--batch %d does not divide into %d replicas of --as-if, of %d %s",
	     c->batch, c->as_if_dp, n, what);
	return HINT(err, "--batch %lld would", (long long)above);
}

/* A run is what its replicas would do if there were all of them: --micro-batches is of each of
   those, and their size is what does not change with the grid. */
enum status config_resolve_batch_as_if(struct config *c, struct error *err)
{
	enum option_source m = options_source(&c->values, "micro-batches");
	bool counted = !c->micro_batch_size ||
		       (m == SOURCE_COMMAND_LINE &&
			options_source(&c->values, "micro-batch-size") == SOURCE_FILE);
	int64_t per = (int64_t)c->as_if_dp * c->micro_batches;

	if (counted && c->batch % per)
		return not_divisible(c, "micro-batches", c->micro_batches, err);
	if (counted)
		c->micro_batch_size = (int)(c->batch / per);
	if (c->batch % ((int64_t)c->as_if_dp * c->micro_batch_size))
		return not_divisible(c, "samples per micro-batch", c->micro_batch_size, err);
	if (m == SOURCE_COMMAND_LINE && per * c->micro_batch_size != c->batch &&
	    (int64_t)c->dp * c->micro_batches * c->micro_batch_size != c->batch) {
		FAIL(err, ERR_USAGE,
		     "--batch %d contradicts %d replicas of --as-if, of %d micro-batches of %d",
		     c->batch, c->as_if_dp, c->micro_batches, c->micro_batch_size);
		return HINT(err, "leave out --micro-batches or --micro-batch-size");
	}
	c->micro_batches = c->batch / (c->dp * c->micro_batch_size);
	return OK;
}
