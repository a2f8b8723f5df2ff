/* batch.c - batch = dp * micro-batches * their size; see config.h */
#include "config/config.h"
#include "base/limits.h"

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

/*
 * batch = dp * M * S: two of batch, M and S give the third. Where all three are given and
 * contradict each other, what the command line says beats what a file says.
 */
enum status config_resolve_batch(struct config *c, struct error *err)
{
	enum option_source batch = options_source(&c->values, "batch");
	enum option_source m = options_source(&c->values, "micro-batches");
	enum option_source s = options_source(&c->values, "micro-batch-size");
	bool use_size = c->micro_batch_size > 0;
	int64_t product;

	if (c->as_if_dp)
		return config_resolve_batch_as_if(c, err);
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
