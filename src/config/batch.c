/* batch.c - batch = dp * micro-batches * their size; see config.h */
#include "config/config.h"
#include "base/limits.h"
#include "base/util.h"

#include <limits.h>

/* The nearest value of at most, and of at least, batch that a divisor divides. */
static enum status not_divisible(const struct config *c, int64_t divisor, int m,
				 const char *what, struct error *err)
{
	int64_t below = c->batch / divisor * divisor, above = below + divisor;

	if (c->dp > 1)
		FAIL(err, ERR_USAGE, "--batch %d does not divide into %d replicas of %d %s",
		     c->batch, c->dp, m, what);
	else
		FAIL(err, ERR_USAGE, "--batch %d does not divide into %d %s", c->batch, m,
		     what);
	if (below)
		return HINT(err, "--batch %lld or %lld would", (long long)below,
			    (long long)above);
	return HINT(err, "--batch %lld would", (long long)above);
}

/* Rows are counted in an int, of all replicas too. */
int config_batch_max(const struct config *c)
{
	return config_is_language(c) ? imin(BATCH_MAX, INT_MAX / c->context) : BATCH_MAX;
}

static enum status check_rows(const struct config *c, struct error *err)
{
	if (c->batch <= config_batch_max(c))
		return OK;
	FAIL(err, ERR_USAGE,
	     "--batch %d of --context %d are %lld tokens of a step, at most %d can be",
	     c->batch, c->context, (long long)c->batch * c->context, INT_MAX);
	return HINT(err, "--batch %d is the most", config_batch_max(c));
}

/*
 * batch = dp * M * S: two of batch, M and S give the third. Where all three are given and
 * contradict each other, what the command line says beats what a file says.
 */
static enum status resolve(struct config *c, struct error *err)
{
	enum option_source batch = options_source(&c->values, "batch");
	enum option_source m = options_source(&c->values, "micro-batches");
	enum option_source s = options_source(&c->values, "micro-batch-size");
	bool use_size = c->micro_batch_size > 0;
	int64_t product;

	/* A file has all three: what changed on the command line makes the size follow. */
	if (use_size && s == SOURCE_FILE && m != SOURCE_DEFAULT &&
	    (batch > s || m > s || options_source(&c->values, "dp") > s))
		use_size = false;
	if (!use_size) {
		product = (int64_t)c->dp * c->micro_batches;
		if (c->batch % product)
			return not_divisible(c, product, c->micro_batches, "micro-batches",
					     err);
		c->micro_batch_size = (int)(c->batch / product);
		return OK;
	}
	if (m == SOURCE_DEFAULT || (m < s && batch >= m)) {
		product = (int64_t)c->dp * c->micro_batch_size;
		if (c->batch % product)
			return not_divisible(c, product, c->micro_batch_size,
					     "samples per micro-batch", err);
		c->micro_batches = (int)(c->batch / product);
		return OK;
	}
	product = (int64_t)c->dp * c->micro_batches * c->micro_batch_size;
	if (product > BATCH_MAX)
		return FAIL(err, ERR_USAGE,
			    "%d replicas of %d micro-batches of %d samples exceed %d samples",
			    c->dp, c->micro_batches, c->micro_batch_size, BATCH_MAX);
	if (batch != SOURCE_DEFAULT && (batch >= m || batch >= s) && c->batch != product) {
		FAIL(err, ERR_USAGE,
		     "--batch %d contradicts --dp %d times --micro-batches %d times "
		     "--micro-batch-size %d",
		     c->batch, c->dp, c->micro_batches, c->micro_batch_size);
		return HINT(err, "leave one of them out, or use --batch %d", (int)product);
	}
	c->batch = (int)product;
	return OK;
}

enum status config_resolve_batch(struct config *c, struct error *err)
{
	enum status st;

	TRY(c->as_if_dp ? config_resolve_batch_as_if(c, err) : resolve(c, err));
	TRY(check_rows(c, err));
out:
	return st;
}
