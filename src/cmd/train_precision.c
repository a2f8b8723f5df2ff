/*
 * train_precision.c - what --precision auto is: bf16 where it is faster, which is where the
 * device of every rank multiplies it by instructions of its own; otherwise fp32. See training.h
 */
#include "cmd/training.h"

#include <stdio.h>
#include <stdlib.h>

static enum status ask_device(const struct training *t, bool *multiplies, struct error *err)
{
	struct device_options options = {.kernels = getenv("KOLM_CPU"),
					 .threads = 1,
					 .ranks = grid_size(&t->grid),
					 .plan = true};
	struct device *dev = NULL;
	enum status st;

	TRY(device_open(&dev, t->config.device, &options, err));
	*multiplies = device_multiplies(dev, DTYPE_BF16);
out:
	device_close(dev);
	return st;
}

/* Of a job whose machines may differ: the first rank that can't, or -1. */
static enum status find_lacking(const struct rank *r, bool own, int *lacking, struct error *err)
{
	unsigned char *all = NULL;
	enum status st;

	*lacking = -1;
	TRY(comm_alloc(r->world, (size_t)r->ranks, (void **)&all, err));
	all[r->number] = own;
	TRY(comm_run(r->world, COMM_ALLGATHER, all, (size_t)r->ranks, DTYPE_BYTE, 0, err));
	for (int i = r->ranks - 1; i >= 0; i--)
		if (!all[i])
			*lacking = i;
out:
	comm_give_back(r->world, all);
	return st;
}

/* What auto is where this rank lacks it, or nobody (-1), and why. */
static void choose(struct training *t, int lacking)
{
	char *why = t->precision_reason, whose[32] = "";

	t->config.precision = lacking < 0 ? DTYPE_BF16 : DTYPE_F32;
	if (lacking >= 0 && t->rank)
		snprintf(whose, sizeof(whose), " of rank %d", lacking);
	if (lacking < 0)
		snprintf(why, sizeof(t->precision_reason), "since the device multiplies it");
	else
		snprintf(why, sizeof(t->precision_reason),
			 "since the device%s is not known to multiply bf16", whose);
}

enum status training_choose_precision(struct training *t, struct error *err)
{
	const struct config *c = &t->config;
	bool multiplies;
	int lacking;
	enum status st = OK;

	if (c->precision_kept)
		snprintf(t->precision_reason, sizeof(t->precision_reason),
			 "that of the checkpoint");
	/* In a job everybody takes part: whether all want the same is seen later. */
	if (c->precision != PRECISION_AUTO && !t->rank)
		return OK;
	TRY(ask_device(t, &multiplies, err));
	lacking = multiplies ? -1 : 0;
	if (t->rank)
		TRY(find_lacking(t->rank, multiplies, &lacking, err));
	if (c->precision == PRECISION_AUTO)
		choose(t, lacking);
out:
	return st;
}
