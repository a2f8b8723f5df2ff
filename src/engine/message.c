/*
 * message.c - messages between device memory and other ranks; see impl.h
 *
 * What is sent goes behind what was computed so far; what arrives is written behind it, since
 * a buffer may still be read, and what is computed after the wait sees it. Where the devices of
 * both ranks reach each other, they do the rest.
 *
 * Otherwise the host does not wait for what it sends to be computed and fetched: it goes on,
 * and hands the message over when it is there, between layers and while it waits for something
 * else. They go in the order in which they were sent.
 */
#include "engine/impl.h"

/* Where the devices of both ends reach each other: which group of theirs, and who is the other
   one in it. */
static struct device_group *way_of(struct engine *e, struct comm_request *r, bool out,
				   int *member)
{
	struct way *w;

	*member = r->peer;
	if (r->comm != e->pipe || r->channel > CHANNEL_BACKWARD)
		return comm_devices(r->comm);
	w = &e->ways[r->channel][out];
	if (w->peer != r->peer || !w->devices)
		return NULL;
	*member = out; /* the first sends */
	r->sequence = ++w->count;
	return w->devices;
}

static bool go_beside(struct engine *e, struct comm *c, int peer, enum engine_channel channel,
		      struct message *m)
{
	struct comm_request r = {.kind = m->out ? REQUEST_SEND : REQUEST_RECEIVE,
				 .comm = c,
				 .peer = peer,
				 .channel = (int)channel,
				 .bytes = m->bytes};
	struct device_exchange x = {.kind = m->out ? EXCHANGE_SEND : EXCHANGE_RECEIVE,
				    .data = m->view.data,
				    .n = m->bytes,
				    .type = DTYPE_BYTE};
	struct device_group *way = way_of(e, &r, m->out, &x.peer);
	int64_t stamps[2];

	m->is_beside = way != NULL;
	if (!way)
		return false;
	m->over = device_exchange(way, &x, stamps);
	comm_note_beside(&r, r.sequence ? stamps : NULL); /* both ends count them alike */
	m->request = r;
	return true;
}

/* It is there, or is waited for. */
static void hand_over(struct engine *e)
{
	struct message *m = e->run.first_out;
	void *host = device_host_begin(e->dev, QUEUE_SEND, m->view.data, m->bytes, HOST_READS);

	m->fetched = false;
	e->run.first_out = m->next;
	if (!m->next)
		comm_set_chores(e->options.world, NULL, NULL);
	comm_isend(m->comm, m->peer, m->channel, host, m->bytes, &m->request);
}

bool messages_go_on(struct engine *e)
{
	struct execution *x = &e->run;

	while (x->first_out && device_host_has(e->dev, x->first_out->view.data))
		hand_over(e);
	return x->first_out;
}

void messages_send_all(struct engine *e)
{
	while (e->run.first_out)
		hand_over(e);
}

static bool chores(void *arg)
{
	return messages_go_on(arg);
}

static void put_last(struct engine *e, struct message *m)
{
	struct message **at = &e->run.first_out;

	comm_set_chores(e->options.world, chores, e);
	m->fetched = true;
	m->next = NULL;
	while (*at)
		at = &(*at)->next;
	*at = m;
}

void message_send(struct engine *e, struct comm *c, int peer, enum engine_channel channel,
		  struct view v, int rows, struct message *m)
{
	m->view = v;
	m->bytes = view_bytes(v, rows);
	m->out = m->started = true;
	m->fetched = false;
	if (!go_beside(e, c, peer, channel, m)) {
		m->comm = c;
		m->peer = peer;
		m->channel = (int)channel;
		device_await(e->dev, QUEUE_SEND, device_mark(e->dev, QUEUE_COMPUTE));
		device_host_ask(e->dev, QUEUE_SEND, v.data, m->bytes);
		put_last(e, m);
		messages_go_on(e);
	}
	e->traffic.messages++;
	e->traffic.bytes += (int64_t)m->bytes;
	if (channel == CHANNEL_FORWARD) {
		e->traffic.forward_messages++;
		e->traffic.forward_bytes += (int64_t)m->bytes;
	}
}

void message_receive(struct engine *e, struct comm *c, int peer, enum engine_channel channel,
		     struct view v, int rows, struct message *m)
{
	void *host;

	m->view = v;
	m->bytes = view_bytes(v, rows);
	m->out = m->fetched = false;
	m->started = true;
	if (go_beside(e, c, peer, channel, m))
		return;
	device_await(e->dev, QUEUE_RECEIVE, device_mark(e->dev, QUEUE_COMPUTE));
	host = device_host_begin(e->dev, QUEUE_RECEIVE, v.data, m->bytes, HOST_WRITES);
	comm_irecv(c, peer, (int)channel, host, m->bytes, &m->request);
}

enum status message_wait(struct engine *e, struct message *m, struct error *err)
{
	enum device_queue queue = m->out ? QUEUE_SEND : QUEUE_RECEIVE;
	enum status st = OK;
	int64_t begin;

	if (!m->started)
		return OK;
	if (m->is_beside) { /* who writes there again waits too */
		begin = comm_begin_beside(&m->request);
		device_await(e->dev, QUEUE_COMPUTE, m->over);
		comm_end_beside(&m->request, begin);
		m->started = false;
		return OK;
	}
	while (m->fetched)
		hand_over(e);
	TRY(comm_wait(&m->request, err));
	m->started = false;
	device_host_end(e->dev, queue, m->view.data, m->bytes,
			m->out ? HOST_READS : HOST_WRITES);
	if (!m->out)
		device_await(e->dev, QUEUE_COMPUTE, device_mark(e->dev, QUEUE_RECEIVE));
out:
	return st;
}
