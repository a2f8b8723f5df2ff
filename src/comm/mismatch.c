/*
 * mismatch.c - what is said when ranks do not bring the same to a collective; see impl.h
 *
 * That is an error in the program, not in its input. But whoever runs it must not be left
 * with a hang or wrong numbers, and whoever mends it wants both sides.
 */
#include "comm/impl.h"

#include <stdio.h>

void comm_set_place(struct comm *world, const char *text)
{
	world->place = text;
}

/* Where a rank was, as a text that may lack its end. */
#define PLACE(text) COMM_PLACE - 1, *(text) ? (text) : "the start"

/* What is at the low end of a kind, see comm_kind; the rest moves down. */
static unsigned take_bits(uint64_t *kind, int bits)
{
	unsigned low = (unsigned)(*kind & ((1u << bits) - 1));

	*kind >>= bits;
	return low;
}

/* "broadcast of 12 F32 from rank 3, at step 3 backward 1" */
static void describe(const struct comm *c, const struct offer *o, char *buf, size_t size)
{
	uint64_t rest = o->kind;
	int root = c->members[take_bits(&rest, KIND_ROOT_BITS)];
	enum dtype dtype = (enum dtype)take_bits(&rest, KIND_DTYPE_BITS);
	enum comm_op op = (enum comm_op)take_bits(&rest, KIND_OP_BITS);
	bool in_tree = take_bits(&rest, KIND_ORDER_BITS);
	char data[64] = "", with[32] = "";

	if (op != COMM_BARRIER)
		snprintf(data, sizeof(data), " of %llu %s", (unsigned long long)rest,
			 dtype_name(dtype));
	if (comm_op_has_root(op))
		snprintf(with, sizeof(with), " %s rank %d", op == COMM_GATHER ? "to" : "from",
			 root);
	snprintf(buf, size, "%s%s%s%s, at %.*s", comm_op_name(op), data, with,
		 in_tree ? " in a tree" : "", PLACE(o->place));
}

static void say_where_to_turn(struct comm *world)
{
	HINT(&world->broken,
	     "this is an error in kolm: please report it with the command line");
}

void comm_collectives_differ(struct comm *c, struct offer a, struct offer b)
{
	struct comm *world = c->world;
	char first[160], second[160];

	if (world->broken.code != OK)
		return;
	if (b.rank < a.rank) { /* whoever finds out says the same */
		struct offer swap = a;

		a = b;
		b = swap;
	}
	describe(c, &a, first, sizeof(first));
	describe(c, &b, second, sizeof(second));
	FAIL(&world->broken, ERR_FAILED,
	     "collectives do not match: rank %d is in %s; rank %d in %s", a.rank, first, b.rank,
	     second);
	say_where_to_turn(world);
}

void comm_messages_differ(const struct comm_request *r, size_t sent)
{
	struct comm *world = r->comm->world;

	if (world->broken.code != OK)
		return;
	FAIL(&world->broken, ERR_FAILED,
	     "messages do not match: rank %d sends %zu bytes; rank %d receives %zu, at %.*s",
	     r->comm->members[r->peer], sent, world->rank, r->bytes, PLACE(r->place));
	say_where_to_turn(world);
}
