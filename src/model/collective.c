/* collective.c - see collective.h */
#include "model/collective.h"

#include <stdlib.h>

enum status collective_introduce(struct device *dev, struct comm *world,
				 struct device_card **cards, struct error *err)
{
	struct device_card *all;
	int n = comm_size(world);
	enum status st;

	*cards = NULL;
	TRY(comm_alloc(world, (size_t)n * sizeof(*all), (void **)&all, err));
	device_introduce(dev, &all[comm_rank(world)]);
	TRY(comm_run(world, COMM_ALLGATHER, all, (size_t)n * sizeof(*all), DTYPE_BYTE, 0, err));
	device_compare(all, n);
	*cards = all;
out:
	return st;
}

enum status collective_join(struct device *dev, struct comm *world, struct comm *group,
			    const struct device_card *cards, enum device_queue queue,
			    struct device_group **out, char *why, size_t size,
			    struct error *err)
{
	int n = comm_size(group);
	const struct device_card **members = calloc((size_t)n, sizeof(*members));
	struct device_ticket *ticket = NULL;
	enum status st = OK;

	*out = NULL;
	if (!members)
		return FAIL(err, ERR_MEMORY, "no memory for a group of %d devices", n);
	for (int i = 0; i < n; i++)
		members[i] = &cards[comm_world_rank(group, i)];
	if (!device_may_join(members, n, why, size))
		goto out;
	TRY(comm_alloc(world, sizeof(*ticket), (void **)&ticket, err));
	if (comm_rank(group) == 0)
		TRY(device_found(dev, ticket, err));
	TRY(comm_run(group, COMM_BROADCAST, ticket, sizeof(*ticket), DTYPE_BYTE, 0, err));
	TRY(device_join(dev, ticket, n, comm_rank(group), queue, out, err));
out:
	comm_give_back(world, ticket);
	free(members);
	return st;
}

/* Where the members' devices reach each other, unless sums have an order that is not theirs. */
static bool goes_beside(const struct comm *group, enum comm_op op)
{
	bool sums = op == COMM_ALLREDUCE || op == COMM_REDUCE_SCATTER;

	return comm_devices(group) && op != COMM_BARRIER &&
	       (!sums || comm_order(group) == COMM_IN_RANK_ORDER);
}

static void begin_beside(struct collective *c, struct comm *group, enum comm_op op, size_t n,
			 enum dtype type)
{
	static const enum exchange_kind kinds[COMM_OP_COUNT] = {
		[COMM_ALLREDUCE] = EXCHANGE_ALLREDUCE,
		[COMM_REDUCE_SCATTER] = EXCHANGE_REDUCE_SCATTER,
		[COMM_ALLGATHER] = EXCHANGE_ALLGATHER,
		[COMM_BROADCAST] = EXCHANGE_BROADCAST,
		[COMM_SCATTER] = EXCHANGE_SCATTER,
		[COMM_GATHER] = EXCHANGE_GATHER,
	};
	int64_t stamps[2];

	c->request = (struct comm_request){
		.kind = REQUEST_COLLECTIVE, .comm = group, .op = op, .n = n, .dtype = type};
	c->over = device_exchange(
		comm_devices(group),
		&(struct device_exchange){
			.kind = kinds[op], .data = c->data, .n = n, .type = type},
		stamps);
	comm_note_beside(&c->request, stamps);
}

void collective_begin(struct collective *c, struct device *dev, struct comm *group,
		      enum comm_op op, void *data, size_t n, enum dtype type)
{
	void *host;

	c->under_way = true;
	c->dev = dev;
	c->data = data;
	c->bytes = n * dtype_size(type);
	c->is_beside = goes_beside(group, op);
	if (c->is_beside) {
		begin_beside(c, group, op, n, type);
		return;
	}
	device_await(dev, QUEUE_SEND, device_mark(dev, QUEUE_COMPUTE));
	host = device_host_begin(dev, QUEUE_SEND, data, c->bytes, HOST_READS_WRITES);
	comm_start(group, op, host, n, type, 0, &c->request);
}

enum status collective_end(struct collective *c, struct error *err)
{
	int64_t begin;
	enum status st;

	if (!c->under_way)
		return OK;
	c->under_way = false;
	if (c->is_beside) {
		begin = comm_begin_beside(&c->request);
		device_await(c->dev, QUEUE_COMPUTE, c->over);
		comm_end_beside(&c->request, begin);
		return OK;
	}
	TRY(comm_wait(&c->request, err));
	device_host_end(c->dev, QUEUE_SEND, c->data, c->bytes, HOST_READS_WRITES);
	device_await(c->dev, QUEUE_COMPUTE, device_mark(c->dev, QUEUE_SEND));
out:
	return st;
}

enum status collective_run(struct device *dev, struct comm *group, enum comm_op op, void *data,
			   size_t n, enum dtype type, struct error *err)
{
	struct collective c;

	collective_begin(&c, dev, group, op, data, n, type);
	return collective_end(&c, err);
}
