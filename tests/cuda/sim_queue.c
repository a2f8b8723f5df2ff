/* sim_queue.c - streams and events of the simulated CUDA: lists of work that nobody hurries;
   see sim.h */
#define _DEFAULT_SOURCE
#include "sim.h"
#include "base/util.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* One thing to do: work, or an event's n-th record, or waiting for one. */
struct item {
	struct item *next;
	sim_work *work;
	sim_attempt *attempt; /* the same, until it says that it is over */
	CUevent event;
	CUstream of; /* where what is waited for was recorded; NULL: this is the record */
	uint64_t number;
	int64_t queued; /* ns */
	char arg[];
};

struct CUstream_st {
	struct CUstream_st *next;
	struct item *first, **end;
	int length, users, attempts;
	bool meets; /* there have been such */
	int64_t ns; /* when all that was done so far is over */
};

struct CUevent_st {
	uint64_t recorded, done;
	CUstream stream; /* of the last record */
	int uses;	 /* in queues */
	bool is_destroyed, is_timed;
	int64_t ns; /* of the last record that was done */
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

/* ---- time ---- */

static int64_t taken;	     /* us by what runs, or -1: what it takes */
static _Atomic int64_t busy; /* ns of all that ran */

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}

void sim_takes(const char *name)
{
	taken = sim_number(name, -1);
}

static void sleep_until(int64_t ns)
{
	struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static void run(CUstream s, struct item *i)
{
	int64_t begin = now();

	taken = -1;
	i->work(i->arg);
	begin = taken < 0 ? now() - begin : taken * 1000;
	s->ns += begin;
	busy += begin;
}

double sim_busy_ms(int device)
{
	return sim_is_open(device) ? (double)busy * 1e-6 : 0;
}

/* ---- queues ---- */

static void forget_event(CUevent e)
{
	if (!e->is_destroyed || e->uses)
		return;
	free(e);
	n_events--;
}

/* False: the next thing has to wait for another process. */
static bool step(CUstream s)
{
	struct item *i = s->first;
	int64_t ns = max64(s->ns, i->queued);

	if (i->of)
		while (i->event->done < i->number && i->of->first)
			if (!step(i->of))
				return false;
	if (i->attempt && !sim_failed && !i->attempt(i->arg, &ns))
		return false;
	s->attempts -= i->attempt != NULL;
	s->first = i->next;
	if (!s->first)
		s->end = &s->first;
	s->length--;
	s->ns = max64(s->ns, i->of ? i->event->ns : i->queued);
	if (i->work) {
		if (!sim_failed)
			run(s, i);
	} else if (i->attempt) {
		s->ns = max64(ns, now());
	} else {
		if (!i->of && i->event->done < i->number) {
			i->event->done = i->number;
			i->event->ns = s->ns;
		}
		i->event->uses--;
		forget_event(i->event);
	}
	free(i);
	return true;
}

/* One more thing of that stream; if it can't be, of others: another process may wait for
   them. */
static void go_on_with(CUstream s)
{
	bool any = step(s);

	for (CUstream o = streams; o && !any; o = o->next)
		any = o->first && sim_dice(2) && step(o);
	if (any)
		return;
	sim_unlock();
	usleep(50);
	sim_lock();
}

void sim_drain(CUstream s)
{
	while (s->first)
		go_on_with(s);
}

/* What has to meet other processes goes on whatever this one does. */
static void *go_on_beside(void *arg)
{
	for (;;) {
		usleep(200);
		sim_lock();
		for (CUstream s = streams; s; s = s->next)
			for (int n = s->attempts ? 1 + (int)sim_dice(4) : 0; n > 0; n--)
				if (s->first && !step(s))
					break;
		sim_unlock();
	}
	return arg;
}

/* Devices are busy whether anybody waits or not: some queues go on for a while. */
static void go_on(void)
{
	for (CUstream s = streams; s; s = s->next)
		if (sim_dice(3) == 0)
			for (int n = (int)sim_dice((unsigned)s->length + 1); n > 0; n--)
				if (s->first && !step(s))
					break;
}

static struct item *append(CUstream s, size_t size)
{
	struct item *i = calloc(1, sizeof(*i) + size);

	if (!i)
		abort();
	i->queued = now();
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

CUresult sim_enqueue_attempt(CUstream stream, sim_attempt *attempt, const void *arg,
			     size_t size)
{
	static bool started;
	pthread_t thread;
	struct item *i;

	if (sim_failed)
		return sim_failed;
	if (!started && pthread_create(&thread, NULL, go_on_beside, NULL))
		abort();
	started = true;
	i = append(stream, size);
	i->attempt = attempt;
	memcpy(i->arg, arg, size);
	stream->meets = true;
	stream->attempts++;
	return CUDA_SUCCESS;
}

/* ---- the calls ---- */

EXPORTED CUresult cuStreamCreate(CUstream *out, unsigned flags)
{
	CUstream s;

	if (flags != CU_STREAM_NON_BLOCKING)
		abort();
	sim_lock();
	s = sim_number("KOLM_SIM_STREAMS", 0) == 1 ? streams : NULL;
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			abort();
		s->end = &s->first;
		s->next = streams;
		streams = s;
	}
	s->users++;
	sim_unlock();
	*out = s;
	return CUDA_SUCCESS;
}

EXPORTED CUresult cuStreamDestroy_v2(CUstream stream)
{
	CUstream *at = &streams;

	sim_lock();
	sim_drain(stream);
	if (--stream->users == 0) {
		while (*at != stream)
			at = &(*at)->next;
		*at = stream->next;
		free(stream);
	}
	sim_unlock();
	return CUDA_SUCCESS;
}

EXPORTED CUresult cuStreamSynchronize(CUstream stream)
{
	CUresult code;
	int64_t end;

	sim_lock();
	go_on();
	sim_drain(stream);
	code = sim_failed;
	end = stream->ns;
	sim_unlock();
	sleep_until(end);
	return code;
}

EXPORTED CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
	CUresult code;

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	if (event->recorded && event->stream != stream && !sim_ignores("wait") &&
	    !(stream->meets && sim_ignores("nccl"))) {
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
	e->is_timed = flags == CU_EVENT_DEFAULT;
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
	int64_t end;

	sim_lock();
	go_on();
	if (!sim_ignores("host"))
		while (event->done < event->recorded)
			go_on_with(event->stream);
	code = sim_failed;
	end = sim_ignores("host") ? 0 : event->ns;
	sim_unlock();
	sleep_until(end);
	return code;
}

/* Where work takes the time that it is said to take, a device goes on by itself; otherwise when
   the dice say so. */
EXPORTED CUresult cuEventQuery(CUevent event)
{
	bool over;

	sim_lock();
	go_on();
	while (sim_number("KOLM_SIM_KERNEL", -1) >= 0 && event->done < event->recorded)
		step(event->stream);
	over = sim_ignores("host") || (event->done == event->recorded && event->ns <= now());
	sim_unlock();
	return sim_failed ? sim_failed : over ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

EXPORTED CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
	CUresult code = CUDA_SUCCESS;

	sim_lock();
	if (!from->is_timed || !to->is_timed || !from->recorded || !to->recorded)
		code = CUDA_ERROR_INVALID_HANDLE;
	else if (!sim_failed && (from->done < from->recorded || to->done < to->recorded))
		code = CUDA_ERROR_NOT_READY;
	*ms = (float)((double)(to->ns - from->ns) * 1e-6);
	sim_unlock();
	return sim_failed ? sim_failed : code;
}
