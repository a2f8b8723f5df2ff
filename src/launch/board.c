/* board.c - see board.h */
#include "launch/board.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

_Static_assert(sizeof(struct board_rank) <= SHM_PAGE, "a board has its place there");

struct board_rank *board_of(struct shm_memory *memory, int rank)
{
	return shm_page(memory, rank);
}

void rank_at(struct rank *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->board->at, sizeof(r->board->at), fmt, ap);
	va_end(ap);
	atomic_fetch_add_explicit(&r->board->beats, 1, memory_order_relaxed);
}

int rank_stop(const struct rank *r)
{
	return atomic_load_explicit(r->stop, memory_order_relaxed);
}

bool rank_asked(const struct rank *r)
{
	return atomic_load_explicit(&r->board->asked, memory_order_relaxed);
}

void rank_answered(struct rank *r)
{
	atomic_store_explicit(&r->board->asked, false, memory_order_relaxed);
}

void board_name(const struct launch *l, int rank, const char *host, char *buf, size_t size)
{
	char place[64] = "", here[64] = "this machine";

	gethostname(here, sizeof(here) - 1);
	if (l->grid)
		grid_describe(l->grid, rank, place, sizeof(place));
	snprintf(buf, size, "rank %d of %d%s%s%s on %s", rank, l->ranks, *place ? " (" : "",
		 place, *place ? ")" : "", host ? host : here);
}

void board_describe(const struct board_rank *b, const struct comm_status *s, char *buf,
		    size_t size)
{
	int n = snprintf(buf, size, "at %s", b->at[0] ? b->at : "the start");

	if (n < 0 || (size_t)n >= size)
		return;
	switch ((enum comm_request_kind)s->kind) {
	case REQUEST_SEND:
		snprintf(buf + n, size - (size_t)n, ", waiting for rank %d to receive",
			 s->peer);
		break;
	case REQUEST_RECEIVE:
		snprintf(buf + n, size - (size_t)n, ", waiting for rank %d to send", s->peer);
		break;
	case REQUEST_COLLECTIVE:
		snprintf(buf + n, size - (size_t)n, ", waiting in %s of %d ranks",
			 comm_op_name((enum comm_op)s->op), s->size);
		break;
	case REQUEST_NONE:
		snprintf(buf + n, size - (size_t)n, ", not waiting for anybody");
		break;
	}
}
