/* schedule.c - making a schedule, asking about it, and its text form. */
#include "schedule/impl.h"
#include "base/util.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

const char *const schedule_names[] = {NAMES_OF(SCHEDULES)};

const char *schedule_name(enum schedule_kind kind)
{
	return schedule_names[kind];
}

enum status order_init(struct order *o, int capacity, struct error *err)
{
	*o = (struct order){.capacity = capacity};
	o->actions = malloc((size_t)capacity * sizeof(*o->actions));
	if (!o->actions)
		return FAIL(err, ERR_MEMORY, "no memory for a schedule of %d actions",
			    capacity);
	return OK;
}

void order_release(struct order *o)
{
	free(o->actions);
	*o = (struct order){0};
}

void order_add(struct order *o, enum action_kind kind, int chunk, int micro_batch)
{
	assert(o->count < o->capacity);
	o->actions[o->count++] = (struct action){kind, chunk, micro_batch};
}

static enum status check_sizes(const struct schedule *s, struct error *err)
{
	/* A stage has at most 8 actions per chunk and micro-batch; they are counted in int. */
	if (s->stages < 1 || s->micro_batches < 1 || s->chunks < 1 ||
	    (int64_t)round_up(s->micro_batches, s->stages) * s->chunks > INT_MAX / 16)
		return FAIL(err, ERR_USAGE,
			    "no schedule for %d stages, %d micro-batches and %d chunks",
			    s->stages, s->micro_batches, s->chunks);
	return OK;
}

/* The orders, from sizes and places that are there. */
static enum status build(struct schedule *s, struct error *err)
{
	struct order compute = {0};
	enum status st;

	TRY(order_init(&compute, 3 * s->micro_batches * s->chunks, err));
	s->orders = calloc((size_t)s->stages, sizeof(*s->orders));
	if (!s->orders) {
		st = FAIL(err, ERR_MEMORY, "no memory for a schedule of %d stages", s->stages);
		goto out;
	}
	for (int stage = 0; stage < s->stages; stage++) {
		compute.count = 0;
		schedule_generate(s, stage, &compute);
		TRY(schedule_lower(s, stage, &compute, err));
	}
	TRY(schedule_check(s, err));
out:
	order_release(&compute);
	return st;
}

enum status schedule_init(struct schedule *s, enum schedule_kind kind, int stages,
			  int micro_batches, int chunks, struct error *err)
{
	enum status st;

	*s = (struct schedule){.kind = kind,
			       .stages = stages,
			       .micro_batches = micro_batches,
			       .chunks = chunks};
	TRY(check_sizes(s, err));
	TRY(schedule_check_chunks(kind, chunks, err));
	TRY(schedule_check_stages(kind, stages, err));
	TRY(schedule_arrange(s, err));
	TRY(build(s, err));
out:
	if (st != OK)
		schedule_release(s);
	return st;
}

enum status schedule_init_forward(struct schedule *s, const struct schedule *like,
				  int micro_batches, struct error *err)
{
	enum status st;

	*s = (struct schedule){.kind = like->kind,
			       .stages = like->stages,
			       .micro_batches = micro_batches,
			       .chunks = like->chunks,
			       .forward_only = true};
	TRY(check_sizes(s, err));
	TRY(places_copy(s, like, err));
	TRY(build(s, err));
out:
	if (st != OK)
		schedule_release(s);
	return st;
}

void schedule_release(struct schedule *s)
{
	for (int i = 0; s->orders && i < s->stages; i++)
		order_release(&s->orders[i]);
	free(s->orders);
	s->orders = NULL;
	places_release(s);
}

int schedule_activations(const struct order *o)
{
	int alive = 0, most = 0;

	for (int i = 0; i < o->count; i++) {
		enum action_kind kind = o->actions[i].kind;

		alive += (kind == ACTION_F) - (kind == ACTION_B || kind == ACTION_W);
		most = imax(most, alive);
	}
	return most;
}

int schedule_messages(const struct order *o)
{
	int n = 0;

	for (int i = 0; i < o->count; i++)
		n += o->actions[i].kind == ACTION_SEND_F || o->actions[i].kind == ACTION_SEND_B;
	return n;
}

const char *action_format(struct action a, char buf[ACTION_TEXT_MAX])
{
	static const struct {
		const char *before, *letter, *after;
	} forms[] = {
		[ACTION_F] = {"", "F", ""},	  [ACTION_B] = {"", "B", ""},
		[ACTION_I] = {"", "I", ""},	  [ACTION_W] = {"", "W", ""},
		[ACTION_E] = {"", "E", ""},	  [ACTION_SEND_F] = {"", "F", ">"},
		[ACTION_RECV_F] = {"<", "F", ""}, [ACTION_SEND_B] = {"", "B", ">"},
		[ACTION_RECV_B] = {"<", "B", ""},
	};
	char chunk[16] = "";

	if (a.kind == ACTION_STEP)
		return "step";
	if (a.chunk > 0)
		snprintf(chunk, sizeof(chunk), ".%d", a.chunk);
	if (a.kind == ACTION_REDUCE)
		snprintf(buf, ACTION_TEXT_MAX, "reduce%d", a.chunk);
	else
		snprintf(buf, ACTION_TEXT_MAX, "%s%s%d%s%s", forms[a.kind].before,
			 forms[a.kind].letter, a.micro_batch, chunk, forms[a.kind].after);
	return buf;
}

void order_format(const struct order *o, bool all, struct text *out)
{
	char buf[ACTION_TEXT_MAX];

	for (int i = 0, first = 1; i < o->count; i++) {
		if (!all && !action_is_computed(o->actions[i].kind))
			continue;
		text_addf(out, "%s%s", first ? "" : " ", action_format(o->actions[i], buf));
		first = 0;
	}
}
