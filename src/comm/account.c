/* account.c - what requests leave in the records, and whose time waiting is; see impl.h */
#include "comm/impl.h"
#include "base/util.h"

void comm_observe(struct comm *world, struct pace *pace, struct records *records)
{
	world->pace = pace;
	world->records = records;
}

void comm_set_stamp(struct comm *world, int64_t (*stamp)(void *arg), void *arg)
{
	world->stamp = stamp;
	world->stamp_arg = arg;
}

void comm_set_chores(struct comm *world, bool (*chores)(void *arg), void *arg)
{
	world->chores = chores;
	world->chores_arg = arg;
}

struct comm_times comm_times(const struct comm *world)
{
	return world->times;
}

struct comm_traffic comm_traffic(const struct comm *world)
{
	return world->traffic;
}

struct comm_traffic comm_op_traffic(enum comm_op op, size_t n, int size, int member, int root)
{
	int64_t all = (int64_t)n, others = size - 1;
	int64_t own = part_begin(all, member + 1, size) - part_begin(all, member, size);
	bool is_root = member == root;

	switch (op) {
	case COMM_ALLREDUCE: /* a slice is summed here, and goes to everybody */
		return (struct comm_traffic){others * own + all - own,
					     others * own + all - own};
	case COMM_REDUCE_SCATTER:
		return (struct comm_traffic){others * own, all - own};
	case COMM_ALLGATHER:
		return (struct comm_traffic){all - own, others * own};
	case COMM_BROADCAST:
		return (struct comm_traffic){is_root ? 0 : all, is_root ? others * all : 0};
	case COMM_SCATTER:
		return (struct comm_traffic){is_root ? 0 : own, is_root ? all - own : 0};
	case COMM_GATHER:
		return (struct comm_traffic){is_root ? all - own : 0, is_root ? 0 : own};
	case COMM_BARRIER:
		break;
	}
	return (struct comm_traffic){0, 0};
}

void comm_count(struct comm *world, const struct comm_request *r)
{
	struct comm_traffic t = {r->kind == REQUEST_RECEIVE, r->kind == REQUEST_SEND};
	int64_t bytes = (int64_t)r->bytes;

	if (r->kind == REQUEST_COLLECTIVE) {
		t = comm_op_traffic(r->op, r->n, r->comm->size, r->comm->rank, r->root);
		bytes = (int64_t)dtype_size(r->dtype);
	}
	world->traffic.in += t.in * bytes;
	world->traffic.out += t.out * bytes;
}

static struct record record_of(const struct comm_request *r)
{
	static const enum record_kind kinds[] = {[REQUEST_SEND] = RECORD_SEND,
						 [REQUEST_RECEIVE] = RECORD_RECEIVE,
						 [REQUEST_COLLECTIVE] = RECORD_COLLECTIVE};
	bool message = r->kind != REQUEST_COLLECTIVE;

	return (struct record){
		.begin = r->posted,
		.ready = r->ready,
		.bytes = (int64_t)(message ? r->bytes : r->n * dtype_size(r->dtype)),
		.sequence = r->sequence,
		.kind = (int16_t)kinds[r->kind],
		.op = (int16_t)(message ? r->channel : (int)r->op),
		.peer = (int16_t)r->comm->members[message ? r->peer : 0],
		.size = (int16_t)(message ? 2 : r->comm->size),
		.purpose = (int16_t)r->comm->purpose,
		.micro_batch = -1,
	};
}

/* A transfer, from when its data could have moved until it is over. */
void comm_record_end(const struct comm *world, const struct comm_request *r)
{
	struct record what;

	if (!world->records || !world->records->capacity)
		return;
	what = record_of(r);
	what.end = r->carried ? r->carried : pace_now(world->pace);
	if (r->ready > what.begin && r->ready < what.end)
		what.begin = r->ready;
	if (what.end < what.begin) /* links had carried it before anybody wanted it */
		what.end = what.begin;
	records_add(world->records, &what);
}

int64_t comm_moment(const struct comm *world)
{
	return world->stamp ? world->stamp(world->stamp_arg) : pace_now(world->pace);
}

static void record_wait(const struct comm *world, const struct comm_request *r, int64_t begin,
			int64_t end)
{
	struct record what = record_of(r);

	what.of = what.kind;
	what.kind = RECORD_WAIT;
	what.begin = begin;
	what.end = end;
	what.stamped = world->stamp != NULL;
	records_add(world->records, &what);
}

/* Until the last partner has come, the rank has lost its time; from then on it is the
   transfer's. */
void comm_account(struct comm *world, const struct comm_request *r, int64_t begin)
{
	int64_t end = comm_moment(world), met = r->ready < begin ? begin : r->ready;

	if (world->stamp) { /* whose time it was is known when stamps are */
		record_wait(world, r, begin, end);
		return;
	}
	if (met > end)
		met = end;
	world->times.lost += met - begin;
	world->times.busy += end - met;
	if (end != begin && world->records && world->records->capacity)
		record_wait(world, r, begin, end);
}

void comm_note_beside(const struct comm_request *r, const int64_t stamps[2])
{
	struct comm *world = r->comm->world;
	struct record what = record_of(r);

	comm_count(world, r);
	if (!world->stamp || !stamps)
		return;
	what.begin = stamps[0];
	what.end = stamps[1];
	what.stamped = true;
	records_add(world->records, &what);
}

int64_t comm_begin_beside(const struct comm_request *r)
{
	return comm_moment(r->comm->world);
}

void comm_end_beside(const struct comm_request *r, int64_t begin)
{
	const struct comm *world = r->comm->world;

	if (world->stamp)
		record_wait(world, r, begin, comm_moment(world));
}
