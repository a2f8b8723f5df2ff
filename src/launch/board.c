/* board.c - see board.h */
#include "launch/board.h"
#include "launch/launch.h"

#include <stdarg.h>
#include <stdio.h>

void rank_at(struct rank *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->board->at, sizeof(r->board->at), fmt, ap);
	va_end(ap);
	atomic_fetch_add_explicit(&r->board->beats, 1, memory_order_relaxed);
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
			 comm_op_name((enum comm_op)s->op), __builtin_popcountll(s->members));
		break;
	default:
		snprintf(buf + n, size - (size_t)n, ", not waiting for anybody");
	}
}
