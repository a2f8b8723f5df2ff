/* train_devices.c - the GPUs of the ranks of a run: who shares one, and how it does. See
   training.h */
#include "cmd/training.h"
#include "base/util.h"
#include "device/gpus.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Which GPU a rank has, and on which machine: numbers say nothing, since each process may see
   other devices, all of them as number 0. */
struct whose {
	int host;
	char id[48];
};

static int sharers_of(const struct whose *all, int ranks, int rank)
{
	int n = 0;

	for (int i = 0; i < ranks; i++)
		n += all[i].host == all[rank].host && !strcmp(all[i].id, all[rank].id);
	return n;
}

enum status training_find_sharers(struct training *t, struct error *err)
{
	const struct rank *r = t->rank;
	struct whose *all = NULL;
	int most = 1;
	enum status st;

	if (!gpus_named(t->config.device))
		return OK;
	TRY(comm_alloc(r->world, (size_t)r->ranks * sizeof(*all), (void **)&all, err));
	all[r->number].host = r->host;
	snprintf(all[r->number].id, sizeof(all->id), "%s", device_id(t->dev));
	TRY(comm_run(r->world, COMM_ALLGATHER, all, (size_t)r->ranks * sizeof(*all), DTYPE_BYTE,
		     0, err));
	for (int i = 0; i < r->ranks; i++)
		most = imax(most, sharers_of(all, r->ranks, i));
	device_set_shared(t->dev, sharers_of(all, r->ranks, r->number), most);
out:
	comm_give_back(r->world, all);
	return st;
}

/* ---- how it does ---- */

enum { LOOK_MS = 200 }; /* drivers have news about as often */

/* What a driver does not say is no number, and leaves the mean as it is. */
static void add_to_mean(double *mean, int *count, double value)
{
	if (isnan(value))
		return;
	*mean = (*count ? *mean * *count + value : value) / (*count + 1);
	++*count;
}

/* Look once, for who watches and for the summary: with the lock, but not while the driver is
   asked, which may take long. */
static void look(struct training *t)
{
	struct meter *m = &t->meter;
	struct pulse *p = t->rank->pulse;
	struct device_reading r;
	bool measured;

	pthread_mutex_unlock(&m->lock);
	measured = device_measure(t->dev, &r);
	pthread_mutex_lock(&m->lock);
	if (!measured)
		return;
	p->gpu_busy = r.busy;
	p->gpu_bytes = r.bytes;
	p->gpu_celsius = r.celsius;
	p->gpu_watts = r.watts;
	p->measured = true;
	if (!m->counts)
		return;
	if (!m->readings)
		m->of = r;
	add_to_mean(&m->of.busy, &m->busy, r.busy);
	add_to_mean(&m->of.watts, &m->watts, r.watts);
	m->of.bytes = fmax(m->of.bytes, r.bytes);
	m->of.celsius = fmax(m->of.celsius, r.celsius);
	m->readings++;
}

static void *watch(void *arg)
{
	struct training *t = arg;
	struct meter *m = &t->meter;

	pthread_mutex_lock(&m->lock);
	while (!m->end) {
		struct timespec at;

		look(t);
		if (m->end)
			break;
		clock_gettime(CLOCK_REALTIME, &at);
		at.tv_nsec += LOOK_MS * 1000000L;
		at.tv_sec += at.tv_nsec / 1000000000;
		at.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&m->wake, &m->lock, &at);
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

enum status training_meter_begin(struct training *t, struct error *err)
{
	struct meter *m = &t->meter;
	struct device_reading r;
	sigset_t all, before;
	int failed;

	if (!device_measure(t->dev, &r))
		return OK;
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->wake, NULL);
	sigfillset(&all); /* signals are for those who know what to do */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&m->thread, NULL, watch, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	m->runs = !failed;
	return failed ? FAIL(err, ERR_MEMORY, "can't start a thread") : OK;
}

void training_meter_count(struct training *t)
{
	struct meter *m = &t->meter;

	if (!m->runs || m->counts)
		return;
	pthread_mutex_lock(&m->lock);
	m->counts = true;
	pthread_mutex_unlock(&m->lock);
}

void training_meter_fill(struct training *t, struct rank_summary *s)
{
	struct meter *m = &t->meter;

	s->gpu_readings = 0;
	if (!m->runs)
		return;
	pthread_mutex_lock(&m->lock);
	if (!m->readings) /* it was short */
		look(t);
	s->gpu = m->of;
	s->gpu_readings = m->readings;
	pthread_mutex_unlock(&m->lock);
}

void training_meter_end(struct training *t)
{
	struct meter *m = &t->meter;

	if (!m->runs)
		return;
	pthread_mutex_lock(&m->lock);
	m->end = true;
	pthread_cond_signal(&m->wake);
	pthread_mutex_unlock(&m->lock);
	pthread_join(m->thread, NULL);
	m->runs = false;
}
