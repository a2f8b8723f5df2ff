/* account.c - what requests leave in the records, and whose time waiting is; see impl.h */
#include "comm/impl.h"

void comm_observe(struct comm *world, struct pace *pace, struct records *records)
{
	world->pace = pace;
	world->records = records;
}

struct comm_times comm_times(const struct comm *world)
{
	return world->times;
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

/* Until the last partner has come, the rank has lost its time; from then on it is the
   transfer's. */
void comm_account(struct comm *world, const struct comm_request *r, int64_t begin)
{
	int64_t end = pace_now(world->pace), met = r->ready < begin ? begin : r->ready;
	struct record what;

	if (met > end)
		met = end;
	world->times.lost += met - begin;
	world->times.busy += end - met;
	if (end == begin || !world->records || !world->records->capacity)
		return;
	what = record_of(r);
	what.of = what.kind;
	what.kind = RECORD_WAIT;
	what.begin = begin;
	what.end = end;
	records_add(world->records, &what);
}
