/* sim_queue.c - streams and events of the simulated CUDA: lists of work that nobody hurries;
   see sim.h */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

/* One thing to do: work, or an event's n-th record, or waiting for one. */
struct item {
	struct item *next;
	sim_work *work;
	CUevent event;
	CUstream of; /* where what is waited for was recorded; NULL: this is the record */
	uint64_t number;
	char arg[];
};

struct CUstream_st {
	struct CUstream_st *next;
	struct item *first, **end;
	int length;
};

struct CUevent_st {
	uint64_t recorded, done;
	CUstream stream; /* of the last record */
	int uses;	 /* in queues */
	bool is_destroyed;
};

static struct CUstream_st *streams;
static int n_events;

int sim_queues_left(void)
{
	int n = n_events;

	for (CUstream s = streams; s; s = s->next)
		n++;
	return n;
}

static void forget_event(CUevent e)
{
	if (!e->is_destroyed || e->uses)
		return;
	free(e);
	n_events--;
}

static void step(CUstream s)
{
	struct item *i = s->first;

	if (i->of)
		while (i->event->done < i->number && i->of->first)
			step(i->of);
	s->first = i->next;
	if (!s->first)
		s->end = &s->first;
	s->length--;
	if (i->work) {
		if (!sim_failed)
			i->work(i->arg);
	} else {
		if (!i->of && i->event->done < i->number)
			i->event->done = i->number;
		i->event->uses--;
		forget_event(i->event);
	}
	free(i);
}

void sim_drain(CUstream s)
{
	while (s->first)
		step(s);
}

/* Devices are busy whether anybody waits or not: some queues go on for a while. */
static void go_on(void)
{
	for (CUstream s = streams; s; s = s->next)
		if (sim_dice(3) == 0)
			for (int n = (int)sim_dice((unsigned)s->length + 1); n > 0; n--)
				if (s->first)
					step(s);
}

static struct item *append(CUstream s, size_t size)
{
	struct item *i = calloc(1, sizeof(*i) + size);

	if (!i)
		abort();
	*s->end = i;
	s->end = &i->next;
	s->length++;
	return i;
}

CUresult sim_enqueue(CUstream stream, sim_work *work, const void *arg, size_t size)
{
	struct item *i;

	if (sim_failed)
		return sim_failed;
	i = append(stream, size);
	i->work = work;
	memcpy(i->arg, arg, size);
	return CUDA_SUCCESS;
}

/* ---- the calls ---- */

EXPORTED CUresult cuStreamCreate(CUstream *out, unsigned flags)
{
	CUstream s = calloc(1, sizeof(*s));

	if (!s || flags != CU_STREAM_NON_BLOCKING)
		abort();
	sim_lock();
	s->end = &s->first;
	s->next = streams;
	streams = s;
	sim_unlock();
	*out = s;
	return CUDA_SUCCESS;
}

EXPORTED CUresult cuStreamDestroy_v2(CUstream stream)
{
	CUstream *at = &streams;

	sim_lock();
	sim_drain(stream);
	while (*at != stream)
		at = &(*at)->next;
	*at = stream->next;
	free(stream);
	sim_unlock();
	return CUDA_SUCCESS;
}

EXPORTED CUresult cuStreamSynchronize(CUstream stream)
{
	CUresult code;

	sim_lock();
	go_on();
	sim_drain(stream);
	code = sim_failed;
	sim_unlock();
	return code;
}

EXPORTED CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
	CUresult code;

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	if (event->recorded && event->stream != stream && !sim_ignores("wait")) {
		struct item *i = append(stream, 0);

		i->event = event;
		i->of = event->stream;
		i->number = event->recorded;
		event->uses++;
	}
	code = sim_failed;
	sim_unlock();
	return code;
}

EXPORTED CUresult cuEventCreate(CUevent *out, unsigned flags)
{
	CUevent e = calloc(1, sizeof(*e));

	if (!e || (flags & ~(unsigned)CU_EVENT_DISABLE_TIMING))
		abort();
	sim_lock();
	n_events++;
	sim_unlock();
	*out = e;
	return CUDA_SUCCESS;
}

EXPORTED CUresult cuEventDestroy_v2(CUevent event)
{
	sim_lock();
	event->is_destroyed = true;
	forget_event(event);
	sim_unlock();
	return CUDA_SUCCESS;
}

EXPORTED CUresult cuEventRecord(CUevent event, CUstream stream)
{
	struct item *i;
	CUresult code;

	sim_lock();
	i = append(stream, 0);
	i->event = event;
	i->number = ++event->recorded;
	event->stream = stream;
	event->uses++;
	code = sim_failed;
	sim_unlock();
	return code;
}

EXPORTED CUresult cuEventSynchronize(CUevent event)
{
	CUresult code;

	sim_lock();
	go_on();
	if (!sim_ignores("host"))
		while (event->done < event->recorded)
			step(event->stream);
	code = sim_failed;
	sim_unlock();
	return code;
}
