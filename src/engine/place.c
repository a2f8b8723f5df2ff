/*
 * place.c - where activations and gradients are; see buffers.h
 *
 * What is there for longer than an action of the schedule has a place of its own. All else,
 * of all chunks, is in one place behind that, since a rank does one thing at a time; there the
 * rooms of a layer share memory, where they are not in use at the same moment.
 */
#include "engine/buffers.h"
#include "base/util.h"

/* Memory that is handed out piece by piece; base is NULL while sizes are added up. */
struct plan {
	const struct buffers *b;
	const struct model *model;
	enum dtype type; /* of activations */
	int rows;
	char *base;
	size_t at, most; /* bytes */
};

/* Rows begin on cache lines. */
static size_t stride_of(int columns, enum dtype type)
{
	return (size_t)round_up(columns, 64 / (int64_t)dtype_size(type));
}

static int rows_of(const struct plan *p, bool spread)
{
	return spread ? p->rows / p->model->mp : p->rows;
}

/* The next (rows, columns); spread: of our part of the rows. */
static struct view take(struct plan *p, int columns, enum dtype type, bool spread)
{
	struct view v = {.stride = stride_of(columns, type), .type = type};

	if (p->base)
		v.data = p->base + p->at;
	p->at += view_bytes(v, rows_of(p, spread));
	p->most = p->at > p->most ? p->at : p->most;
	return v;
}

static struct view take_output(struct plan *p, const struct layer *l)
{
	return take(p, layer_out(l), p->type, l->out_spread);
}

static struct view take_room(struct plan *p, const struct layer_room *r)
{
	return take(p, r->columns, r->wide ? DTYPE_F32 : p->type, r->spread);
}

static void place_slot(struct plan *p, const struct chunk *c, struct slot *s)
{
	struct view *saved = s->saved;

	for (int i = 0; i < c->count; i++) {
		const struct layer *l = p->model->layers[c->first + i];

		s->input[i + 1] = take_output(p, l);
		for (int k = 0; k < l->n_saved; k++)
			*saved++ = take_room(p, &l->saved[k]);
	}
}

/* Where there is no way back, what goes from layer to layer takes turns in two places, and all
   have their rooms in one. */
static void place_passage(struct plan *p, const struct chunk *c, struct slot *s)
{
	const struct layer *last = p->model->layers[c->first + c->count - 1];
	struct view *saved = s->saved;
	size_t start;

	s->input[c->count] = take_output(p, last);
	start = p->most = p->at;
	for (int i = 0; i < c->count; i++) {
		const struct layer *l = p->model->layers[c->first + i];

		if (l != last) {
			s->input[i + 1] = p->b->inner[i % 2];
			s->input[i + 1].stride = stride_of(layer_out(l), p->type);
		}
		p->at = start;
		for (int k = 0; k < l->n_saved; k++)
			*saved++ = take_room(p, &l->saved[k]);
	}
	p->at = p->most;
}

/* Where weights get their gradients later, a flow keeps those of all layers; otherwise they
   take turns in two places. The top one is elsewhere. */
static void place_flow(struct plan *p, const struct chunk *c, struct flow *f, bool whole)
{
	struct view *kept = f->kept;

	for (int i = 0; i < c->count - 1; i++) {
		const struct layer *l = p->model->layers[c->first + i];

		f->flow[i] = whole ? take_output(p, l) : p->b->inner[i % 2];
		f->flow[i].stride = stride_of(layer_out(l), p->type);
	}
	for (int i = 0; i < c->count && whole; i++) {
		const struct layer *l = p->model->layers[c->first + i];

		for (int k = 0; k < l->n_kept; k++, kept++)
			if (!l->kept[k].lent)
				*kept = take_room(p, &l->kept[k]);
	}
}

/* ---- what is shared ---- */

/* Which rooms of a layer are in use together: in forward; in backward where both gradients are
   computed at once; only those that are lent, wherever that is. */
enum sharing { IN_FORWARD_PASS, IN_BACKWARD_PASS, LENT };

static bool is_used(const struct layer_room *r, enum sharing s)
{
	switch (s) {
	case IN_FORWARD_PASS:
		return r->forward;
	case IN_BACKWARD_PASS:
		return r->backward;
	case LENT:
		return r->lent;
	}
	return false;
}

static bool are_apart(const struct layer_room *a, const struct layer_room *b, enum sharing s)
{
	return (s == IN_BACKWARD_PASS || !(a->forward & b->forward)) &&
	       (s == IN_FORWARD_PASS || !(a->backward & b->backward));
}

static size_t bytes_of(const struct plan *p, const struct layer_room *r)
{
	enum dtype type = r->wide ? DTYPE_F32 : p->type;

	return stride_of(r->columns, type) * dtype_size(type) * (size_t)rows_of(p, r->spread);
}

/* Which rooms are placed first, beside the largest: those that are not lent; and what is
   computed again, below all others and apart from them. With that among the ways that are
   tried, computing again never takes more than keeping. */
enum ways { KEPT_FIRST = 1, STACKED = 2, WAYS = 4 };

static bool is_computed_again(const struct layer_room *r)
{
	return r->forward && !r->lent;
}

/* Its place in the order. */
static double weight_of(const struct plan *p, const struct layer_room *r, int ways)
{
	double weight = (double)bytes_of(p, r);

	if (ways & KEPT_FIRST && !r->lent)
		weight *= 0x1p64;
	if (ways & STACKED && is_computed_again(r))
		weight *= 0x1p128;
	return weight;
}

