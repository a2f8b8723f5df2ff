/*
 * message.c - messages between device memory and other ranks; see impl.h
 *
 * What is sent goes behind what was computed so far; what arrives is written behind it, since
 * a buffer may still be read, and what is computed after the wait sees it.
 */
#include "engine/impl.h"

void message_send(struct engine *e, struct comm *c, int peer, enum engine_channel channel,
		  struct view v, int rows, struct message *m)
{
	void *host;

	m->view = v;
	m->bytes = view_bytes(v, rows);
	m->out = m->started = true;
	device_await(e->dev, QUEUE_SEND, device_mark(e->dev, QUEUE_COMPUTE));
	host = device_host_begin(e->dev, QUEUE_SEND, v.data, m->bytes, HOST_READS);
	comm_isend(c, peer, (int)channel, host, m->bytes, &m->request);
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
	m->out = false;
	m->started = true;
	device_await(e->dev, QUEUE_RECEIVE, device_mark(e->dev, QUEUE_COMPUTE));
	host = device_host_begin(e->dev, QUEUE_RECEIVE, v.data, m->bytes, HOST_WRITES);
	comm_irecv(c, peer, (int)channel, host, m->bytes, &m->request);
}

enum status message_wait(struct engine *e, struct message *m, struct error *err)
{
	enum device_queue queue = m->out ? QUEUE_SEND : QUEUE_RECEIVE;
	enum status st = OK;

	if (!m->started)
		return OK;
	TRY(comm_wait(&m->request, err));
	m->started = false;
	device_host_end(e->dev, queue, m->view.data, m->bytes,
			m->out ? HOST_READS : HOST_WRITES);
	if (!m->out)
		device_await(e->dev, QUEUE_COMPUTE, device_mark(e->dev, QUEUE_RECEIVE));
out:
	return st;
}