/* Where a room is, and how many bytes it has; 0: not placed yet. */
struct spot {
	size_t at, bytes;
};

/* The lowest place for a room beside those that are in use with it. */
static size_t find_spot(const struct layer *l, int room, size_t bytes,
			const struct spot *placed, enum sharing s, int ways)
{
	const struct layer_room *r = &l->kept[room];
	size_t at = 0;

	for (int k = 0; k < l->n_kept; k++) {
		const struct spot *other = &placed[k];
		bool apart = are_apart(r, &l->kept[k], s) &&
			     !(ways & STACKED && is_computed_again(&l->kept[k]));

		if (!other->bytes || apart || at + bytes <= other->at ||
		    other->at + other->bytes <= at)
			continue;
		at = other->at + other->bytes;
		k = -1; /* those before may be in the way there */
	}
	return at;
}

/* Places for the rooms of a layer; returns how many bytes they take together. */
static size_t arrange(const struct plan *p, const struct layer *l, enum sharing s, int ways,
		      struct spot *placed)
{
	size_t end = 0;

	for (int next = 0; next >= 0;) {
		double most = 0;

		next = -1;
		for (int k = 0; k < l->n_kept; k++) {
			double weight = weight_of(p, &l->kept[k], ways);

			if (is_used(&l->kept[k], s) && !placed[k].bytes && weight > most) {
				next = k;
				most = weight;
			}
		}
		if (next >= 0) {
			size_t bytes = bytes_of(p, &l->kept[next]);
			size_t at = find_spot(l, next, bytes, placed, s, ways);

			placed[next] = (struct spot){at, bytes};
			end = at + bytes > end ? at + bytes : end;
		}
	}
	return end;
}

/* The rooms of a layer from the plan's place on, in the way that takes least. */
static void share(struct plan *p, const struct layer *l, enum sharing s, struct view *kept)
{
	struct spot placed[WAYS][ROOMS_MAX] = {0};
	size_t start = p->at, least = SIZE_MAX;
	const struct spot *best = NULL;

	for (int ways = 0; ways < WAYS; ways++) {
		size_t end = arrange(p, l, s, ways, placed[ways]);

		if (end < least) {
			least = end;
			best = placed[ways];
		}
	}
	for (int k = 0; k < l->n_kept; k++) {
		p->at = start + best[k].at;
		if (best[k].bytes)
			kept[k] = take_room(p, &l->kept[k]);
	}
	p->at = start;
}

/* For all layers of a chunk in turn, one like the other. */
static void share_all(struct plan *p, const struct chunk *c, enum sharing s, struct view *kept)
{
	for (int i = 0; i < c->count; i++) {
		const struct layer *l = p->model->layers[c->first + i];

		share(p, l, s, kept);
		kept += l->n_kept;
	}
}

static void place_moments(struct plan *p, const struct chunk *c, struct chunk_buffers *cb)
{
	if (cb->own_again)
		share_all(p, c, IN_FORWARD_PASS, cb->again);
	for (int i = 0; i < cb->flows.n; i++)
		share_all(p, c, cb->whole ? LENT : IN_BACKWARD_PASS, cb->flow[i].kept);
}

/* ---- all of it ---- */

/* What layers hand to each other where only two are needed at a time. */
static void place_inner(struct buffers *b, struct plan *p, const struct chunk *chunks)
{
	size_t start = p->at;

	for (int turn = 0; turn < 2; turn++) {
		p->most = start;
		for (int k = 0; k < b->n_chunks; k++)
			for (int i = turn; i < chunks[k].count - 1; i += 2) {
				if (b->chunks[k].whole)
					continue;
				p->at = start;
				b->inner[turn] =
					take_output(p, p->model->layers[chunks[k].first + i]);
			}
		p->at = start = p->most;
	}
}

static void place_chunk(struct plan *p, const struct chunk *c, struct chunk_buffers *cb)
{
	const struct layer *first = p->model->layers[c->first];
	const struct layer *last = p->model->layers[c->first + c->count - 1];
	bool forward_only = p->b->forward_only;
	int in = layer_in(first);

	for (int i = 0; i < cb->inputs.n; i++)
		cb->input[i] = take(p, in, p->type, first->in_spread);
	for (int i = 0; i < cb->slots.n; i++)
		(forward_only ? place_passage : place_slot)(p, c, &cb->slot[i]);
	for (int i = 0; i < cb->tops.n; i++)
		cb->top[i] = take_output(p, last);
	for (int i = 0; i < cb->flows.n; i++)
		place_flow(p, c, &cb->flow[i], cb->whole);
	for (int i = 0; i < DX_BUFFERS && !c->begins && !forward_only; i++)
		cb->dx[i] = take(p, in, p->type, first->in_spread);
}

size_t buffers_place(struct buffers *b, const struct weights *w, const struct chunk *chunks,
		     int rows)
{
	struct plan p = {
		.b = b, .model = w->model, .type = w->type, .rows = rows, .base = b->memory};

	place_inner(b, &p, chunks);
	for (int k = 0; k < b->n_chunks; k++)
		place_chunk(&p, &chunks[k], &b->chunks[k]);
	p.most = p.at;
	for (int k = 0; k < b->n_chunks; k++)
		place_moments(&p, &chunks[k], &b->chunks[k]);
	return p.most;
}
